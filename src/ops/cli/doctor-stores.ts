import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'

import type { Config } from '../../config/config.ts'
import { type KeyDependencies, listKeys, readKeyRing } from '../../oauth/keys/keys.ts'
import { addressOf, nameOfSite, pages, takenSlugs } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import { locationOf, readSchemaStatus } from '../../platform/store/open-stores.ts'
import { type Finding, found, ok } from '../doctor/checks.ts'
import { platformFacts, readClientFacts } from '../doctor/client-facts.ts'
import { judgeClients } from '../doctor/judge-clients.ts'
import { holdsDemoCampus } from '../import/demo-campus.ts'
import { keysOf, withDatabase } from './command.ts'
import { compareClocks, orFound } from './doctor-looks.ts'

/** What doctor finds in the database, or that there is none. */
export async function lookAtDatabase(config: Config): Promise<Finding[]> {
  return await orFound('database.silent', 'The database does not answer', () =>
    lookIntoDatabase(config),
  )
}

async function lookIntoDatabase(config: Config): Promise<Finding[]> {
  if (!config.databaseUrl && !existsSync(join(config.dataDir, 'gatehouse.db'))) {
    return [found('database.absent', `There is no database in ${config.dataDir} yet`)]
  }
  const { pending } = await readSchemaStatus(locationOf({ ...config, ...config.service.storage }))
  if (pending.length > 0) {
    const names = pending.map(({ name }) => name).join(', ')
    const said = `The schema of the database is behind by ${names}`
    return [found(config.migrateAtStart ? 'schema.before-start' : 'schema.behind', said)]
  }
  const look = async (database: Database, now: () => number) => [
    ok(`The database (${database.engine}) answers, and its schema is up to date.`),
    ...(await lookAtDatabaseClock(database)),
    ...(await lookAtWrites(database)),
    ...(await orFound('keys.unusable', 'The signing keys cannot be used', () =>
      lookAtKeys(config, { database, now }),
    )),
    ...(await lookAtClients(config, database)),
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

/** What PostgreSQL does with a write: whether it takes any, and whether it has it on the disk when it says so. */
async function lookAtWrites({ engine, kysely }: Database): Promise<Finding[]> {
  // The embedded database is opened for writing, with settings of ours.
  if (engine === 'sqlite') return []
  const findings: Finding[] = []
  const { rows } = await sql<{ name: string; setting: string }>`
    select name, setting from pg_settings
    where name in ('transaction_read_only', 'fsync', 'full_page_writes', 'synchronous_commit')
    order by name`.execute(kysely)
  const off = rows.filter(({ setting }) => setting === 'off').map(({ name }) => name)
  if (!off.includes('transaction_read_only')) {
    findings.push(found('database.read-only', 'The database takes no writes'))
  }
  const lost = off.filter((name) => name !== 'transaction_read_only')
  if (lost.length > 0) {
    const sentence = `PostgreSQL acknowledges what it does not have on the disk: ${lost.join(', ')} off`
    findings.push(found('database.loses', sentence))
  }
  return findings
}

async function lookAtKeys(
  config: Config,
  ports: Pick<KeyDependencies, 'database' | 'now'>,
): Promise<Finding[]> {
  const { tokens, upstreams } = keysOf(config, ports)
  const rows = await listKeys(tokens)
  if (rows.length === 0) return [found('keys.absent', 'There are no signing keys yet')]
  const rings = [await lookAtRing(tokens, 'signing keys')]
  // They are made by the first start with a mapping.
  if ((await listKeys(upstreams)).length === 0) return rings
  return [...rings, await lookAtRing(upstreams, "keys for the platform's own API")]
}

async function lookAtRing(keys: KeyDependencies, name: string): Promise<Finding> {
  const rows = await listKeys(keys)
  const count = (state: string) => rows.filter((row) => row.state === state).length
  if (count('current') !== 1 || count('next') !== 1) {
    const counts = `${count('current')} and ${count('next')}`
    return found(
      'keys.unusable',
      `Of the ${name} one must sign and one be the next, but there are ${counts}`,
    )
  }
  await readKeyRing(keys)
  return ok(`The ${name} open with this secret; ${rows[0]?.kid} signs.`)
}

/** Every client that an operator made, and the platforms of the configuration. */
async function lookAtClients(config: Config, database: Database): Promise<Finding[]> {
  const now = Date.now()
  const clients = [
    ...(await readClientFacts(database, { now })),
    ...config.integrations.map(platformFacts),
  ]
  return judgeClients(clients, { now, privateKeyJwt: config.service.furtherPlans.privateKeyJwt })
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
    return found(
      'site.renamed',
      `The address ${own} belongs to something else, so that the pages of the site ${site.id} are at ` +
        `${used}`,
    )
  })
}

async function lookAtDemo(config: Config, database: Database): Promise<Finding[]> {
  if (!(await holdsDemoCampus(database))) return []
  if (config.mayServeDemo) {
    return [found('demo.present', 'The database holds the demo campus, whose passwords are public')]
  }
  return [
    found(
      'demo.exposed',
      'The database holds the demo campus, whose passwords are public, so that the service will ' +
        'not start',
    ),
  ]
}
