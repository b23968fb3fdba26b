import { once } from 'node:events'
import { join } from 'node:path'

import { readConfig } from './config/config.ts'
import { openWatchers } from './platform/monitoring/watch.ts'
import { openLog } from './platform/process/open-log.ts'
import { type DemoPerson, welcomeText } from './platform/process/welcome.ts'
import type { WorkerSide } from './platform/process/worker.ts'

const config = await readOrExit()
const log = openLog(config.logLevel, config.workers)

// Import lazily, so the primary does not load the service, and a single process does not load `cluster`.
if (config.workers === 1) await run(serve)
else if ((await import('node:cluster')).default.isPrimary) await run(runPrimary)
else await run(serve, (await import('./platform/process/worker.ts')).workerSide())

/** Runs `work`. If it fails, reports the error and sets exit code 1. Finally, disconnects a worker from its primary. */
async function run(work: (side?: WorkerSide) => Promise<void>, side?: WorkerSide): Promise<void> {
  try {
    await work(side)
  } catch (error) {
    const reason = startProblem(error)
    process.exitCode = 1
    if (side) side.failed(reason)
    else process.stderr.write(`${reason}\n`)
  }
  side?.leave()
}

async function runPrimary(): Promise<void> {
  const { runWorkers } = await import('./platform/process/primary.ts')
  // Open the metrics port before starting workers, so no worker has to be stopped if the port is in use.
  const { metricsAddress: address } = config
  await using _metrics =
    address &&
    (await (await import('./platform/monitoring/serve-metrics.ts')).serveHostMetrics(address))
  const counting = config.redis === undefined
  await runWorkers({ count: config.workers, counting, logger: log, onServing: greet })
  log.flush()
}

async function serve(side?: WorkerSide): Promise<void> {
  const { openGatehouse } = await import('./compose.ts')
  const { openServer } = await import('./platform/process/server.ts')
  const worker = side && { processes: config.workers, sweeps: side.sweeps }
  await using watching = new AsyncDisposableStack()
  // Flush last, because closing the other parts may write to the log.
  watching.defer(() => log.flush())
  const isWorker = side !== undefined
  const watchers = watching.use(await openWatchers(config, isWorker, log))
  await using service = await openGatehouse(config, log, { worker, watchers })
  // The engine reads the time only from Date.now. Replace Date.now with the database clock, so all processes agree on
  // the times of codes, sessions and id_tokens.
  Date.now = service.now
  const server = await openServer(service.handler, config)
  // The primary handles SIGHUP for its workers. A single process gets SIGHUP when its terminal is closed, so it stops.
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
    process.stderr.write(`${startProblem(error)}\n`)
    return process.exit(1)
  }
}

function startProblem(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
