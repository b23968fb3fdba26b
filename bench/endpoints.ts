import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

import { startProcess } from '../test/support/process.ts'
import { type Call, type Operation, operations } from './operations.ts'

/**
 * `node bench/endpoints.ts [seconds] [connections]`: load from this process on a service process of
 * its own. The embedded database, unless DATABASE_URL, REDIS_URL and SECRET are set; a database that
 * is given must hold the demo campus (`npm run gatehouse -- import config/demo`).
 *
 * Requests per second and percentiles depend on what else the machine does; processor time per
 * request hardly does.
 */
const seconds = Math.min(60, Number(process.argv[2] ?? 5))
const connections = Math.min(256, Number(process.argv[3] ?? 16))
const REQUESTS_MAX = 1_000_000

const { DATABASE_URL, REDIS_URL, SECRET } = process.env

interface Measure {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly processorMicroseconds: number
}

async function main(): Promise<void> {
  const given = Object.entries({ DATABASE_URL, REDIS_URL, SECRET }).filter(([, value]) => value)
  await using service = await startProcess({
    ...(Object.fromEntries(given) as Record<string, string>),
    LOG_LEVEL: 'silent',
  })
  process.stdout.write(
    `${DATABASE_URL ? 'PostgreSQL' : 'SQLite'}${REDIS_URL ? ' and Redis' : ''}, ` +
      `${connections} connections, ${seconds} s each, node ${process.version}\n\n` +
      '| operation | requests/s | p50 ms | p99 ms | processor µs/request |\n|-|-|-|-|-|\n',
  )
  for (const operation of operations) {
    // The first second compiles the code paths and fills the pools.
    await load(operation, service, 1)
    const measure = await load(operation, service, seconds)
    process.stdout.write(
      `| ${operation.name} | ${measure.requestsPerSecond.toFixed(0)} | ${measure.p50Ms.toFixed(1)} | ` +
        `${measure.p99Ms.toFixed(1)} | ${measure.processorMicroseconds.toFixed(0)} |\n`,
    )
  }
  process.stdout.write(`\nmemory after it: ${residentMiB(service.pid).toFixed(0)} MiB\n`)
}

async function load(
  operation: Operation,
  { url, pid }: { url: string; pid: number },
  durationSeconds: number,
): Promise<Measure> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const clients = []
  for (let i = 0; i < connections; i += 1) clients.push(await operation.prepare(url))

  const tookMs: number[] = []
  const processorBefore = processorSeconds(pid)
  const startedAt = performance.now()
  const deadline = startedAt + durationSeconds * 1000
  await Promise.all(
    clients.map(async ({ next, learn }) => {
      while (performance.now() < deadline && tookMs.length < REQUESTS_MAX) {
        const sentAt = performance.now()
        const body = await send(url, next(), agent)
        tookMs.push(performance.now() - sentAt)
        learn?.(body)
      }
    }),
  )
  const elapsedSeconds = (performance.now() - startedAt) / 1000
  const processor = processorSeconds(pid) - processorBefore
  agent.destroy()
  tookMs.sort((a, b) => a - b)
  const percentile = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? 0
  return {
    requestsPerSecond: tookMs.length / elapsedSeconds,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    processorMicroseconds: (processor / tookMs.length) * 1e6,
  }
}

async function send(url: string, { method, path, headers, form }: Call, agent: Agent) {
  const body = form && new URLSearchParams(form).toString()
  const outgoing = request(url + path, {
    agent,
    method,
    headers: {
      ...headers,
      ...(body !== undefined && {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': Buffer.byteLength(body),
      }),
    },
  })
  outgoing.end(body)
  const [answer] = await once(outgoing, 'response')
  const received = await text(answer)
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${received}`)
  return received
}

const TICKS_PER_SECOND = 100

/** User and system time of a process, all of its threads included (proc(5)). */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

await main()
