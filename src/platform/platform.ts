/** What any service needs: HTTP, stores, limits, monitoring, audit. Knows nothing of clients, people or sites. */

import type { Logger } from 'pino'

import { type AuditSettings, openAuditTrail } from './audit/audit-trail.ts'
import { orUnavailable } from './http/storage-guard.ts'
import { limitExchange, makeLimits } from './limits/limits.ts'
import { makeWatch, type Watchers } from './monitoring/watch.ts'
import type { SendOutgoing } from './outgoing/guarded-fetch.ts'
import { openStores, type StoreSettings } from './store/open-stores.ts'
import { openSharedCounts } from './store/shared-counts.ts'

export interface PlatformOptions {
  readonly logger: Logger
  /** Tests that inject a clock keep it; otherwise the database clock decides. */
  readonly now: (() => number) | undefined
  readonly fetch: SendOutgoing
  /** Present in one of several processes behind one port. */
  readonly worker: Worker | undefined
  readonly watchers: Watchers
}

export interface Worker {
  /** How many share the host's password checks and database connections. */
  readonly processes: number
  /** Whether this process runs the tasks that only one process of the host runs. */
  readonly sweeps: () => boolean
}

export type Platform = Awaited<ReturnType<typeof openPlatform>>

/** Opens the stores and everything that needs only them. Disposing of the result closes the stores. */
export async function openPlatform(
  config: StoreSettings & AuditSettings,
  { logger, now: givenNow, fetch, worker, watchers }: PlatformOptions,
) {
  const watch = makeWatch(watchers)
  await using opening = new AsyncDisposableStack()
  const hooks = { guard: watch.guard(orUnavailable), logger }
  const stores = opening.use(await openStores(config, hooks, worker?.processes))
  const { database, state, stateMemory } = stores
  const now = givenNow ?? stores.now
  const shared = openSharedCounts(stores, worker !== undefined)
  const requestLimits = makeLimits({ policy: config.service, shared, now })
  const audit = openAuditTrail(config, { database, logger, now })
  const open = opening.move()
  return {
    stores,
    database,
    state,
    stateMemory,
    logger,
    now,
    audit,
    noteEvent: audit.noteEvent,
    requestLimits,
    fetch: watch.fetch(fetch),
    watch,
    sweeps: worker?.sweeps,
    tasks: [limitExchange(requestLimits), stores.tasks, audit.tasks].flat(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
