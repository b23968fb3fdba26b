/**
 * `npm run bench`: compares the service on each storage with the bare engine. The main figure is processor time, because
 * other load on the machine affects it less than it affects requests per second.
 */

import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'

import type { ServiceProcess, Variables } from '../test/support/process.ts'
import { findProgram, temporaryFolder } from '../test/support/programs.ts'
import { countRoundTrips } from '../test/support/round-trips.ts'
import { type Cores, describeMachine, divideCores, residentMiB } from './cores.ts'
import { measureGrowth } from './growth.ts'
import { measureImport } from './imports.ts'
import { operations } from './operations.ts'
import { type Options, readOptions, type Storage, storages, usage } from './options.ts'
import { makePage, makeReport } from './page.ts'
import { CONNECTIONS, makeSupply } from './prepared-tokens.ts'
import { profile } from './profile.ts'
import { showProgress } from './progress.ts'
import { BARE, type Results, toJson } from './results.ts'
import { type Measured, measureRounds } from './rounds.ts'
import { newPlace, type Stores, startBare, startOurs, startStores } from './servers.ts'
import { measureSignIns } from './sign-ins.ts'
import { measureStarts } from './starts.ts'
import { measureWatched, measureWorkers } from './variants.ts'
import { describeVersions } from './versions.ts'

const root = join(import.meta.dirname, '..')

async function main(options: Options): Promise<void> {
  if (platform !== 'linux')
    throw new Error('The bench reads processor times from /proc. Run it on Linux.')
  const cores = divideCores()
  process.stderr.write(`${describeMachine(cores)}\n`)
  const busy = loadavg()[0]?.toFixed(1)
  await using stores = await startStores()
  if (options.profile !== undefined) {
    const chosen = options.storages
    process.stdout.write(await profile(stores, options.profile, { chosen, cores }))
    return
  }
  const results = {
    date: new Date().toISOString().slice(0, 10),
    machine: describeMachine(cores),
    versions: await describeVersions(stores),
    manner: `${options.rounds} rounds of ${options.seconds} s per operation, at ${CONNECTIONS} connections and at one; load average before the run ${busy}`,
    ...(await measureServers(stores, options, cores)),
    watched: options.sections.has('watched')
      ? await measureWatched(stores, options, cores)
      : new Map(),
    workers: options.sections.has('workers')
      ? await measureWorkers(stores, options, cores)
      : new Map(),
    counted: options.sections.has('counted') ? await count(stores) : undefined,
    growth: options.sections.has('growth') ? await measureGrowth(stores, options, cores) : [],
  }
  process.stdout.write(makeReport(results))
  if (options.json !== undefined) writeFileSync(options.json, toJson(results))
  if (options.write) writeFileSync(join(root, 'docs/reference/performance.md'), makePage(results))
}

async function measureServers(
  stores: Stores,
  options: Options,
  cores: Cores | undefined,
): Promise<Pick<Results, 'figures' | 'signIns' | 'imports' | 'starts' | 'loadedMiB'>> {
  const { sections, rounds } = options
  await using opened = new AsyncDisposableStack()
  const places = new Map<Storage, Variables>()
  for (const storage of options.storages) places.set(storage, await newPlace(storage, stores))

  const starts: Results['starts'] = sections.has('start')
    ? await startAll({ stores, places, cores }, options.starts)
    : new Map()
  const beside = sections.has('sign-ins') || sections.has('import')
  if (options.operations.length === 0 && !beside) {
    const none = { figures: new Map(), signIns: new Map(), imports: new Map() }
    return { ...none, starts, loadedMiB: new Map() }
  }
  const ours = new Map<Storage, { server: Measured; place: Variables }>()
  for (const [storage, place] of places) {
    const { url, pid } = opened.use(await startOurs(place, { cores }))
    const supply = await makeSupply(url, 'ours')
    ours.set(storage, {
      place,
      server: { name: storages[storage], kind: 'ours', url, pid, supply },
    })
  }
  const bare = opened.use(await startBare(stores, { cores }))
  const supply = await makeSupply(bare.url, 'bare')
  const { url, pid } = bare
  const servers = [...ours.values()].map(({ server }) => server)
  servers.push({ name: BARE, kind: 'bare', url, pid, supply })

  const besides = options.operations.filter((name) => operations[name].standard).length
  const turns = options.operations.length * ours.size + besides
  const progress = showProgress('operations', (rounds + 1) * turns)
  const figures = await measureRounds(servers, options, progress)
  progress.end()
  const signIns: Results['signIns'] = new Map()
  const imports: Results['imports'] = new Map()
  for (const [storage, { server }] of sections.has('sign-ins') ? ours : [])
    signIns.set(storage, await measureSignIns(server, options))
  for (const [storage, { server, place }] of sections.has('import') ? ours : [])
    imports.set(storage, await measureImport(server, place, options))
  const loadedMiB = new Map(servers.map(({ name, pid }) => [name, residentMiB(pid)]))
  return { figures, signIns, imports, starts, loadedMiB }
}

interface Startable {
  readonly stores: Stores
  readonly places: ReadonlyMap<Storage, Variables>
  readonly cores: Cores | undefined
}

async function startAll({ stores, places, cores }: Startable, runs: number) {
  const starts: Map<string, Awaited<ReturnType<typeof measureStarts>>> = new Map()
  const measure = async (name: string, start: () => Promise<ServiceProcess>) => {
    // The first start fills the compile cache that the measured starts use.
    await measureStarts(start, 1)
    starts.set(name, await measureStarts(start, runs))
  }
  for (const [storage, place] of places) {
    await measure(storages[storage], () => startOurs(place, { cores }))
  }
  const makesDatabase = () => startOurs({ DATA_DIR: temporaryFolder() }, { cores })
  await measure(`${storages.sqlite}, new database`, makesDatabase)
  await measure(BARE, () => startBare(stores, { cores }))
  return starts
}

async function count(stores: Stores) {
  const postgresFile = findProgram('postgres') ?? ''
  return await countRoundTrips({ postgresFile, redisUrl: `${stores.redis.url}/15` })
}

function readOrExit(): Options {
  try {
    const options = readOptions(process.argv.slice(2))
    if (options !== 'help') return options
    process.stdout.write(usage)
    return process.exit(0)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    return process.exit(1)
  }
}

await main(readOrExit())
// Modules that are shared with the tests keep this process alive.
process.exit()
