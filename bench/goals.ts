import type { CountedOperation } from '../test/support/round-trips.ts'
import { growing } from './growth.ts'
import { type OperationName, operationNames, operations } from './operations.ts'
import { type Storage, storages } from './options.ts'
import { BARE, type Results } from './results.ts'
import { type Figure, median } from './rounds.ts'
import { ONE_WORKER, TWO_WORKERS } from './variants.ts'

/** A goal, and whether this run met it. */
export interface Goal {
  readonly what: string
  readonly wanted: string
  readonly found: string
  readonly met: boolean
}

const MAIN = storages['postgres-redis']

/** The maximum processor time of the service, relative to that of the bare engine. */
const timesBareMax: Partial<Record<OperationName, number>> = {
  exchange: 1.15,
  refresh: 0.75,
  userinfo: 1.1,
  introspection: 0.9,
  discovery: 0.8,
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

/** The maximum numbers of SQL statements and of batches of Redis commands per operation. */
const roundTripsMax: Partial<Record<CountedOperation, readonly [sql: number, redis: number]>> = {
  'code exchange': [2, 2],
  refresh: [2, 1],
  UserInfo: [1, 1],
  introspection: [1, 1],
  '{ viewer { id } }': [1, 1],
}

const DEEP_MAX = 2
const SQLITE_FACTOR_MAX = 1.3
const growthFactorMax: Record<Storage, number> = {
  'postgres-redis': 1.15,
  sqlite: 1.3,
  postgres: 1.3,
}
const WORKERS_FACTOR_MAX = 1.1
const ALONE_P99_FACTOR_MAX = 2
const SIGN_IN_P99_MS_MAX = 25
const START_FACTOR_MAX = 1
const IDLE_FACTOR_MAX = 0.85

/** Returns every goal for which the run has figures. */
export function judgeGoals(results: Results): Goal[] {
  return [
    ...againstBare(results),
    ...inMicroseconds(results),
    ...inRoundTrips(results),
    ...sqliteAgainstMain(results),
    ...inGrowth(results),
    ...ofWorkers(results),
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
    const slower = ours.aloneP99Ms / bare.aloneP99Ms
    return [
      atMost(`${title}: × bare`, 1 / timesAsCheap(ours, bare), timesBareMax[name] ?? 0),
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

/** Compares SQLite with PostgreSQL and Redis. Omits exchange and refresh, in which only SQLite waits for the disk. */
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
  return Object.entries(growthFactorMax).flatMap(([storage, max]) => {
    const title = storages[storage as Storage]
    const sizes = growth.filter((grown) => grown.storage === storage)
    const [first, last] = [sizes[0], sizes.at(-1)]
    if (!first || !last || first === last) return []
    return growing.map((name) => {
      const factor = last.microseconds[name] / first.microseconds[name]
      const what = `${operations[name].title}, ${title}: ${last.grants} grants, × ${first.grants}`
      return atMost(what, factor, max)
    })
  })
}

function ofWorkers({ workers }: Results): Goal[] {
  const [one, two] = [workers.get(ONE_WORKER), workers.get(TWO_WORKERS)]
  return [...(one ?? [])].flatMap(([name, { processorMicroseconds }]) => {
    const factor = (two?.get(name)?.processorMicroseconds ?? Number.NaN) / processorMicroseconds
    return [atMost(`${operations[name].title}: two processes, × one`, factor, WORKERS_FACTOR_MAX)]
  })
}

function ofProcess({ signIns, starts }: Results): Goal[] {
  const during = signIns.get('postgres-redis')?.p99Ms
  const [ours, bare] = [starts.get(MAIN), starts.get(BARE)]
  const goals = below('UserInfo during eight sign-ins: p99, ms', during, SIGN_IN_P99_MS_MAX)
  if (!ours || !bare) return goals
  return [
    ...goals,
    atMost('start with an existing database, × bare', ours.ms / bare.ms, START_FACTOR_MAX),
    atMost('memory when idle, × bare', ours.idleMiB / bare.idleMiB, IDLE_FACTOR_MAX),
  ]
}

function below(what: string, found: number | undefined, max: number): Goal[] {
  if (found === undefined) return []
  return [{ what, wanted: `< ${max}`, found: found.toFixed(0), met: found < max }]
}

function atMost(what: string, found: number, max: number, digits = 2): Goal {
  return { what, wanted: `≤ ${max}`, found: found.toFixed(digits), met: found <= max }
}
