import { parseArgs } from 'node:util'

import { openBrowser } from '../support/browser.ts'
import { startProcess } from '../support/process.ts'
import { findProgram, isContinuousIntegration } from '../support/programs.ts'
import { campusWith, makeClients } from './campus.ts'
import { libraries } from './library-table.ts'
import { startRecorder } from './recorder.ts'
import { type Outcome, type Run, runLibrary } from './run-library.ts'

/**
 * `npm run test:interop`: the programs of examples/ against the running service, each with its
 * library at one version. A line for each, and a last one with the sum; it fails when a program that
 * ran did not do all that the table of libraries says.
 */
const RUN_TIMEOUT_MS = 9 * 60_000
const AT_ONCE = 2
/** Of what an example printed; frameworks print long stacks. */
const LINES_MAX = 40

const { values: options } = parseArgs({
  options: {
    /** Libraries whose name or folder holds this word, or one of them when given several times. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Also those that a continuous integration does not wait for. */
    all: { type: 'boolean', default: false },
    /** Prints what each program printed. */
    verbose: { type: 'boolean', default: false },
  },
})

const chosen = libraries.filter(
  ({ name, family, onlyWithAll }) =>
    (options.all || !onlyWithAll) &&
    options.only.some((word) => `${family} ${name}`.includes(word)),
)

async function main(): Promise<void> {
  // Continuous integration skips nothing for want of a program that it can install.
  if (findProgram('chromium') === undefined && !isContinuousIntegration) {
    const detail = 'this machine has no Chromium'
    const outcomes = chosen.map(
      (library): Outcome => ({ library, kind: 'not run', detail, transcript: '' }),
    )
    for (const outcome of outcomes) print(outcome)
    return finish(outcomes)
  }
  await using opened = new AsyncDisposableStack()
  const recorder = opened.use(await startRecorder())
  const clients = await makeClients(chosen, recorder.url)
  const service = opened.use(
    await startProcess({ BASE_URL: recorder.url, CONFIG_DIR: campusWith(clients) }),
  )
  recorder.serve(service.url)
  const browser = opened.adopt(await openBrowser(), (closing) => closing.close())
  const run: Run = { recorder, browser, over: AbortSignal.timeout(RUN_TIMEOUT_MS) }

  const waiting = [...clients]
  const outcomes: Outcome[] = []
  const work = async () => {
    for (let client = waiting.shift(); client; client = waiting.shift()) {
      const outcome = await runLibrary(client, run)
      outcomes.push(outcome)
      print(outcome)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  finish(outcomes)
}

function print({ library, kind, detail, transcript }: Outcome): void {
  const { name, version, family } = library
  const title = `${name}, ${version}`
  process.stdout.write(`${kind.padEnd(8)} ${family.padEnd(8)} ${title.padEnd(34)} ${detail}\n`)
  if (kind === 'failed' || options.verbose) {
    const lines = transcript.trim().split('\n').slice(0, LINES_MAX)
    process.stdout.write(`${lines.map((line) => `         | ${line}`).join('\n')}\n`)
  }
}

function finish(outcomes: readonly Outcome[]): void {
  const count = (wanted: Outcome['kind']) => outcomes.filter(({ kind }) => kind === wanted).length
  const [good, failed, skipped] = [count('passed'), count('failed'), count('not run')]
  process.stdout.write(
    good + failed === 0
      ? 'No library could be run here.\n'
      : `${good} passed, ${failed} failed, ${skipped} skipped\n`,
  )
  process.exitCode = failed === 0 ? 0 : 1
}

await main()
// An example that was given up may still hold something open.
process.exit()
