import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'

import type { Config } from '../../config/config.ts'
import { listKeys, readKeyRing } from '../../oauth/keys/keys.ts'
import { addressOf, nameOfSite, pages, takenSlugs } from '../../platform/http/paths.ts'
import { CLOCK_DIFFERENCE_MAX_MS } from '../../platform/store/clock.ts'
import type { Database } from '../../platform/store/database.ts'
import { locationOf, readSchemaStatus } from '../../platform/store/open-stores.ts'
import { openRedis } from '../../platform/store/redis.ts'
import { judgeDurability, lookAtDurability } from '../../platform/store/redis-durability.ts'
import { keysOf, storesOf, withDatabase } from '../cli/configured-stores.ts'
import { holdsDemoCampus } from '../import/demo-campus.ts'
import { type CheckName, type Finding, found, ok } from './checks.ts'
import { judgeClients, platformFacts, readClientFacts } from './client-checks.ts'

const REDIS_READY_TIMEOUT_MS = 2_000

/** Checks the database, its schema, keys, clients, slugs and sample data. */
export async function checkDatabase(config: Config): Promise<Finding[]> {
  return await orFound('database.silent', 'The database does not answer', async () => {
    if (!config.databaseUrl && !existsSync(join(config.dataDir, 'gatehouse.db'))) {
      return [found('database.absent', `There is no database in ${config.dataDir} yet`)]
    }
    const { pending } = await readSchemaStatus(locationOf(storesOf(config)))
    if (pending.length > 0) {
      const names = pending.map(({ name }) => name).join(', ')
      const said = `The schema of the database is behind by ${names}`
      return [found(config.migrateAtStart ? 'schema.before-start' : 'schema.behind', said)]
    }
    return await withDatabase(config, async (database, now) => [
      ok(`The database (${database.engine}) answers, and its schema is up to date.`),
      // The embedded database has no clock of its own, and its durability settings are ours.
      ...(database.engine === 'sqlite' ? [] : await checkPostgres(database)),
      ...(await orFound('keys.unusable', 'The signing keys cannot be used', () =>
        checkKeys(config, database, now),
      )),
      ...(await checkClients(config, database)),
      ...(await checkSlugs(database)),
      ...(await checkDemo(config, database)),
    ])
  })
}

/** Runs a check; an error becomes a finding. */
async function orFound(
  check: CheckName,
  complaint: string,
  look: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await look()
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return [found(check, `${complaint}: ${said.replace(/\.$/, '')}`)]
  }
}

/** Compares clocks, because processes must agree about what has expired. */
function compareClocks(other: string, theirsMs: number, beforeMs: number): Finding {
  const difference = Math.abs(Math.round(theirsMs - (beforeMs + Date.now()) / 2))
  const clocks = `The clocks of this machine and of ${other}`
  if (difference <= CLOCK_DIFFERENCE_MAX_MS) return ok(`${clocks} agree.`)
  return found('clock.differs', `${clocks} differ by ${difference} ms`)
}

/** Checks the clock of PostgreSQL, that it accepts writes, and that commits are durable. */
async function checkPostgres({ kysely }: Database): Promise<Finding[]> {
  const before = Date.now()
  const clock = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(kysely)
  const findings = [compareClocks('the database', clock.rows[0]?.ms ?? 0, before)]
  const { rows } = await sql<{ name: string }>`
    select name from pg_settings
    where name in ('transaction_read_only', 'fsync', 'full_page_writes', 'synchronous_commit')
      and setting = 'off'
    order by name`.execute(kysely)
  const off = rows.map(({ name }) => name)
  if (!off.includes('transaction_read_only')) {
    findings.push(found('database.read-only', 'The database is read-only'))
  }
  const lost = off.filter((name) => name !== 'transaction_read_only')
  if (lost.length > 0) {
    const sentence = `PostgreSQL acknowledges writes before they are on disk: ${lost.join(', ')} off`
    findings.push(found('database.loses', sentence))
  }
  return findings
}

async function checkKeys(config: Config, database: Database, now: () => number) {
  const { tokens, upstreams } = keysOf(config, { database, now })
  const findings: Finding[] = []
  for (const [keys, name] of [
    [tokens, 'signing keys'],
    [upstreams, "keys for the platform's own API"],
  ] as const) {
    const rows = await listKeys(keys)
    // The first start with a configured upstream creates its keys.
    if (rows.length === 0 && keys === upstreams) continue
    if (rows.length === 0) return [found('keys.absent', 'There are no signing keys yet')]
    const states = rows.map(({ state }) => state).filter((state) => state !== 'retired')
    if (states.sort().join() === 'current,next') {
      await readKeyRing(keys)
      findings.push(ok(`The ${name} open with this secret; ${rows[0]?.kid} signs.`))
    } else {
      const said = `The ${name} must be one current and one next, but are ${states.join(', ') || 'retired'}`
      findings.push(found('keys.unusable', said))
    }
  }
  return findings
}

/** Checks the applications of operators, and the integrations of the configuration. */
async function checkClients({ integrations, service }: Config, database: Database) {
  const now = Date.now()
  const clients = [...(await readClientFacts(database, now)), ...integrations.map(platformFacts)]
  return judgeClients(clients, { now, privateKeyJwt: service.furtherPlans.privateKeyJwt })
}

/** Finds sites whose slug equals a route that was added later. */
async function checkSlugs({ kysely }: Database): Promise<Finding[]> {
  const sites = await kysely
    .selectFrom('site')
    .select(['id', 'slug'])
    .where('slug', 'in', [...takenSlugs])
    .orderBy('slug')
    .execute()
  return sites.map((site) => {
    const [own, used] = [site.slug, nameOfSite(site)].map((name) =>
      addressOf(pages.site, { site: name ?? '' }),
    )
    const sentence = `The service itself uses ${own}, so the pages of site ${site.id} are at ${used}`
    return found('site.renamed', sentence)
  })
}

async function checkDemo({ mayServeDemo }: Config, database: Database): Promise<Finding[]> {
  if (!(await holdsDemoCampus(database))) return []
  const said = 'The database holds the demo campus, whose passwords are public'
  if (mayServeDemo) return [found('demo.present', said)]
  return [found('demo.exposed', `${said}, so the service will not start`)]
}

/** Checks Redis, if it is configured. */
export async function checkRedis({ redis: address, service }: Config): Promise<Finding[]> {
  if (!address) return []
  return await orFound('redis.silent', 'Redis does not answer', async () => {
    const redis = await openRedis(address, {
      answerWithinMs: service.storage.answerWithinMs,
      readyTimeoutMs: REDIS_READY_TIMEOUT_MS,
    })
    try {
      await redis.ping()
      const servers = await lookAtDurability(redis)
      const before = Date.now()
      const [seconds = 0, microseconds = 0] = await redis.time()
      const theirsMs = Number(seconds) * 1000 + Number(microseconds) / 1000
      const remarks = servers.flatMap(judgeDurability).map(({ kind, sentence }) => {
        if (kind === 'ok') return ok(sentence)
        // The cure follows the sentence.
        const check = kind === 'wrong' ? 'redis.forgets' : 'redis.loses'
        return found(check, sentence.replace(/\.$/, ''))
      })
      return [ok('Redis answers.'), compareClocks('Redis', theirsMs, before), ...remarks]
    } finally {
      redis.disconnect()
    }
  })
}
