/** `npm run test:agents`: fails when the result of a client differs from client-table.ts. */

import { parseArgs } from 'node:util'

import { inParallel, makeReport, notRun, openRunBrowser } from '../support/driven.ts'
import { startProcess } from '../support/process.ts'
import { agents } from './client-table.ts'
import { wayNames } from './driving.ts'
import { relayCompiler, runRelayCompiler } from './graphql-clients.ts'
import { runAgent } from './run-agent.ts'

const RUN_TIMEOUT_MS = 8 * 60_000
const ALL_TIMEOUT_MS = 40 * 60_000

/** Without options, a run covers a third of the clients: a different third each day. */
const GROUPS = 3
const today = Math.floor(Date.now() / 86_400_000)

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    all: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})
const { print, finish } = makeReport(options.verbose)

async function main(): Promise<void> {
  const over = AbortSignal.timeout(options.all ? ALL_TIMEOUT_MS : RUN_TIMEOUT_MS)
  await using opened = new AsyncDisposableStack()
  const browser = await openRunBrowser(opened)
  const chosen = agents.filter(({ name, package: { name: module } }, position) =>
    options.only === ''
      ? options.all || position % GROUPS === today % GROUPS
      : `${name} ${module}`.includes(options.only),
  )
  const title = ({ name, version }: Record<'name' | 'version', string>, way: string) =>
    `${`${name} ${version}`.padEnd(38)} ${way.padEnd(9)}`
  if (!browser) {
    for (const agent of chosen)
      for (const way of wayNames)
        print(title(agent.package, way), notRun('Chromium is not installed'))
    return
  }
  const { url: serviceUrl } = opened.use(await startProcess())
  await inParallel(chosen, 2, async (agent) => {
    for await (const { way, outcome } of runAgent(agent, { serviceUrl, browser, over }))
      print(title(agent.package, way), outcome)
  })
  if ('Relay compiler'.includes(options.only))
    print(title(relayCompiler, 'queries'), await runRelayCompiler(serviceUrl, over))
}

await main()
finish()
