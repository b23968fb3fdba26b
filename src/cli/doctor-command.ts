import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'

import { holdsDemoCampus } from '../campus/load.ts'
import type { Config } from '../config/config.ts'
import { addressOf, nameOfSite, pages, takenSlugs } from '../http/paths.ts'
import { type KeyDependencies, listKeys, readKeyRing } from '../keys/signing-keys.ts'
import type { Database } from '../store/database.ts'
import { readSchemaStatus } from '../store/open-database.ts'
import { locationOf } from '../store/open-stores.ts'
import { openRedis, type RedisClient } from '../store/redis.ts'
import { CommandRefused, keysOf, withDatabase } from './command.ts'
import { monitoringSentences } from './doctor-monitoring.ts'

/** What one look found: how it is, or what is wrong, in a sentence. */
interface Finding {
  readonly kind: 'ok' | 'note' | 'wrong'
  readonly sentence: string
}

const ok = (sentence: string): Finding => ({ kind: 'ok', sentence })
const note = (sentence: string): Finding => ({ kind: 'note', sentence })
const wrong = (sentence: string): Finding => ({ kind: 'wrong', sentence })

/** What a look finds; one that fails is a finding too. */
async function orWrong(complaint: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look()
  } catch (error) {
    return [wrong(`${complaint}: ${error instanceof Error ? error.message : String(error)}`)]
  }
}

/**
 * `doctor`: looks at everything that a service needs, one thing after the other, so that one that
 * is broken hides none of the others. It makes neither a database nor keys.
 *
 * @throws {CommandRefused} with the report, when anything is wrong
 */
export async function diagnose(read: () => Config): Promise<string> {
  const config = read()
  const findings = [
    ok(`The configuration is complete; the issuer is ${config.baseUrl}.`),
    ...(await orWrong('The database does not answer', () => lookAtDatabase(config))),
    ...(await lookAtRedis(config)),
    ...lookAtSecretFile(config),
    ...(await monitoringSentences(config)),
  ]
  const report = findings.map(({ kind, sentence }) => `${kind.padEnd(5)}  ${sentence}`).join('\n')
  const count = findings.filter(({ kind }) => kind === 'wrong').length
  if (count === 0) return report
  throw new CommandRefused(
    report,
    count === 1 ? 'One thing is wrong.' : `${count} things are wrong.`,
  )
}

async function lookAtDatabase(config: Config): Promise<Finding[]> {
  if (!config.databaseUrl && !existsSync(join(config.dataDir, 'gatehouse.db'))) {
    return [note(`There is no database in ${config.dataDir} yet; the first start makes it.`)]
  }
  const { pending } = await readSchemaStatus(locationOf({ ...config, ...config.service.storage }))
  if (pending.length > 0) {
    const names = pending.map(({ name }) => name).join(', ')
    const said = `The schema of the database is behind by ${names}`
    if (config.migrateAtStart) return [note(`${said}; the next start brings it up to date.`)]
    return [wrong(`${said}; run \`npm run gatehouse -- migrate\` before the next start.`)]
  }
  const look = async (database: Database) => [
    ok(`The database (${database.engine}) answers, and its schema is up to date.`),
    ...(await lookAtDatabaseClock(database)),
    ...(await orWrong('The signing keys cannot be used', () => lookAtKeys(config, database))),
    ...(await lookAtSlugs(database)),
    ...(await lookAtDemo(config, database)),
  ]
  return await withDatabase(config, look)
}

async function lookAtDatabaseClock({ engine, kysely }: Database): Promise<Finding[]> {
  // The embedded database has no clock of its own.
  if (engine === 'sqlite') return []
  const before = Date.now()
  const { rows } = await sql<{ ms: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(kysely)
  return [compareClocks('the database', rows[0]?.ms ?? 0, before)]
}

/** Processes whose clocks differ disagree about what has expired. */
const CLOCK_DIFFERENCE_MAX_MS = 2_000

function compareClocks(other: string, theirsMs: number, beforeMs: number): Finding {
  const difference = Math.round(theirsMs - (beforeMs + Date.now()) / 2)
  if (Math.abs(difference) <= CLOCK_DIFFERENCE_MAX_MS) {
    return ok(`The clocks of this machine and of ${other} agree.`)
  }
  return wrong(
    `The clocks of this machine and of ${other} differ by ${Math.abs(difference)} ms; ` +
      'synchronise them, or tokens expire too early or too late.',
  )
}

async function lookAtKeys(config: Config, database: Database): Promise<Finding[]> {
  const { tokens, upstreams } = keysOf(config, database)
  const rows = await listKeys(tokens)
  if (rows.length === 0) return [note('There are no signing keys yet; the first start makes them.')]
  const found = [await lookAtRing(tokens, 'signing keys')]
  // They are made by the first start with a mapping.
  if ((await listKeys(upstreams)).length === 0) return found
  return [...found, await lookAtRing(upstreams, "keys for the platform's own API")]
}

async function lookAtRing(keys: KeyDependencies, name: string): Promise<Finding> {
  const rows = await listKeys(keys)
  const count = (state: string) => rows.filter((row) => row.state === state).length
  if (count('current') !== 1 || count('next') !== 1) {
    const found = `${count('current')} and ${count('next')}`
    return wrong(`Of the ${name} one must sign and one be the next, but there are ${found}.`)
  }
  await readKeyRing(keys)
  return ok(`The ${name} open with this secret; ${rows[0]?.kid} signs.`)
}

/** Sites from before an address of ours took their name. */
async function lookAtSlugs({ kysely }: Database): Promise<Finding[]> {
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
    return note(
      `The address ${own} belongs to something else, so that the pages of the site ${site.id} are at ` +
        `${used}.`,
    )
  })
}

async function lookAtDemo(config: Config, database: Database): Promise<Finding[]> {
  if (!(await holdsDemoCampus(database))) return []
  if (config.mayServeDemo) {
    return [note('The database holds the demo campus, whose passwords are public.')]
  }
  return [
    wrong(
      'The database holds the demo campus, whose passwords are public, so that the service will ' +
        'not start; use an empty database, or set DEMO_DATA=on.',
    ),
  ]
}

/** A person is waiting. */
const REDIS_READY_TIMEOUT_MS = 2_000

async function lookAtRedis({ redis: address, service }: Config): Promise<Finding[]> {
  if (!address) return []
  return await orWrong('Redis does not answer', async () => {
    const redis = await openRedis(address, {
      commandTimeoutMs: service.storage.answerWithinMs,
      readyTimeoutMs: REDIS_READY_TIMEOUT_MS,
    })
    try {
      await redis.ping()
      return [ok('Redis answers.'), await lookAtRedisClock(redis), await lookAtEviction(redis)]
    } finally {
      redis.disconnect()
    }
  })
}

async function lookAtRedisClock(redis: RedisClient): Promise<Finding> {
  const before = Date.now()
  const [seconds = 0, microseconds = 0] = await redis.time()
  return compareClocks('Redis', Number(seconds) * 1000 + Number(microseconds) / 1000, before)
}

/** Redis must refuse writes when it is full, and not forget people's sessions and tokens. */
async function lookAtEviction(redis: RedisClient): Promise<Finding> {
  const memory = await redis.info('memory')
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'unknown'
  const limited = !/^maxmemory:0\s*$/m.test(memory)
  if (!limited || policy === 'noeviction') return ok('Redis keeps what it is given.')
  return wrong(
    `Redis forgets tokens and sessions when its memory is full (maxmemory-policy ${policy}); ` +
      'set it to noeviction.',
  )
}

function lookAtSecretFile({ secrets, dataDir }: Config): Finding[] {
  const file = join(dataDir, 'secret')
  if (secrets || !existsSync(file)) return []
  const readableByOthers = (statSync(file).mode & 0o077) !== 0
  return readableByOthers
    ? [wrong(`Other users of this machine can read ${file}; run chmod 600 ${file}.`)]
    : [ok(`${file} is readable by its owner only.`)]
}
