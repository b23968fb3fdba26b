import { rmSync } from 'node:fs'
import { join } from 'node:path'

import type { CompiledQuery, InsertObject, Kysely, Selectable } from 'kysely'

import { compiled, type Valued } from '../../src/platform/store/compiled-queries.ts'
import type {
  Database,
  DatabaseLocation,
  DatabaseOptions,
} from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import type { Schema } from '../../src/platform/store/schema.ts'
import { type Content, sharedPostgres } from './postgres.ts'
import { temporaryFolder } from './programs.ts'
import { sharedProgram, storesOfRun } from './skipped.ts'

export type Place = AsyncDisposable & { readonly location: DatabaseLocation }

type NewPlace = (options?: { empty?: boolean }) => Promise<Place>

/** A long time limit for store calls, for tests whose subject is not timing. */
export const patiently: DatabaseOptions = { answerWithinMs: 10_000 }

type Open = (options?: DatabaseOptions) => Promise<Database>
type DatabaseSuite = (open: Open, newPlace: NewPlace) => void

/** Runs a suite on each database of the run. Each call of `open` creates a new database. */
export function withDatabases(name: string, suite: DatabaseSuite, stores = storesOfRun): void {
  const opener = (newPlace: NewPlace) => async (options?: DatabaseOptions) =>
    await openAt(await newPlace(), options)
  if (stores.sqlite) describe(`${name} on SQLite`, () => suite(opener(sqlitePlace), sqlitePlace))
  if (stores.servers)
    describe(`${name} on PostgreSQL`, () => {
      const postgres = sharedProgram('postgres')
      const newPlace: NewPlace = ({ empty = false } = {}) =>
        postgresPlace(postgres(), empty ? 'nothing' : 'tables')
      suite(opener(newPlace), newPlace)
    })
}

/** Runs a contract suite on both databases, in every run. */
export function withEveryDatabase(name: string, suite: DatabaseSuite): void {
  withDatabases(name, suite, { sqlite: true, servers: true })
}

/** Opens a new SQLite database in memory. */
export const openInMemory = async () =>
  await openDatabase({ kind: 'sqlite', file: ':memory:' }, patiently)

/** Opens the database of a place. Closing the database also disposes of the place. */
export async function openAt(place: Place, options?: DatabaseOptions): Promise<Database> {
  const database = await openDatabase(place.location, { ...patiently, ...options })
  return {
    ...database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}

/** Opens the embedded database of a service. */
export async function openEmbedded(dataDir: string, options = patiently): Promise<Database> {
  return await openDatabase({ kind: 'sqlite', file: join(dataDir, 'gatehouse.db') }, options)
}

export async function sqlitePlace(): Promise<Place> {
  const folder = temporaryFolder()
  return {
    location: { kind: 'sqlite', file: join(folder, 'gatehouse.sqlite') },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function postgresPlace(file: string, content?: Content): Promise<Place> {
  const url = await (await sharedPostgres(file)).createDatabase(content)
  return {
    location: { kind: 'postgres', url, connectionsMax: 4 },
    async [Symbol.asyncDispose]() {},
  }
}

/** Reads and writes settings with compiled statements, as requests do. */
export function settings({ kysely }: Pick<Database, 'kysely'>) {
  return {
    read: compiled(kysely, (value: Valued<{ name: string }>) =>
      kysely.selectFrom('setting').selectAll().where('name', '=', value('name')),
    ),
    write: compiled(kysely, (value: Valued<{ name: string; value: string }>) =>
      kysely
        .insertInto('setting')
        .values({ name: value('name'), value: value('value'), updated_at: 1 })
        .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: value('value') })),
    ),
  }
}

/** Returns the database with a plugin that records its statements in `asked` and their row counts in `counts`. */
export function watched(database: Database, asked: CompiledQuery[], counts: number[] = []) {
  const { kysely } = database
  const watching = kysely.withPlugin({
    transformQuery({ node, queryId }) {
      asked.push(kysely.getExecutor().compileQuery(node, queryId))
      return node
    },
    async transformResult({ result }) {
      counts.push(result.rows.length)
      return result
    },
  })
  return { ...database, kysely: watching }
}

export async function insert<Name extends keyof Schema>(
  kysely: Kysely<Schema>,
  table: Name,
  rows: InsertObject<Schema, Name> | InsertObject<Schema, Name>[],
) {
  await kysely.insertInto(table).values(rows).execute()
}

type Row<Name extends keyof Schema> = Selectable<Schema[Name]>

type AnyTables = Kysely<Record<string, Record<string, unknown>>>

/** Reads the rows whose columns have these values. */
export async function rowsOf<Name extends keyof Schema>(
  ...[kysely, table, where = {}]: [Kysely<Schema>, Name, Partial<Row<Name>>?]
) {
  const rows = (kysely as unknown as AnyTables).selectFrom(table as string).selectAll()
  return (await rows.where((e) => e.and(where)).execute()) as Row<Name>[]
}

/** Reads the first row whose columns have these values, and fails if there is none. */
export async function rowOf<Name extends keyof Schema>(
  ...[kysely, table, where]: Parameters<typeof rowsOf<Name>>
) {
  const [row] = await rowsOf(kysely, table, where)
  if (row === undefined) throw new Error(`no such row in ${table}`)
  return row
}

export async function change<Name extends keyof Schema>(
  ...[kysely, table, where, values]: [Kysely<Schema>, Name, Partial<Row<Name>>, Partial<Row<Name>>]
) {
  const update = (kysely as unknown as AnyTables).updateTable(table as string).set(values)
  await update.where((e) => e.and(where)).execute()
}

type ListColumn = 'redirect_uris' | 'post_logout_redirect_uris' | 'scopes'

/** Changes one of the lists in the row of an application, such as its redirect URIs. */
export async function editList(
  kysely: Kysely<Schema>,
  client_id: string,
  column: ListColumn,
  edit: (list: string[]) => string[],
) {
  const row = await rowOf(kysely, 'oauth_application', { client_id })
  const list = JSON.stringify(edit(JSON.parse(row[column])))
  await change(kysely, 'oauth_application', { client_id }, { [column]: list })
}

export async function remove<Name extends keyof Schema>(
  ...[kysely, table, where = {}]: Parameters<typeof rowsOf<Name>>
) {
  const rows = (kysely as unknown as AnyTables).deleteFrom(table as string)
  await rows.where((e) => e.and(where)).execute()
}
