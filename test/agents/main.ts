import { parseArgs } from 'node:util'

import { openBrowser } from '../support/browser.ts'
import { startProcess } from '../support/process.ts'
import { findProgram, isContinuousIntegration } from '../support/programs.ts'
import { type Agent, agents } from './client-table.ts'
import { graphqlClients, runGraphqlClient } from './graphql-clients.ts'
import { type Outcome, runAgent } from './run-agent.ts'
import { wayNames } from './ways.ts'

/**
 * `npm run test:agents`: real clients against the running service. A line for each client and way,
 * and a last one with the sum; it fails when a client that ran did not do what the table says.
 */
const RUN_TIMEOUT_MS = 8 * 60_000
const AT_ONCE = 2

const { values: options } = parseArgs({
  options: {
    /** Clients whose name or package holds this word. */
    only: { type: 'string', default: '' },
    /** A service with the demo campus that runs already. */
    at: { type: 'string' },
    /** Prints what each client printed. */
    verbose: { type: 'boolean', default: false },
  },
})

async function main(): Promise<void> {
  // Continuous integration skips nothing for want of a program that it can install.
  if (findProgram('chromium') === undefined && !isContinuousIntegration) {
    return finish(agents.flatMap(withoutBrowser))
  }
  const over = AbortSignal.timeout(RUN_TIMEOUT_MS)
  await using opened = new AsyncDisposableStack()
  const serviceUrl = options.at ?? opened.use(await startProcess()).url
  const browser = opened.adopt(await openBrowser(), (closing) => closing.close())

  const chosen = agents.filter((agent) =>
    `${agent.name} ${agent.package.name}`.includes(options.only),
  )
  const waiting = [...chosen]
  const outcomes: Outcome[] = []
  const work = async () => {
    for (let agent = waiting.shift(); agent; agent = waiting.shift()) {
      for await (const outcome of runAgent(agent, { serviceUrl, browser, over })) {
        outcomes.push(outcome)
        print(outcome)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  for (const client of graphqlClients.filter(({ name }) => name.includes(options.only))) {
    const outcome = await runGraphqlClient(client, { serviceUrl, over })
    outcomes.push(outcome)
    print(outcome)
  }
  finish(outcomes)
}

function withoutBrowser(agent: Agent): Outcome[] {
  return wayNames.map((way) => {
    const outcome: Outcome = {
      ...{ client: agent.package, way, kind: 'not run', transcript: '' },
      detail: 'this machine has no Chromium',
    }
    print(outcome)
    return outcome
  })
}

function print({ client: { name, version }, way, kind, detail, transcript }: Outcome): void {
  const client = `${name} ${version}`
  process.stdout.write(`${kind.padEnd(8)} ${client.padEnd(38)} ${way.padEnd(9)} ${detail}\n`)
  if (kind === 'failed' || options.verbose) process.stdout.write(`${indent(transcript)}\n`)
}

function indent(text: string): string {
  return text.trim().replace(/^/gm, '         | ')
}

function finish(outcomes: readonly Outcome[]): void {
  const count = (...kinds: readonly Outcome['kind'][]) =>
    outcomes.filter(({ kind }) => kinds.includes(kind)).length
  const [good, failed, skipped] = [count('passed', 'known'), count('failed'), count('not run')]
  process.stdout.write(
    good + failed === 0
      ? 'No client could be run here.\n'
      : `${good} passed, ${failed} failed, ${skipped} skipped\n`,
  )
  process.exitCode = failed === 0 ? 0 : 1
}

await main()
// An application that was given up may still wait for an answer.
process.exit()
