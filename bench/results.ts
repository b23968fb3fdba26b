import type { CountedOperation, RoundTrips } from '../test/support/round-trips.ts'
import type { Grown } from './growth.ts'
import type { ImportFigure } from './imports.ts'
import type { Storage } from './options.ts'
import type { Figures } from './rounds.ts'
import type { SignInFigure } from './sign-ins.ts'
import type { StartFigure } from './starts.ts'

/** Everything that a run found; what it was not asked for is empty. */
export interface Results {
  readonly date: string
  readonly machine: string
  readonly versions: string
  /** How long and how often, in a sentence. */
  readonly manner: string
  readonly figures: Figures
  readonly signIns: ReadonlyMap<Storage, SignInFigure>
  readonly imports: ReadonlyMap<Storage, ImportFigure>
  /** By who watches, on the first storage that was chosen. */
  readonly watched: Figures
  /** On PostgreSQL and Redis. */
  readonly counted: Readonly<Record<CountedOperation, RoundTrips>> | undefined
  /** By what was started. */
  readonly starts: ReadonlyMap<string, StartFigure>
  /** Memory of the servers after all of the load. */
  readonly loadedMiB: ReadonlyMap<string, number>
  readonly growth: readonly Grown[]
}

/** The name of the engine by itself in tables. */
export const BARE = 'bare engine'

/** As text, maps as objects. */
export function toJson(results: Results): string {
  const replace = (_name: string, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value
  return `${JSON.stringify(results, replace, 2)}\n`
}
