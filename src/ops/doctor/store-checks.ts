import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'

import type { Config } from '../../config/config.ts'
import { listKeys, openKeys, readKeyRing } from '../../oauth/keys/key-rings.ts'
import { addressOf, nameOfSite, pages, takenSlugs } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import { locationOf, readSchemaStatus } from '../../platform/store/open-stores.ts'
import { judgeDurability, readDurability } from '../../platform/store/redis-durability.ts'
import { findRestore } from '../../platform/store/restore-marker.ts'
import { diskPath, storageKey } from '../../school/files/file-storage.ts'
import { isSharedFolder } from '../../school/files/shared-folder.ts'
import { openRedisOf, withDatabase } from '../cli/configured-stores.ts'
import { countUnreadable } from '../cli/sealed-secrets.ts'
import { holdsDemoCampus } from '../import/demo-campus.ts'
import { type CheckName, type Findings, found, ok } from './checks.ts'
import { checkClients } from './client-checks.ts'
import { checkOutbox, checkProxy } from './machine-checks.ts'

/** Checks the database, and what depends on its data, such as keys, clients, files and waiting mail. */
export async function* checkDatabase(config: Config): Findings {
  const file = join(config.dataDir, 'gatehouse.db')
  const check = config.databaseUrl ? 'database.silent' : 'database.unusable'
  yield* orFound(check, 'The database cannot be used', async function* () {
    if (!config.databaseUrl && !existsSync(file)) {
      return yield found('database.absent', `There is no database in ${config.dataDir} yet`)
    }
    const { pending } = await readSchemaStatus(locationOf(config))
    if (pending.length > 0) {
      const names = pending.map(({ name }) => name).join(', ')
      const sentence = `The database schema has pending migrations: ${names}`
      return yield found(config.migrateAtStart ? 'schema.before-start' : 'schema.behind', sentence)
    }
    yield* await withDatabase(config, 'reads', async (database, now) =>
      Array.fromAsync(checkOpenDatabase(config, database, now)),
    )
  })
}

async function* checkOpenDatabase(config: Config, database: Database, now: () => number): Findings {
  yield ok(`The database (${database.engine}) responds, and its schema is up to date.`)
  // Check only PostgreSQL, because Gatehouse itself configures the durability of SQLite.
  if (database.engine !== 'sqlite') yield* checkPostgres(database)
  yield* orFound('keys.unusable', 'The signing keys cannot be used', () =>
    checkKeys(config, database, now),
  )
  yield* checkSecrets(config, database, now)
  yield* await checkClients(database)
  yield* checkSlugs(database)
  yield* checkProxy(config, database, now)
  yield* checkFiles(config, database)
  yield* orFound('redis.silent', 'Redis does not respond', () => checkRestore(config, database))
  yield* checkDemo(config, database)
  yield* checkHashes(config, database)
  yield* checkOutbox(database, now)
}

/** Runs a check. If it throws, the error becomes its only finding. */
async function* orFound(check: CheckName, problem: string, run: () => Findings): Findings {
  try {
    yield* await Array.fromAsync(run())
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    yield found(check, `${problem}: ${reason.replace(/\.$/, '')}`)
  }
}

/** Checks that PostgreSQL accepts writes and commits durably. */
async function* checkPostgres({ kysely }: Database): Findings {
  const { rows } = await sql<{ name: string }>`
    select name from pg_settings
    where name in ('transaction_read_only', 'fsync', 'full_page_writes', 'synchronous_commit')
      and setting = 'off'
    order by name`.execute(kysely)
  const off = rows.map(({ name }) => name)
  if (!off.includes('transaction_read_only'))
    yield found('database.read-only', 'The database is read-only')
  const lost = off.filter((name) => name !== 'transaction_read_only')
  if (lost.length > 0) {
    const sentence = `PostgreSQL can lose acknowledged writes (settings that are off: ${lost.join(', ')})`
    yield found('database.loses', sentence)
  }
}

async function* checkKeys(config: Config, database: Database, now: () => number): Findings {
  const { tokens, upstreams } = openKeys(config, { database, now }).signing
  for (const [keys, name] of [
    [tokens, 'signing keys'],
    [upstreams, 'keys for the platform API'],
  ] as const) {
    const rows = await listKeys(keys)
    // The keys for the platform API are created at the first start that needs them.
    if (rows.length === 0 && keys === upstreams) continue
    if (rows.length === 0) return yield found('keys.absent', 'There are no signing keys yet')
    const states = rows.map(({ state }) => state).filter((state) => state !== 'retired')
    if (states.sort().join() === 'current,next') {
      await readKeyRing(keys)
      yield ok(`The root secret can decrypt the ${name}; the current key is ${rows[0]?.kid}.`)
    } else {
      const sentence = `The ${name} must include one current and one next key, but include ${states.join(', ') || 'neither'}`
      yield found('keys.unusable', sentence)
    }
  }
}

/** Finds stored secrets, other than signing keys, that no configured root secret can decrypt. */
async function* checkSecrets(config: Config, database: Database, now: () => number): Findings {
  const counts = await countUnreadable(
    database.kysely,
    openKeys(config, { database, now }).secretRoot,
  )
  if (counts.length === 0) return
  const sentence = 'Stored secrets cannot be decrypted, because a root secret was removed'
  yield found('secrets.unreadable', `${sentence} (${counts.join(', ')})`)
}

/** Finds sites whose slug is also a path of the service. */
async function* checkSlugs({ kysely }: Database): Findings {
  const sites = await kysely
    .selectFrom('site')
    .select(['id', 'slug'])
    .where('slug', 'in', [...takenSlugs])
    .orderBy('slug')
    .execute()
  for (const site of sites) {
    const [own, used] = [site.slug, nameOfSite(site)].map((name) =>
      addressOf(pages.site, { site: name ?? '' }),
    )
    const sentence = `The service itself uses the path ${own}, so the pages of site ${site.id} are at ${used}`
    yield found('site.renamed', sentence)
  }
}

/** Returns the path of an uploaded file, relative to DATA_DIR/files. */
export const pathOfFile = (id: string): string => diskPath(storageKey(id))

/** Checks that DATA_DIR/files has the folder id stored in the database, and every file listed there. No-op with S3. */
async function* checkFiles({ dataDir, filesS3 }: Config, { kysely }: Database): Findings {
  if (filesS3) return
  if (!(await isSharedFolder({ kysely }, join(dataDir, 'files'))))
    yield found('files.other-folder', `${dataDir}/files lacks the folder id stored in the database`)
  const files = await kysely.selectFrom('stored_file').select('id').execute()
  const missing = files.filter(({ id }) => !existsSync(join(dataDir, 'files', pathOfFile(id))))
  if (missing.length === 0) return
  const sentence = `${dataDir}/files lacks ${missing.length} of the files that are listed in the database`
  yield found('files.missing', `${sentence}, such as ${missing[0]?.id}`)
}

async function* checkDemo({ mayServeDemo }: Config, database: Database): Findings {
  if (!(await holdsDemoCampus(database))) return
  const sentence = 'The database contains the demo campus, whose passwords are public'
  if (mayServeDemo) yield found('demo.present', sentence)
  else yield found('demo.exposed', `${sentence}, so the service will not start`)
}

/** Checks that the signer key is set if the database has Firebase password hashes. */
async function* checkHashes({ firebaseSignerKey }: Config, { kysely }: Database): Findings {
  if (firebaseSignerKey !== undefined) return
  const query = kysely.selectFrom('person').select('id').limit(1)
  if (await query.where('password_hash', 'like', '$firescrypt$%').executeTakeFirst()) {
    const sentence =
      'Passwords from Firebase cannot be verified, because FIREBASE_SIGNER_KEY is not set'
    yield found('firebase.key', sentence)
  }
}

/** Checks that Redis, if configured, responds and keeps acknowledged writes. */
export async function* checkRedis(config: Config): Findings {
  yield* orFound('redis.silent', 'Redis does not respond', async function* () {
    const redis = await openRedisOf(config)
    if (!redis) return
    try {
      await redis.ping()
      const servers = await readDurability(redis)
      yield ok('Redis responds.')
      for (const { kind, sentence } of servers.flatMap(judgeDurability)) {
        const check = kind === 'wrong' ? 'redis.forgets' : 'redis.loses'
        // The remedy follows this sentence, so remove the full stop.
        yield kind === 'ok' ? ok(sentence) : found(check, sentence.replace(/\.$/, ''))
      }
    } finally {
      redis.disconnect()
    }
  })
}

/** Reports a database that seems to have been restored without `restore`. `checkRedis` reports Redis errors. */
async function* checkRestore(config: Config, database: Database): Findings {
  const redis = await openRedisOf(config).catch(() => undefined)
  const finding = findRestore({ database, redis, dataDir: config.dataDir })
  const { isOlder, sentence } = await finding.finally(() => redis?.disconnect())
  if (sentence) yield found(isOlder ? 'restore.older' : 'restore.timeline', sentence)
}
