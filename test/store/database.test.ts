import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import type { Database, DatabaseLocation } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import type { WorkerResult, WorkerTask } from '../store-worker.ts'
import { patiently, sqlitePlace, withEveryDatabase } from '../support/database.ts'
import { inTime } from '../support/in-time.ts'
import { race, temporaryFolder } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'

const ownMigrations = join(import.meta.dirname, '../../src/platform/store/migrations')
const worker = join(import.meta.dirname, '../store-worker.ts')

withEveryDatabase('The database', (open, newPlace) => {
  it('answers a ping', async () => {
    await using database = await open()
    await database.ping()
  })

  it('keeps one person for each address, whatever its case', async () => {
    await using database = await open()
    await insertPerson(database, 'per_1', 'ada@example.com')
    const error = await rejection(insertPerson(database, 'per_2', 'Ada@Example.com'))
    expect(error.message).to.match(/unique/i)
  })

  it('refuses a role that does not exist', async () => {
    await using database = await open()
    await insertPerson(database, 'per_1', 'ada@example.com')
    await insertSite(database)
    const error = await rejection(
      sql`insert into site_role values ('per_1', 'sit_1', 'king', 1)`.execute(database.kysely),
    )
    expect(error.message).to.match(/check constraint/i)
  })

  it('refuses a row whose parent does not exist', async () => {
    await using database = await open()
    const row = { site_id: 'sit_none', feature: 'mcp_connections', enabled_at: 1 }
    const insert = database.kysely.insertInto('site_feature').values(row).execute()
    expect((await rejection(insert)).message).to.match(/foreign key/i)
  })

  it('removes with a site what has no meaning without it', async () => {
    await using database = await open()
    await insertSite(database)
    const row = { site_id: 'sit_1', feature: 'mcp_connections', enabled_at: 1 }
    await database.kysely.insertInto('site_feature').values(row).execute()
    await database.kysely.deleteFrom('site').execute()
    expect(await database.kysely.selectFrom('site_feature').selectAll().execute()).to.be.empty
  })

  it('has at most one current signing key', async () => {
    await using database = await open()
    const insert = (kid: string, state: 'current' | 'retired') =>
      database.kysely
        .insertInto('signing_key')
        .values({ kid, state, public_jwk: '{}', sealed_private: '', created_at: 1 })
        .execute()
    await insert('a', 'retired')
    await insert('b', 'retired')
    await insert('c', 'current')
    expect((await rejection(insert('d', 'current'))).message).to.match(/unique/i)
  })

  it('gives epoch milliseconds and counts as numbers', async () => {
    await using database = await open()
    await insertPerson(database, 'per_1', 'ada@example.com')
    const row = await database.kysely
      .selectFrom('person')
      .select(({ fn }) => ['created_at', fn.countAll<number>().as('count')])
      .groupBy('created_at')
      .executeTakeFirstOrThrow()
    expect(row).to.deep.equal({ created_at: 1_700_000_000_000, count: 1 })
  })

  it('has every column that the types know, and no other', async () => {
    await using database = await open()
    const tables = await database.kysely.introspection.getTables()
    const nullable = tables
      .filter(({ isView }) => !isView)
      .flatMap(({ name, columns }) =>
        columns.map((column) => `${name}.${column.name}${column.isNullable ? '?' : ''}`),
      )
      .sort()
    expect(nullable).to.deep.equal(columnsOfTypes())
  })

  it('undoes a transaction that failed, and goes on', async () => {
    await using database = await open()
    const work = database.kysely.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('setting')
        .values({ name: 'a', value: '1', updated_at: 1 })
        .execute()
      throw new Error('changed my mind')
    })
    expect((await rejection(work)).message).to.equal('changed my mind')
    expect(await database.kysely.selectFrom('setting').selectAll().execute()).to.be.empty
  })

  it('lets transactions of two connections both write after reading', async () => {
    await using place = await newPlace()
    await using one = await openDatabase(place.location, patiently)
    await using two = await openDatabase(place.location, patiently)
    for (const [name, database] of [
      ['a', one],
      ['b', two],
    ] as const) {
      await database.kysely.transaction().execute(async (transaction) => {
        await transaction.selectFrom('setting').selectAll().execute()
        await transaction
          .insertInto('setting')
          .values({ name, value: '1', updated_at: 1 })
          .execute()
      })
    }
    expect(await one.kysely.selectFrom('setting').selectAll().execute()).to.have.length(2)
  })

  it('gives up waiting for a lock within the query timeout, and works again after it', async () => {
    await using place = await newPlace()
    await using one = await openDatabase(place.location)
    await using two = await openDatabase(place.location, { answerWithinMs: 100 })
    const value = { name: 'a', value: '1', updated_at: 1 }
    await one.kysely.transaction().execute(async (transaction) => {
      await transaction.insertInto('setting').values(value).execute()
      await inTime(400, () => rejection(two.kysely.insertInto('setting').values(value).execute()))
    })
    await two.kysely
      .insertInto('setting')
      .values({ ...value, name: 'b' })
      .execute()
  })

  describe('migrates', () => {
    it('once: a second start changes nothing', async () => {
      await using place = await newPlace({ empty: true })
      const first = await appliedAfterOpening(place.location, () => 1)
      const second = await appliedAfterOpening(place.location, () => 2)
      expect(first).to.deep.equal(second)
      expect(first).to.have.nested.property('[0].applied_at', 1)
    })

    it('once when three processes start together', async () => {
      await using place = await newPlace({ empty: true })
      const task: WorkerTask = { task: 'migrate', location: place.location }
      const results = await race<WorkerResult>(worker, [task, task, task])
      expect(results).to.deep.equal([{ outcomes: [] }, { outcomes: [] }, { outcomes: [] }])
    })

    it('refuses a file that was changed after it had been applied', async () => {
      await using place = await newPlace()
      await appliedAfterOpening(place.location, () => 1)
      const folder = migrationsWith('0001-schema.sql', 'create table other (id text);')
      const opening = openDatabase(place.location, { migrationsFolder: folder })
      expect((await rejection(opening)).message).to.match(/0001-schema\.sql was changed/)
    })

    it('takes a database to which a newer version only added something', async () => {
      await using place = await newPlace()
      const migrationsFolder = migrationsWith('9999-later.sql', 'create table later (id text);')
      await (await openDatabase(place.location, { migrationsFolder }))[Symbol.asyncDispose]()
      await using database = await openDatabase(place.location)
      await database.ping()
    })

    it('refuses a database that a newer version has used', async () => {
      await using place = await newPlace()
      const migrationsFolder = migrationsWith('0999-later.sql', 'drop table site_feature;')
      await (await openDatabase(place.location, { migrationsFolder }))[Symbol.asyncDispose]()
      const error = await rejection(openDatabase(place.location))
      expect(error.message).to.match(/0999-later\.sql.*newer version/)
    })

    it('leaves nothing of a file that fails', async () => {
      await using place = await newPlace()
      const migrationsFolder = migrationsWith(
        '0999-broken.sql',
        'create table half (id text);\ninsert into nowhere values (1);',
      )
      await rejection(openDatabase(place.location, { migrationsFolder }))
      await using database = await openDatabase(place.location)
      const tables = await database.kysely.introspection.getTables()
      expect(tables.map(({ name }) => name)).not.to.include('half')
    })
  })
})

describe('The SQLite file', () => {
  it('belongs to its owner alone', async () => {
    await using place = await sqlitePlace()
    if (place.location.kind !== 'sqlite') throw new Error('not a file')
    const file = join(dirname(place.location.file), 'deep', 'data', 'gatehouse.sqlite')
    await using _ = await openDatabase({ kind: 'sqlite', file })
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    expect(statSync(dirname(file)).mode & 0o777).to.equal(0o700)
  })

  it('is durable to the last acknowledged write', async () => {
    await using place = await sqlitePlace()
    await using database = await openDatabase(place.location)
    const pragma = async (name: string) =>
      (await sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(database.kysely)).rows[0]
    expect(await pragma('synchronous')).to.deep.equal({ synchronous: 2 })
    expect(await pragma('journal_mode')).to.deep.equal({ journal_mode: 'wal' })
    expect(await pragma('foreign_keys')).to.deep.equal({ foreign_keys: 1 })
  })

  it('can be no file at all, for a test', async () => {
    await using database = await openDatabase({ kind: 'sqlite', file: ':memory:' })
    await insertSite(database)
    expect(await database.kysely.selectFrom('site').select('id').execute()).to.have.length(1)
  })
})

async function insertPerson(database: Database, id: string, email: string): Promise<void> {
  const row = {
    id,
    email,
    email_canonical: email.toLowerCase(),
    name: 'Ada',
    created_at: 1_700_000_000_000,
  }
  await database.kysely.insertInto('person').values(row).execute()
}

async function insertSite(database: Database): Promise<void> {
  const row = { id: 'sit_1', slug: 'pottery', name: 'Pottery', created_at: 1 }
  await database.kysely.insertInto('site').values(row).execute()
}

async function appliedAfterOpening(location: DatabaseLocation, now: () => number) {
  await using database = await openDatabase(location, { now })
  return await database.kysely.selectFrom('schema_migration').selectAll().execute()
}

/** Our own migrations with one file more, or another one in the place of ours. */
function migrationsWith(name: string, text: string): string {
  const folder = temporaryFolder()
  cpSync(ownMigrations, folder, { recursive: true })
  writeFileSync(join(folder, name), text)
  return folder
}

/** `table.column`, with a question mark when it may be null, as the files of types say. */
function columnsOfTypes(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../src/platform/store/schema.ts'), 'utf8')
  const columnsIn = (body: string): string[] =>
    [...body.matchAll(/(\w+): ([^\n{};]+?) *[\n};]/g)].map(
      ([, column, kind]) => `${column}${kind?.endsWith('| null') ? '?' : ''}`,
    )
  // The columns that several tables share stand in an interface of their own: `Shared & { … }`.
  const columnsOf = (type: string): string[] =>
    type.split(' & ').flatMap((part) => {
      const [, body = part] = text.split(`\ninterface ${part} `)
      return columnsIn(body.slice(0, body.indexOf('}') + 1))
    })
  const lists = text.matchAll(/export interface Schema \{\n(.*?)\n\}/gs)
  return [...lists]
    .flatMap(([, list = '']) => [...list.matchAll(/^ {2}(\w+): (\w+|.*?\})$/gms)])
    .flatMap(([, table, type = '']) => columnsOf(type).map((column) => `${table}.${column}`))
    .sort()
}
