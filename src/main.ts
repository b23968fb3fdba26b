import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { join } from 'node:path'

import { type Logger, pino } from 'pino'

import { readConfig } from './config/config.ts'
import { type Gatehouse, openGatehouse } from './gatehouse.ts'

/** How long running requests have to finish once the process was asked to stop. */
const DRAIN_MS = 10_000

/** As much as a pipe takes in one piece, so that lines of several processes are not mixed in it. */
const LOG_WRITE_BYTES = 4096
/** A long line of the log; a batch is written when there may be no room for another. */
const LOG_LINE_BYTES = 512
/** How long a line waits for others to be written with, at most. */
const LOG_FLUSH_MS = 100

const started = performance.now()
const config = await readOrExit()
const logger = pino(
  { level: config.logLevel, base: null },
  pino.destination({
    dest: 1,
    sync: false,
    minLength: LOG_WRITE_BYTES - LOG_LINE_BYTES,
    maxWrite: LOG_WRITE_BYTES,
    periodicFlush: LOG_FLUSH_MS,
  }),
)

try {
  await serve(logger)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function serve(log: Logger): Promise<void> {
  await using service = await openGatehouse(config, log)
  const running = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    running.add(response)
    response.once('close', () => running.delete(response))
    service.handler()(request, response)
  })
  limitConnections(server)
  await listen(server)
  if (process.stdout.isTTY || config.logLevel !== 'silent') {
    process.stderr.write(welcome(service))
  }
  await stopSignal()
  await drain(server, running)
  log.flush()
}

async function listen(server: Server): Promise<void> {
  const { port, host } = config
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new Error(`Port ${port} of ${host} is taken by another program.`, { cause: error })
  }
}

/** Bounds what one connection may take; the engine and our routes bound bodies themselves. */
function limitConnections(server: Server): void {
  server.requestTimeout = 30_000
  server.headersTimeout = 15_000
  server.keepAliveTimeout = 65_000
  server.maxRequestsPerSocket = 0
}

async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
}

/**
 * Takes no more work, lets what runs finish, and cuts what is still open after ten seconds. Each
 * running answer says that its connection ends with it, or a client would keep the connection, and
 * thereby this process, for as long as connections are kept.
 */
async function drain(server: Server, running: ReadonlySet<ServerResponse>): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.keepAliveTimeout = 1
  for (const response of running) {
    if (!response.headersSent) response.setHeader('Connection', 'close')
  }
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

/** What a person reads at the start. */
function welcome({ demoPeople }: Gatehouse): string {
  const { baseUrl } = config
  const lines = [
    `Gatehouse serves ${baseUrl} (started in ${Math.round(performance.now() - started)} ms)`,
    `  discovery   ${baseUrl}/.well-known/openid-configuration`,
    `  walkthrough ${baseUrl}/auth.md`,
    `  a token     npm run token`,
  ]
  if (demoPeople.length > 0) lines.push('Demo people (public passwords):')
  for (const { login, password, what } of demoPeople) lines.push(`  ${login}  ${password}  ${what}`)
  return `${lines.join('\n')}\n`
}
