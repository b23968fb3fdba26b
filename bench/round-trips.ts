import { Redis } from 'ioredis'
import pg from 'pg'

import { startService } from '../test/support/gatehouse.ts'
import { type Call, operations } from './operations.ts'

/**
 * `DATABASE_URL=… SECRET=… [REDIS_URL=…] node bench/round-trips.ts`: what one request asks of the
 * stores. The database holds the demo campus (`gatehouse import`). SQL queries are counted where the driver sends them, Redis commands and the batches in
 * which the server reads them in Redis's own statistics. The embedded database is asked the same
 * queries as PostgreSQL.
 */
const REQUESTS = 100

const { DATABASE_URL = '', REDIS_URL, SECRET = '' } = process.env

let queries = 0
const query = pg.Client.prototype.query
pg.Client.prototype.query = function counted(this: pg.Client, ...words: unknown[]) {
  queries += 1
  return Reflect.apply(query, this, words)
} as typeof query

async function main(): Promise<void> {
  await using running = await startService({
    environment: { DATABASE_URL, SECRET, DEMO_DATA: 'on', ...(REDIS_URL ? { REDIS_URL } : {}) },
  })
  const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined
  process.stdout.write('| operation | SQL queries | Redis commands | Redis batches |\n|-|-|-|-|\n')
  for (const operation of operations) {
    const { next, learn } = await operation.prepare(running.url)
    const [queriesBefore, redisBefore] = [queries, await redisCounters(redis)]
    for (let i = 0; i < REQUESTS; i += 1) {
      const body = await send(running.url, next())
      learn?.(body)
    }
    const redisAfter = await redisCounters(redis)
    const each = (after: number, before: number) => ((after - before) / REQUESTS).toFixed(1)
    process.stdout.write(
      `| ${operation.name} | ${each(queries, queriesBefore)} | ` +
        `${each(redisAfter.commands, redisBefore.commands)} | ` +
        `${each(redisAfter.batches, redisBefore.batches)} |\n`,
    )
  }
  redis?.disconnect()
}

async function redisCounters(redis: Redis | undefined) {
  const stats = (await redis?.info('stats')) ?? ''
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
  return {
    commands: read('total_commands_processed'),
    batches: read('total_reads_processed'),
  }
}

async function send(url: string, { method, path, headers, form }: Call): Promise<string> {
  const response = await fetch(url + path, {
    method,
    headers: { ...headers },
    ...(form && { body: new URLSearchParams(form) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return await response.text()
}

await main()
