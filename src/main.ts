import { once } from 'node:events'
import { join } from 'node:path'

import { readConfig } from './config/config.ts'
import { openHostMetrics, openWatchers } from './platform/monitoring/watch.ts'
import { openLog } from './platform/process/open-log.ts'
import { type DemoPerson, welcomeText } from './platform/process/welcome.ts'
import type { WorkerSide } from './platform/process/worker.ts'

const config = await readOrExit()
const log = openLog(config.logLevel, config.workers)

// What belongs to workers is loaded by those who have any, and the service by those who serve.
if (config.workers === 1) await runAlone()
else if ((await import('node:cluster')).default.isPrimary) await runPrimary()
else await runWorker()

/** The whole service is this process. */
async function runAlone(): Promise<void> {
  try {
    await serve()
  } catch (error) {
    fail([reasonOf(error)])
  }
}

/** One of the processes that a primary has started. */
async function runWorker(): Promise<void> {
  const side = (await import('./platform/process/worker.ts')).workerSide()
  try {
    await serve(side)
  } catch (error) {
    process.exitCode = 1
    side.failed(reasonOf(error))
  }
  side.leave()
}

/** The process that the operator sees: it starts, replaces and stops the workers. */
async function runPrimary(): Promise<void> {
  const { Workers } = await import('./platform/process/primary.ts')
  const counting = config.redis === undefined
  // Before any worker starts, so that a taken port is said and nothing has to be stopped.
  const metrics = await openHostMetrics(config.metricsAddress)
  const workers = new Workers({ count: config.workers, counting, logger: log, onServing: greet })
  process.on('SIGHUP', () => workers.reload())
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => workers.stop())
  const reasons = await workers.ended
  await metrics?.[Symbol.asyncDispose]()
  if (reasons) fail(reasons)
  log.flush()
}

async function serve(side?: WorkerSide): Promise<void> {
  const { openGatehouse } = await import('./compose.ts')
  const { openServer } = await import('./platform/process/server.ts')
  const worker = side && { processes: config.workers, sweeps: side.sweeps }
  await using watching = new AsyncDisposableStack()
  // What is closed may have something to say.
  watching.defer(() => log.flush())
  const { metricsAddress, traces } = config
  const isWorker = side !== undefined
  const watchers = watching.use(await openWatchers({ metricsAddress, traces, isWorker, log }))
  await using service = await openGatehouse(config, log, { worker, watchers })
  // The engine asks for the time at Date.now and has no setting for it. With the clock of the database
  // there, its codes, sessions and id_tokens have the times of every other process.
  Date.now = service.now
  const server = await openServer(service.handler, config)
  // A worker leaves SIGHUP to the primary; of one alone it is the terminal that was closed.
  const signals = side ? ['SIGTERM', 'SIGINT'] : ['SIGTERM', 'SIGINT', 'SIGHUP']
  const stop = Promise.race(signals.map((signal) => once(process, signal)))
  if (side) {
    side.ready(service.demoPeople)
    const end = Promise.race([stop, side.orphaned])
    await Promise.race([end, side.replaced.then(() => server.handOver(end))])
  } else {
    greet(service.demoPeople)
    await stop
  }
  await server.drain()
}

function greet(demoPeople: readonly DemoPerson[]): void {
  if (!process.stdout.isTTY && config.logLevel === 'silent') return
  const { baseUrl, workers } = config
  const startedInMs = performance.now()
  process.stderr.write(welcomeText({ baseUrl, startedInMs, workers, demoPeople }))
}

async function readOrExit() {
  try {
    return readConfig(process.env, join(import.meta.dirname, '../config'))
  } catch (error) {
    process.stderr.write(`${reasonOf(error)}\n`)
    return process.exit(1)
  }
}

function fail(reasons: readonly string[]): void {
  for (const reason of reasons) process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
