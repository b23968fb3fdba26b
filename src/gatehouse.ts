import { join } from 'node:path'

import type { Logger } from 'pino'

import type { Config } from './config/config.ts'
import { makePeople } from './directory/people/people.ts'
import { openKeys } from './oauth/keys/keys.ts'
import { settleDemo } from './ops/import/demo.ts'
import { makeParts } from './parts.ts'
import { makeAuditStream, STREAM_SECONDS } from './platform/audit/audit-stream.ts'
import { makeAuditTrail } from './platform/audit/audit-trail.ts'
import { openEventSink } from './platform/audit/event-sink.ts'
import { orUnavailable } from './platform/http/storage-guard.ts'
import { makeCallerLimits, type RequestLimits } from './platform/limits/caller-limits.ts'
import { EXCHANGE_SECONDS, makeLimits } from './platform/limits/limits.ts'
import { readProcess } from './platform/monitoring/readings.ts'
import { makeWatch, type Watchers } from './platform/monitoring/watch.ts'
import { makeGuardedFetch, type SendOutgoing } from './platform/outgoing/guarded-fetch.ts'
import { type BackgroundTask, startBackgroundTasks } from './platform/process/background-tasks.ts'
import { CLOCK_READ_SECONDS, makeClockWatch } from './platform/store/clock.ts'
import { openStores, type Stores } from './platform/store/open-stores.ts'
import { warnOfLoss } from './platform/store/redis-durability.ts'
import { MEMORY_LOOK_SECONDS } from './platform/store/redis-memory.ts'
import { openSharedCounts } from './platform/store/shared-counts.ts'
import { keepBundledFiles } from './school/files/bundled-files.ts'
import { makePostDelivery } from './school/posts/delivery.ts'
import { makeSurfaces } from './surfaces.ts'

/** A running service without its socket: stores are open, keys are loaded, timers run. */
export type Gatehouse = Awaited<ReturnType<typeof openGatehouse>>

export interface GatehouseOptions {
  readonly now?: () => number
  /** Sends the requests to servers of clients; tests reach hosts of their own by it. */
  readonly fetch?: SendOutgoing
  /** Given to one of several processes behind one port. */
  readonly worker?: WorkerPart | undefined
  /** Who measures, where anybody does. */
  readonly watchers?: Watchers
}

/** The part of a host's service that one worker is. */
export interface WorkerPart {
  /** How many share the host's password checks and database connections. */
  readonly processes: number
  /** Whether this one does what one of them does for all. */
  readonly sweeps: () => boolean
}

/**
 * The composition root, with `parts.ts` and `surfaces.ts`: only these know every part. What was opened is closed again, in
 * reverse, when the service is disposed of or a later step fails.
 */
export async function openGatehouse(
  config: Config,
  logger: Logger,
  { now: givenNow, fetch = makeGuardedFetch(), worker, watchers = {} }: GatehouseOptions = {},
) {
  const { service } = config
  const watch = makeWatch(watchers)
  await using opening = new AsyncDisposableStack()
  const processes = worker?.processes ?? 1
  const connections = Math.floor(service.storage.databaseConnectionsMax / processes)
  const stores = await openStores(
    { ...config, ...service.storage, databaseConnectionsMax: Math.max(1, connections) },
    {
      guard: watch.guard(orUnavailable),
      onIdleError: ({ message }) => logger.warn({ cause: message }, 'a database connection broke'),
    },
  )
  opening.use(stores)
  const { storeClock } = stores
  const now = givenNow ?? storeClock.now
  const followClock = makeClockWatch(storeClock, logger)
  await followClock()
  if (stores.redis) await warnOfLoss(stores.redis, logger)
  const audit = openAudit(config, { ...stores, logger, now })
  const { noteEvent } = audit
  const ground = {
    ...stores,
    ...openLimits(stores, { policy: service, now, isWorker: worker !== undefined }),
    ...{ logger, noteEvent, now, fetch: watch.fetch(fetch) },
  }
  const keys = openKeys({ ...config, ...ground, policy: service.keys })
  const { browserKeys } = keys.secretRoot
  const known = makePeople({ ...ground, browserKeys, policy: { ...service.signIn, processes } })
  const people = { ...known, signIn: watch.signIn(known.signIn) }
  const { hashPassword } = people
  const demoPeople = await settleDemo(stores.database, { ...config, hashPassword, now })

  const loadRings = async () => await keys.loadRings(service.upstreams.length > 0)
  let rings = await loadRings()
  // Our own pages send requests to the application that is made of them, so that they ask for it late.
  const parts = await makeParts(config, { ...ground, keys, people, handler: () => handler })
  if (demoPeople.length > 0) await keepDemoFiles(config, parts)
  const surfaces = { ...parts, demoPeople, watch, hearRequest: audit.hear }
  const makeHandler = makeSurfaces(config, surfaces)
  let handler = makeHandler(rings)
  const followKeys = async () => {
    const found = await loadRings()
    if (found.version === rings.version) return
    rings = found
    handler = makeHandler(rings)
    logger.info({ keys: rings.version }, 'signing keys changed')
  }

  opening.defer(parts.refusals.flush)
  opening.defer(audit.end)
  opening.defer(parts.grants.usage.flush)
  const tasks = tasksOf(service, parts, worker?.sweeps)
  tasks.push(...audit.tasks)
  tasks.push({ name: 'keys', everySeconds: service.keys.reloadSeconds, run: followKeys })
  // Whoever gives a clock wants no other.
  if (!givenNow) tasks.push({ name: 'clock', everySeconds: CLOCK_READ_SECONDS, run: followClock })
  opening.use(startBackgroundTasks(tasks, { logger, hear: watch.hearTask }))
  if (watchers.metrics) {
    const { waitingHashes } = people
    const sources = { database: stores.database, waitingHashes, ...parts.signOuts }
    opening.use(readProcess(watchers.metrics, { ...sources, keysMadeAt: () => rings.madeAt }))
  }
  const open = opening.move()
  return {
    stores,
    demoPeople,
    /** The time by which it decides, in epoch milliseconds. */
    now,
    /** The application with the keys that sign now; it changes when keys rotate. */
    handler: () => handler,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** A demo without its one file is a demo still. */
async function keepDemoFiles(
  { demoFolder }: Config,
  { files, logger }: Awaited<ReturnType<typeof makeParts>>,
): Promise<void> {
  await keepBundledFiles(files, join(demoFolder, 'files')).catch((cause) =>
    logger.warn({ cause: String(cause) }, 'the files of the demo campus could not be kept'),
  )
}

/** What is done beside the requests; `sweeps` tells whether this process does what one of them does for all. */
function tasksOf(
  { storage, posts }: Config['service'],
  parts: Awaited<ReturnType<typeof makeParts>>,
  sweeps: (() => boolean) | undefined,
): BackgroundTask[] {
  const { grants, refusals, cleanUp, signOuts, authorization, stateMemory, requestLimits } = parts
  const { usageFlushSeconds, sweepSeconds, signOutLookMs } = storage
  const tasks: BackgroundTask[] = [
    { name: 'limits', everySeconds: EXCHANGE_SECONDS, run: requestLimits.exchange },
    { name: 'usage', everySeconds: usageFlushSeconds, run: grants.usage.flush },
    { name: 'refusals', everySeconds: usageFlushSeconds, run: refusals.flush },
    { name: 'state memory', everySeconds: MEMORY_LOOK_SECONDS, run: stateMemory.look },
    { name: 'clean-up', everySeconds: sweepSeconds, run: cleanUp.run, onlyWhen: sweeps },
    {
      name: 'posts',
      everySeconds: posts.deliverySeconds,
      run: makePostDelivery(parts),
      onlyWhen: sweeps,
    },
  ]
  if (!signOuts) return tasks
  const run = async (signal: AbortSignal) => await signOuts.run(authorization.sendSignOut, signal)
  return [
    ...tasks,
    { name: 'sign-outs', everySeconds: signOutLookMs / 1000, run, onlyWhen: sweeps },
  ]
}

/** What callers do is counted together with the other processes, where there are some. */
function openLimits(
  stores: Stores,
  { isWorker, ...ports }: { policy: object; now: () => number; isWorker: boolean },
): RequestLimits {
  const requestLimits = makeLimits({ ...ports, shared: openSharedCounts(stores, isWorker) })
  return { requestLimits, callerLimits: makeCallerLimits(requestLimits) }
}

/** The audit trail, what writes it, and its stream where one is asked for. */
function openAudit(
  { auditStream, service: { storage } }: Config,
  ports: Pick<Stores, 'database'> & Parameters<typeof makeAuditTrail>[1],
) {
  const trail = makeAuditTrail(ports.database, ports)
  const everySeconds = storage.usageFlushSeconds
  const writing: BackgroundTask = { name: 'audit', everySeconds, run: trail.flush }
  if (auditStream === undefined) return { ...trail, tasks: [writing] }
  const stream = makeAuditStream({ ...ports, sink: openEventSink(auditStream) })
  const sending = { name: 'audit-stream', everySeconds: STREAM_SECONDS, run: stream.run }
  return {
    ...trail,
    tasks: [writing, sending],
    /** What the trail writes at its end goes out too. */
    async end() {
      await trail.end()
      await stream.end()
    },
  }
}
