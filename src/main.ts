import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'

import { type Logger, pino } from 'pino'

import { readConfig } from './config.ts'
import { openService } from './service.ts'

const started = performance.now()
const config = await readOrExit()
const logger = pino(
  { level: config.logLevel, base: null },
  pino.destination({ dest: 1, sync: false }),
)

try {
  await serve(logger)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function serve(log: Logger): Promise<void> {
  await using service = await openService(config, log)
  const server = createServer((request, response) => current(request, response))
  const current: RequestListener = (request, response) => service.handler()(request, response)
  limitConnections(server)
  server.listen(config.port, config.host)
  await once(server, 'listening')
  if (process.stdout.isTTY || config.logLevel !== 'silent') {
    process.stderr.write(service.welcome(Math.round(performance.now() - started)))
  }
  await stopSignal()
  await drain(server)
  log.flush()
}

/** Bounds what one connection may take; the engine and our routes bound bodies themselves. */
function limitConnections(server: ReturnType<typeof createServer>): void {
  server.requestTimeout = 30_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 65_000
  server.maxRequestsPerSocket = 0
}

async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
}

const DRAIN_MS = 10_000

/** Takes no more work, lets what runs finish, and cuts what is still open after ten seconds. */
async function drain(server: ReturnType<typeof createServer>): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS)
  await closed
  clearTimeout(cut)
}

async function readOrExit() {
  try {
    return readConfig(process.env, join(import.meta.dirname, '../config'))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return process.exit(1)
  }
}
