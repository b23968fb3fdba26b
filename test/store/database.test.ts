import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { sql } from 'kysely'

import type { DatabaseLocation } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { insert, withEveryDatabase } from '../support/database.ts'
import { inTime } from '../support/in-time.ts'
import { race, temporaryFolder } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'
import { shared } from '../support/shared.ts'

const ownMigrations = join(import.meta.dirname, '../../src/platform/store/migrations')

const person = (id: string, email: string) =>
  `insert into person (id, email, email_canonical, name, created_at)
   values ('${id}', '${email}', '${email.toLowerCase()}', 'Ada', 1700000000000)`
const site = `insert into site (id, slug, name, created_at) values ('sit_1', 'pottery', 'Pottery', 1)`
const feature = `insert into site_feature (site_id, feature, enabled_at)
  values ('sit_1', 'mcp_connections', 1)`
const key = (kid: string, state: string) =>
  `insert into signing_key (kid, state, sealed_private, created_at)
   values ('${kid}', '${state}', '', 1)`
const ada = person('per_1', 'ada@b')
const role = (name: string) => `insert into site_role values ('per_1', 'sit_1', '${name}', 1)`
const keys = [key('a', 'retired'), key('b', 'retired'), key('c', 'current'), key('d', 'current')]

withEveryDatabase('The database', (open, newPlace) => {
  const database = shared(open)

  for (const [what, statements, why] of [
    ['a second person for an address in other case', [ada, person('per_2', 'Ada@b')], /unique/i],
    ['an unknown role', [ada, site, role('king')], /check constraint/i],
    ['a row without its parent', [feature], /foreign key/i],
    ['a second current signing key', keys, /unique/i],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const work = database()
        .kysely.transaction()
        .execute(async (transaction) => {
          const execute = (statement = '') => sql.raw(statement).execute(transaction)
          for (const statement of statements.slice(0, -1)) await execute(statement)
          throw new Error('the last one', { cause: await rejection(execute(statements.at(-1))) })
        })
      const { message, cause } = await rejection(work)
      expect(message).to.equal('the last one')
      expect(String(cause)).to.match(why)
    })
  }

  it('has exactly the columns of the types', async () => {
    const columns = (await database().kysely.introspection.getTables())
      .filter(({ isView }) => !isView)
      .flatMap(({ name, columns }) =>
        columns.map((column) => `${name}.${column.name}${column.isNullable ? '?' : ''}`),
      )
    expect(columns.sort()).to.deep.equal(columnsOfTypes())
  })

  it('gives up waiting for a lock within the query timeout, and works again afterwards', async () => {
    await using place = await newPlace()
    await using one = await openDatabase(place.location)
    await using two = await openDatabase(place.location, { answerWithinMs: 100 })
    await one.kysely.transaction().execute(async (kysely) => {
      await insert(kysely, 'setting', setting('a'))
      await inTime(400, () => rejection(insert(two.kysely, 'setting', setting('a'))))
    })
    await insert(two.kysely, 'setting', setting('b'))
  })

  describe('when it migrates', () => {
    it('once: a second start is a no-op, but refuses an applied file that was changed', async () => {
      await using place = await newPlace({ empty: true })
      const first = await appliedAfterOpening(place.location, () => 1)
      expect(first).to.deep.equal(await appliedAfterOpening(place.location, () => 2))
      expect(first).to.have.nested.property('[0].applied_at', 1)
      const migrationsFolder = migrationsWith('0001-schema.sql', 'create table other (id text);')
      const opening = openDatabase(place.location, { migrationsFolder })
      expect((await rejection(opening)).message).to.match(/0001-schema\.sql was changed/)
    })

    it('once when three processes start together', async () => {
      await using place = await newPlace({ empty: true })
      const task = { task: 'migrate', location: place.location } as const
      expect(await race(task, task, task)).to.deep.equal([])
    })

    it('undoes a file that fails, and refuses a database from which a newer version removed something', async () => {
      await using place = await newPlace()
      const broken = 'create table half (id text);\ninsert into nowhere values (1);'
      const failing = { migrationsFolder: migrationsWith('0999-broken.sql', broken) }
      await rejection(openDatabase(place.location, failing))
      const later = migrationsWith('0999-later.contract.sql', 'drop table site_feature;')
      await using database = await openDatabase(place.location, { migrationsFolder: later })
      const tables = await database.kysely.introspection.getTables()
      expect(tables.map(({ name }) => name)).not.to.include('half')
      const error = await rejection(openDatabase(place.location))
      expect(error.message).to.match(/0999-later\.contract\.sql.*newer version/)
    })
  })
})

it('The SQLite file belongs to its owner alone, and is durable to the last acknowledged write', async () => {
  const file = join(temporaryFolder(), 'deep', 'data', 'gatehouse.sqlite')
  await using database = await openDatabase({ kind: 'sqlite', file })
  expect(statSync(file).mode & 0o777).to.equal(0o600)
  expect(statSync(dirname(file)).mode & 0o777).to.equal(0o700)
  const expected = { synchronous: 2, journal_mode: 'wal', foreign_keys: 1 }
  for (const [pragma, value] of Object.entries(expected)) {
    const { rows } = await sql.raw(`pragma ${pragma}`).execute(database.kysely)
    expect(rows[0]).to.deep.equal({ [pragma]: value })
  }
})

const setting = (name: string) => ({ name, value: '1', updated_at: 1 })

async function appliedAfterOpening(location: DatabaseLocation, now: () => number) {
  await using database = await openDatabase(location, { now })
  return await database.kysely.selectFrom('schema_migration').selectAll().execute()
}

function migrationsWith(name: string, text: string): string {
  const folder = temporaryFolder()
  cpSync(ownMigrations, folder, { recursive: true })
  writeFileSync(join(folder, name), text)
  return folder
}

function columnsOfTypes(): string[] {
  const text = ['schema.ts', 'oauth-tables.ts']
    .map((file) => readFileSync(join(ownMigrations, '..', file), 'utf8'))
    .join('\n')
  const columnsIn = (body: string): string[] =>
    [...body.matchAll(/(\w+): ([^\n{};]+?) *[\n};]/g)].map(
      ([, column, kind]) => `${column}${kind?.endsWith('| null') ? '?' : ''}`,
    )
  // Columns that several tables share have their own interface: `Shared & { … }`.
  const columnsOf = (type: string): string[] =>
    type.split(/ &\s+/).flatMap((part) => {
      const [, body = part] = text.split(`interface ${part} `)
      return columnsIn(body.slice(0, body.indexOf('}') + 1))
    })
  const lists = text.matchAll(
    /export interface (?:Schema extends OAuthTables|OAuthTables) \{\n(.*?)\n\}/gs,
  )
  return [...lists]
    .flatMap(([, list = '']) => [...list.matchAll(/^ {2}(\w+): (\w+|.*?\})$/gms)])
    .flatMap(([, table, type = '']) => columnsOf(type).map((column) => `${table}.${column}`))
    .sort()
}
