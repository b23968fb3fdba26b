/**
 * `npm run test:interop`: runs the programs in examples/ against the service, each with one version of its library.
 * With `--all`, also runs products that sign people in. Prints a line for each, and the totals. Fails when a program
 * that ran did not do all that the table says.
 */

import { parseArgs } from 'node:util'

import { inParallel, makeReport, notRun, openRunBrowser } from '../support/driven.ts'
import { startProcess } from '../support/process.ts'
import { serve } from '../support/serve.ts'
import { campusWith, makeClients } from './campus.ts'
import { libraries } from './library-table.ts'
import { products } from './products.ts'
import { startRecorder } from './recorder.ts'
import { runLibrary } from './run-library.ts'
import { runProduct } from './run-product.ts'

const RUN_TIMEOUT_MS = 9 * 60_000

const { values: options } = parseArgs({
  options: {
    /** Runs only programs whose name or folder contains this word. May be repeated. */
    only: { type: 'string', multiple: true, default: [''] },
    /** Also runs the libraries that continuous integration omits, and the products. */
    all: { type: 'boolean', default: false },
    /** Prints the output of each program. */
    verbose: { type: 'boolean', default: false },
  },
})
const { print, finish } = makeReport(options.verbose)

async function main(): Promise<void> {
  const isChosen = ({ name, family }: Record<'name' | 'family', string>) =>
    options.only.some((word) => `${family} ${name}`.includes(word))
  const chosen = libraries.filter(
    (library) => (options.all || !library.onlyWithAll) && isChosen(library),
  )
  const title = ({ name, version, family }: Record<'name' | 'version' | 'family', string>) =>
    `${family.padEnd(8)} ${`${name}, ${version}`.padEnd(34)}`
  await using opened = new AsyncDisposableStack()
  const browser = await openRunBrowser(opened)
  if (!browser) {
    for (const library of chosen) print(title(library), notRun('Chromium is not installed'))
    return
  }
  const recorder = opened.use(await startRecorder())
  const clients = await makeClients(chosen, recorder.url)
  const brought = await makeClients(options.all ? products.filter(isChosen) : [], recorder.url)
  const CONFIG_DIR = campusWith([...clients, ...brought])
  const service = opened.use(await startProcess({ BASE_URL: recorder.url, CONFIG_DIR }))
  recorder.serve(service.url)
  const run = { recorder, browser, over: AbortSignal.timeout(RUN_TIMEOUT_MS) }
  await inParallel(clients, 2, async (client) => {
    print(title(client.library), await runLibrary(client, run))
  })
  const arrival = opened.use(await serve((_request, response) => response.end('arrived'))).url
  // Run the products one at a time, because some need half a gigabyte of memory.
  for (const client of brought)
    print(title(client.library), await runProduct(client, { ...run, arrival }))
}

await main()
finish()
