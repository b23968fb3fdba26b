/**
 * The room of what any service needs: HTTP, stores, request limits, monitoring, the audit trail, requests to other
 * servers, the process. It knows nothing of clients, people or sites.
 */

import type { Logger } from 'pino'

import { makeAuditStream, openEventSink, STREAM_SECONDS } from './audit/audit-stream.ts'
import { makeAuditTrail } from './audit/pending-audit-events.ts'
import { orUnavailable } from './http/storage-guard.ts'
import { EXCHANGE_SECONDS, makeLimits } from './limits/process-limits.ts'
import { makeWatch, type Watchers } from './monitoring/watch.ts'
import type { SendOutgoing } from './outgoing/guarded-fetch.ts'
import type { BackgroundTask } from './process/background-tasks.ts'
import { CLOCK_READ_SECONDS, makeClockWatch } from './store/clock.ts'
import { openStores, type StoreSettings } from './store/open-stores.ts'
import { warnOfLoss } from './store/redis-durability.ts'
import { MEMORY_LOOK_SECONDS } from './store/redis-memory.ts'
import { openSharedCounts } from './store/shared-counts.ts'

export interface PlatformSettings extends StoreSettings {
  /** The policy of the service, from which the table of limits reads its figures. */
  readonly limitFigures: object
  readonly auditStream: Parameters<typeof openEventSink>[0] | undefined
  readonly usageFlushSeconds: number
}

export interface PlatformOptions {
  readonly logger: Logger
  /** Tests that inject a clock keep it; otherwise the clock of the database decides. */
  readonly now: (() => number) | undefined
  readonly fetch: SendOutgoing
  /** Present in one of several processes of a host: whether this one does what one does for all. */
  readonly sweeps: (() => boolean) | undefined
  readonly watchers: Watchers
}

export type Platform = Awaited<ReturnType<typeof openPlatform>>

/** Opens the stores and what needs nothing but them. Disposing of the result closes the stores. */
export async function openPlatform(settings: PlatformSettings, options: PlatformOptions) {
  const { logger } = options
  const watch = makeWatch(options.watchers)
  await using opening = new AsyncDisposableStack()
  const stores = await openStores(settings, {
    guard: watch.guard(orUnavailable),
    onIdleError: ({ message }) => logger.warn({ cause: message }, 'a database connection broke'),
  })
  opening.use(stores)
  const now = options.now ?? stores.storeClock.now
  const followClock = makeClockWatch(stores.storeClock.measure, logger)
  await followClock()
  if (stores.redis) await warnOfLoss(stores.redis, logger)
  const shared = openSharedCounts(stores, options.sweeps !== undefined)
  const requestLimits = makeLimits({ policy: settings.limitFigures, shared, now })
  const audit = openAudit(settings, { database: stores.database, logger, now })
  const tasks: BackgroundTask[] = [
    { name: 'limits', everySeconds: EXCHANGE_SECONDS, run: requestLimits.exchange },
    { name: 'state memory', everySeconds: MEMORY_LOOK_SECONDS, run: stores.stateMemory.look },
  ]
  if (!options.now)
    tasks.push({ name: 'clock', everySeconds: CLOCK_READ_SECONDS, run: followClock })
  const open = opening.move()
  return {
    stores,
    database: stores.database,
    state: stores.state,
    stateMemory: stores.stateMemory,
    logger,
    now,
    audit,
    noteEvent: audit.noteEvent,
    requestLimits,
    fetch: watch.fetch(options.fetch),
    watch,
    sweeps: options.sweeps,
    tasks: tasks.concat(audit.tasks),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** The audit trail, its writer, and its stream if one is configured. */
function openAudit(
  { auditStream, usageFlushSeconds }: PlatformSettings,
  ports: Pick<Platform, 'database' | 'logger' | 'now'>,
) {
  const { database, logger, now } = ports
  const trail = makeAuditTrail(database, { logger, now })
  const sink = auditStream === undefined ? undefined : openEventSink(auditStream)
  const stream = sink && makeAuditStream(database, sink, now)
  const tasks: BackgroundTask[] = [
    { name: 'audit', everySeconds: usageFlushSeconds, run: trail.flush },
  ]
  if (stream) tasks.push({ name: 'audit-stream', everySeconds: STREAM_SECONDS, run: stream.run })
  return {
    noteEvent: trail.noteEvent,
    hear: trail.hear,
    tasks,
    /** Writes the rest; what the trail writes at its end goes out to the stream, too. */
    async end() {
      await trail.end()
      await stream?.end()
    },
  }
}
