import { parseArgs } from 'node:util'

import { inParallel, makeReport, notRun, openRunBrowser } from '../support/driven.ts'
import { startProcess } from '../support/process.ts'
import { campusWith, makeClients } from './campus.ts'
import { type Library, libraries } from './library-table.ts'
import { startRecorder } from './recorder.ts'
import { runLibrary } from './run-library.ts'

/**
 * `npm run test:interop`: the programs of examples/ against the running service, each with one version of its library.
 * Prints a line for each, and the sum. Fails when a program that ran did not do all that the table says.
 */
const RUN_TIMEOUT_MS = 9 * 60_000

const { values: options } = parseArgs({
  options: {
    /** Libraries whose name or folder contains this word; may be repeated. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Also those that continuous integration leaves out. */
    all: { type: 'boolean', default: false },
    /** Prints what each program printed. */
    verbose: { type: 'boolean', default: false },
  },
})
const { print, finish } = makeReport(options.verbose)

async function main(): Promise<void> {
  const chosen = libraries.filter(
    ({ name, family, onlyWithAll }) =>
      (options.all || !onlyWithAll) &&
      options.only.some((word) => `${family} ${name}`.includes(word)),
  )
  const title = ({ name, version, family }: Library) =>
    `${family.padEnd(8)} ${`${name}, ${version}`.padEnd(34)}`
  await using opened = new AsyncDisposableStack()
  const browser = await openRunBrowser(opened)
  if (!browser) {
    for (const library of chosen) print(title(library), notRun('this machine has no Chromium'))
    return
  }
  const recorder = opened.use(await startRecorder())
  const clients = await makeClients(chosen, recorder.url)
  const service = opened.use(
    await startProcess({ BASE_URL: recorder.url, CONFIG_DIR: campusWith(clients) }),
  )
  recorder.serve(service.url)
  const run = { recorder, browser, over: AbortSignal.timeout(RUN_TIMEOUT_MS) }
  await inParallel(clients, 2, async (client) => {
    print(title(client.library), await runLibrary(client, run))
  })
}

await main()
finish()
