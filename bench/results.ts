import type { CountedOperation, RoundTrips } from '../test/support/round-trips.ts'
import type { Grown } from './growth.ts'
import type { ImportFigure } from './imports.ts'
import type { Storage } from './options.ts'
import type { Figures } from './rounds.ts'
import type { SignInFigure } from './sign-ins.ts'
import type { StartFigure } from './starts.ts'
import type { Costs } from './variants.ts'

/** The figures of a run. Those that were not requested are empty or undefined. */
export interface Results {
  readonly date: string
  readonly machine: string
  readonly versions: string
  /** The rounds, durations, connections and load average, as text. */
  readonly manner: string
  readonly figures: Figures
  readonly signIns: Map<Storage, SignInFigure>
  readonly imports: Map<Storage, ImportFigure>
  /** The figures with metrics and traces, by setting, on the first storage. */
  readonly watched: Figures
  /** The figures with one process, with two, and with two services, on the first storage. */
  readonly workers: Costs
  /** The round trips, on PostgreSQL and Redis. */
  readonly counted: Readonly<Record<CountedOperation, RoundTrips>> | undefined
  readonly starts: ReadonlyMap<string, StartFigure>
  /** The memory of each server after all loads. */
  readonly loadedMiB: ReadonlyMap<string, number>
  readonly growth: readonly Grown[]
}

/** The name of the bare engine in tables. */
export const BARE = 'bare engine'

/** Renders the results as JSON, with maps as objects. */
export function toJson(results: Results): string {
  const replace = (_name: string, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value
  return `${JSON.stringify(results, replace, 2)}\n`
}
