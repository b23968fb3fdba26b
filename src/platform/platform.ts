/** Opens the infrastructure of the service: stores, limits, monitoring, the audit trail and outgoing requests. */

import type { Logger } from 'pino'

import { openAuditTrail } from './audit/audit-trail.ts'
import { orUnavailable } from './http/storage-guard.ts'
import { EXCHANGE_SECONDS, makeLimits } from './limits/limits.ts'
import { makeWatch, type Watchers } from './monitoring/watch.ts'
import { type Handlers, outboxTask, waitingMessages } from './outbox/outbox.ts'
import { makeGuardedFetch, type SendOutgoing } from './outgoing/guarded-fetch.ts'
import type { WorkerShare } from './process/worker.ts'
import { openStores, type StoreSettings } from './store/open-stores.ts'
import { openSharedCounts } from './store/shared-counts.ts'

interface PlatformSettings extends StoreSettings {
  readonly auditStream: string | undefined
  readonly service: StoreSettings['service'] & {
    readonly storage: Readonly<Record<'usageFlushSeconds' | 'outboxLookMs', number>>
  }
}

export interface PlatformOptions {
  /** Replaces the database clock in tests. */
  readonly now?: () => number
  /** Sends requests to other servers. Tests replace it to reach local hosts. */
  readonly fetch?: SendOutgoing
  /** This worker's share of the work on its host; undefined for a single process. */
  readonly worker?: WorkerShare | undefined
  readonly watchers?: Watchers
}

export type Platform = Awaited<ReturnType<typeof openPlatform>>

/** Opens the stores, the limits and the audit trail. Disposing the result closes the stores. */
export async function openPlatform(
  settings: PlatformSettings,
  logger: Logger,
  { now: givenNow, fetch = makeGuardedFetch(), worker, watchers = {} }: PlatformOptions,
) {
  const watch = makeWatch(watchers)
  await using opening = new AsyncDisposableStack()
  const hooks = { guard: watch.guard(orUnavailable), logger }
  const { auditStream, service } = settings
  const stores = opening.use(await openStores(settings, hooks, worker?.processes))
  const { database, state, stateMemory } = stores
  const now = givenNow ?? stores.now
  const shared = openSharedCounts(stores, worker !== undefined)
  const requestLimits = makeLimits({ policy: service, shared, now })
  const { exchange: run } = requestLimits
  const exchange = { name: 'limits', everySeconds: EXCHANGE_SECONDS, run }
  const { usageFlushSeconds: flushSeconds, outboxLookMs: lookMs } = service.storage
  const audit = openAuditTrail({ place: auditStream, flushSeconds }, { database, logger, now })
  const sweeps = worker?.sweeps
  const outboxPorts = { database, now, logger, sweeps, lookMs, noteAttempt: watch.noteMessage }
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
    sweeps,
    waitingMessages: async () => await waitingMessages(database),
    outboxTask: (handlers: Handlers) => outboxTask(handlers, outboxPorts),
    tasks: [exchange, stores.tasks, audit.tasks].flat(),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
