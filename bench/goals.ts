import type { CountedOperation } from '../test/support/round-trips.ts'
import { growing } from './growth.ts'
import { type OperationName, operationNames, operations } from './operations.ts'
import { storages } from './options.ts'
import { BARE, type Results } from './results.ts'
import { type Figure, median } from './rounds.ts'

/** A goal, and whether this run met it. */
export interface Goal {
  readonly what: string
  readonly wanted: string
  readonly found: string
  readonly met: boolean
}

const MAIN = storages['postgres-redis']

/** The minimum ratio of the bare engine's processor time to that of the service. */
const timesBare: Partial<Record<OperationName, number>> = {
  exchange: 0.9,
  refresh: 1.7,
  userinfo: 0.9,
  introspection: 1.1,
  discovery: 1,
  jwks: 1,
}

/** The maximum processor time of operations that the bare engine lacks, on the reference machine. */
const microsecondsMax: Partial<Record<OperationName, number>> = {
  viewer: 180,
  'tool-anonymous': 350,
  'tool-member': 350,
  'admin-list': 450,
  'admin-mutation': 900,
}

/** The processor time of the bare engine on the reference machine. */
const referenceMicroseconds: Partial<Record<OperationName, number>> = {
  exchange: 520,
  refresh: 494,
  userinfo: 141,
  introspection: 194,
  discovery: 92,
}

/** The maximum numbers of SQL statements and of batches of Redis commands. */
const roundTripsMax: Partial<Record<CountedOperation, readonly [sql: number, redis: number]>> = {
  'code exchange': [2, 2],
  refresh: [2, 1],
  UserInfo: [1, 1],
  introspection: [1, 1],
  '{ viewer { id } }': [1, 1],
}

const DEEP_MAX = 2
const SQLITE_FACTOR_MAX = 1.3
const GROWTH_FACTOR_MAX = 1.15
const ALONE_P99_FACTOR_MAX = 2
const SIGN_IN_P99_MS_MAX = 25
const START_MS_MAX = 600
const IDLE_MIB_MAX = 140

/** Returns every goal for which the run has figures. */
export function judgeGoals(results: Results): Goal[] {
  return [
    ...againstBare(results),
    ...inMicroseconds(results),
    ...inRoundTrips(results),
    ...sqliteAgainstMain(results),
    ...inGrowth(results),
    ...ofProcess(results),
  ]
}

type Pair = { readonly name: OperationName; readonly ours: Figure; readonly bare: Figure }

/** Returns the ratio of the bare engine's processor time to that of the service. */
export function timesAsCheap(ours: Figure, bare: Figure): number {
  return bare.processorMicroseconds / ours.processorMicroseconds
}

function pairs({ figures }: Results): Pair[] {
  return operationNames.flatMap((name) => {
    const [ours, bare] = [figures.get(MAIN)?.get(name), figures.get(BARE)?.get(name)]
    return ours && bare ? [{ name, ours, bare }] : []
  })
}

function againstBare(results: Results): Goal[] {
  return pairs(results).flatMap(({ name, ours, bare }) => {
    const { title } = operations[name]
    const wanted = timesBare[name] ?? 0
    const times = timesAsCheap(ours, bare)
    const slower = ours.aloneP99Ms / bare.aloneP99Ms
    const found = times.toFixed(2)
    return [
      { what: `${title}: × bare`, wanted: `≥ ${wanted}`, found, met: times >= wanted },
      atMost(`${title}: p99 at one connection, × bare`, slower, ALONE_P99_FACTOR_MAX, 1),
    ]
  })
}

/** Returns how many times slower this machine is than the reference machine. */
function machineFactor(results: Results): number {
  return median(
    pairs(results).flatMap(({ name, bare }) => {
      const reference = referenceMicroseconds[name]
      return reference === undefined ? [] : [bare.processorMicroseconds / reference]
    }),
  )
}

function inMicroseconds(results: Results): Goal[] {
  const factor = machineFactor(results)
  return operationNames.flatMap((name) => {
    const figure = results.figures.get(MAIN)?.get(name)
    const max = microsecondsMax[name]
    if (!figure || max === undefined || Number.isNaN(factor)) return []
    const what = `${operations[name].title}: µs, on the reference machine`
    return [atMost(what, figure.processorMicroseconds / factor, max, 0)]
  })
}

function inRoundTrips({ counted }: Results): Goal[] {
  if (!counted) return []
  return Object.entries(roundTripsMax).map(([name, [sql, redis]]) => {
    const found = counted[name as CountedOperation]
    return {
      what: `${name}: statements / Redis batches / sequence`,
      wanted: `≤ ${sql} / ${redis} / ${DEEP_MAX}`,
      found: `${found.sql} / ${found.redisBatches} / ${found.deep}`,
      met: found.sql <= sql && found.redisBatches <= redis && found.deep <= DEEP_MAX,
    }
  })
}

/** Compares SQLite with the first storage. Omits exchange and refresh, because only SQLite waits for the disk here. */
function sqliteAgainstMain({ figures }: Results): Goal[] {
  return operationNames.flatMap((name) => {
    const [main, sqlite] = [MAIN, storages.sqlite].map((storage) => figures.get(storage)?.get(name))
    if (!main || !sqlite || name === 'exchange' || name === 'refresh') return []
    const factor = sqlite.processorMicroseconds / main.processorMicroseconds
    const what = `${operations[name].title}: SQLite, × PostgreSQL + Redis`
    return [atMost(what, factor, SQLITE_FACTOR_MAX)]
  })
}

function inGrowth({ growth }: Results): Goal[] {
  return Object.values(storages).flatMap((title) => {
    const sizes = growth.filter(({ storage }) => storages[storage] === title)
    const [first, last] = [sizes[0], sizes.at(-1)]
    if (!first || !last || first === last) return []
    return growing.map((name) => {
      const factor = last.microseconds[name] / first.microseconds[name]
      const what = `${operations[name].title}, ${title}: ${last.grants} grants, × ${first.grants}`
      return atMost(what, factor, GROWTH_FACTOR_MAX)
    })
  })
}

function ofProcess({ signIns, starts }: Results): Goal[] {
  const during = signIns.get('postgres-redis')?.p99Ms
  const start = starts.get(MAIN)
  return [
    below('UserInfo during eight sign-ins: p99, ms', during, SIGN_IN_P99_MS_MAX),
    below('start with an existing database, ms', start?.ms, START_MS_MAX),
    below('memory when idle, MiB', start?.idleMiB, IDLE_MIB_MAX),
  ].flat()
}

function below(what: string, found: number | undefined, max: number): Goal[] {
  if (found === undefined) return []
  return [{ what, wanted: `< ${max}`, found: found.toFixed(0), met: found < max }]
}

function atMost(what: string, found: number, max: number, digits = 2): Goal {
  return { what, wanted: `≤ ${max}`, found: found.toFixed(digits), met: found <= max }
}
