import { statSync } from 'node:fs'

import BetterSqlite from 'better-sqlite3'
import { sql } from 'kysely'

import {
  compiled,
  sendBeforeCommit,
  type Valued,
} from '../../src/platform/store/compiled-queries.ts'
import type { Database } from '../../src/platform/store/database.ts'
import type { StoreGuard } from '../../src/platform/store/guarded-stores.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { postgresPlace, settings, sqlitePlace, withEveryDatabase } from '../support/database.ts'
import { eventually } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'
import { sharedProgram } from '../support/skipped.ts'

/** Extends a database with compiled statements for settings. */
const withSettings = (database: Database) => ({ ...database, ...settings(database) })

withEveryDatabase('A compiled statement', (open) => {
  it('does not become part of an open transaction', async () => {
    await using database = withSettings(await open())
    const beside: Promise<unknown>[] = []
    const work = database.kysely.transaction().execute(async (transaction) => {
      await settings({ kysely: transaction }).write({ name: 'inside', value: '1' })
      beside.push(database.write({ name: 'beside', value: '1' }), database.read({ name: 'inside' }))
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('changed my mind')
    })
    expect(await work.catch(String)).to.equal('Error: changed my mind')
    const [, seen] = await Promise.all(beside)
    expect(seen).to.have.deep.property('rows', [])
    expect((await database.read({ name: 'beside' })).rows).to.have.length(1)
    expect((await database.read({ name: 'inside' })).rows).to.be.empty
  })

  it('passes the guard once, also beside an open transaction', async () => {
    let calls = 0
    const guard: StoreGuard = async (call) => {
      calls += 1
      return await call()
    }
    await using database = withSettings(await open({ guard }))
    await database.read({ name: 'a' })
    await database.write({ name: 'a', value: '1' })
    expect(calls).to.equal(2)
    let beside: Promise<unknown> | undefined
    await database.kysely.transaction().execute(async (transaction) => {
      beside = database.read({ name: 'a' })
      await settings({ kysely: transaction }).read({ name: 'a' })
    })
    await beside
    expect(calls).to.equal(4)
  })
})

withEveryDatabase('Last statements of a transaction', (open) => {
  it('are committed, or fail the transaction with their error', async () => {
    await using database = await open()
    const { kysely, engine } = database
    const writeAll = async (names: readonly (string | null)[]) =>
      await kysely.transaction().execute(async (trx) => {
        const writes = names.map((name) =>
          sql`insert into setting (name, value, updated_at) values (${name}, '1', 1)`.compile(trx),
        )
        await sendBeforeCommit(trx, engine, writes)
        return names
      })
    expect(await writeAll(['a', 'b'])).to.deep.equal(['a', 'b'])
    const error = await writeAll(['c', null, 'd']).catch((reason: unknown) => reason)
    expect(String(error)).to.match(/not.null/i)
    const rows = await kysely.selectFrom('setting').select('name').orderBy('name').execute()
    expect(rows.map(({ name }) => name).filter((name) => name.length === 1)).to.eql(['a', 'b'])
    expect(await writeAll(['e'])).to.deep.equal(['e'])
  })
})

const statusesOf = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map(({ status }) => status)

describe('Statements on SQLite', () => {
  async function open(answerWithinMs = 10_000) {
    const { location } = await sqlitePlace()
    const file = location.kind === 'sqlite' ? location.file : ''
    return { file, ...withSettings(await openDatabase(location, { answerWithinMs })) }
  }

  it('that write in one turn of the event loop become one transaction', async () => {
    await using database = await open()
    const before = statSync(`${database.file}-wal`).size
    const write = async (_: unknown, n: number) =>
      await database.write({ name: `n${n}`, value: 'a' })
    await Promise.all(Array.from({ length: 50 }, write))
    // Each transaction writes at least one page.
    expect((statSync(`${database.file}-wal`).size - before) / 4096).to.be.within(1, 20)
  })

  it('of one turn of the event loop fail individually', async () => {
    await using database = await open()
    const statuses = await statusesOf([
      database.write({ name: 'a', value: '1' }),
      database.write({ name: 'b', value: null as never }),
      database.read({ name: 'a' }),
      database.write({ name: 'c', value: '1' }),
    ])
    expect(statuses).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect((await database.read({ name: 'a' })).rows).to.have.length(1)
    expect((await database.read({ name: 'c' })).rows).to.have.length(1)
  })

  it('that read succeed while another process writes, and those that write all fail', async () => {
    await using database = await open(50)
    const other = new BetterSqlite(database.file)
    other.exec('begin immediate')
    const statuses = await statusesOf([
      ...[database.write({ name: 'a', value: '1' }), database.read({ name: 'a' })],
      ...[database.write({ name: 'b', value: '1' }), database.read({ name: 'b' })],
    ])
    other.close()
    expect(statuses).to.deep.equal(['rejected', 'fulfilled', 'rejected', 'fulfilled'])
    await database.write({ name: 'a', value: '1' })
    expect((await database.read({ name: 'b' })).rows).to.be.empty
  })

  it('that wait when a transaction begins do not become part of it', async () => {
    await using database = await open()
    const waiting = database.write({ name: 'a', value: '1' })
    const rolledBack = () => Promise.reject(new Error('rolled back'))
    await rejection(database.kysely.transaction().execute(rolledBack))
    await waiting
    expect((await database.read({ name: 'a' })).rows).to.have.length(1)
  })
})

describe('Statements on PostgreSQL', () => {
  const postgres = sharedProgram('postgres')

  async function open(limits: { connectionsMax?: number } = {}) {
    const { location } = await postgresPlace(postgres())
    const options = { answerWithinMs: 10_000 }
    return withSettings(await openDatabase({ ...location, ...limits } as typeof location, options))
  }

  it('use no more connections than allowed, and each gets its own answer', async () => {
    await using database = await open()
    const names = Array.from({ length: 200 }, (_, index) => `name-${index}`)
    await Promise.all(names.map((name) => database.write({ name, value: name })))
    const found = await Promise.all(names.map((name) => database.read({ name })))
    expect(found.map(({ rows }) => rows[0]?.value)).to.deep.equal(names)
    expect(await connectionsOf(database)).to.be.at.most(4)
  })

  it('do not block others while they wait for a lock', async () => {
    await using database = await open()
    await database.write({ name: 'a', value: 'before' })
    const valueOfA = async () => (await database.read({ name: 'a' })).rows[0]?.value
    let waiting: Promise<unknown> | undefined
    await database.kysely.transaction().execute(async (transaction) => {
      await settings({ kysely: transaction }).write({ name: 'a', value: 'inside' })
      waiting = database.write({ name: 'a', value: 'after' })
      for (let i = 0; i < 20; i += 1) expect(await valueOfA()).to.equal('before')
    })
    await waiting
    expect(await valueOfA()).to.equal('after')
  })

  it('that write share connections, up to four each, so a lock delays few of them', async () => {
    await using database = await open({ connectionsMax: 8 })
    await Promise.all(['a', 'b'].map((name) => database.write({ name, value: '1' })))
    const waiting: Promise<unknown>[] = []
    await database.kysely.transaction().execute(async (transaction) => {
      await settings({ kysely: transaction }).write({ name: 'a', value: 'inside' })
      for (let i = 0; i < 8; i += 1) waiting.push(database.write({ name: 'a', value: `${i}` }))
      await database.write({ name: 'b', value: '1' })
      // Query outside the transaction. Inside it, PostgreSQL would repeat the result of the first query.
      const expectTwo = async () => expect(await connectionsOf(database, 'Lock')).to.equal(2)
      await eventually(20_000, expectTwo)
    })
    await Promise.all(waiting)
  })

  it('work with a single connection', async () => {
    await using database = await open({ connectionsMax: 1 })
    await Promise.all([database.write({ name: 'a', value: '1' }), database.read({ name: 'b' })])
    expect((await database.read({ name: 'a' })).rows).to.have.length(1)
    expect(await connectionsOf(database)).to.equal(1)
  })

  it('are all answered when a table changes', async () => {
    await using database = await open()
    await database.write({ name: 'a', value: '1' })
    const readOften = () =>
      Promise.all(Array.from({ length: 50 }, () => database.read({ name: 'a' })))
    await readOften()
    await sql`alter table setting add column of_a_newer_version text`.execute(database.kysely)
    for (const { rows } of [...(await readOften()), ...(await readOften())])
      expect(rows).to.have.length(1)
    // Connections with statements prepared for the old table are closed.
    await eventually(20_000, async () => expect(await connectionsOf(database)).to.be.at.most(4))
  })

  it('fail alone', async () => {
    await using database = await open()
    const divide = compiled(database.kysely, (value: Valued<{ by: number }>) =>
      database.kysely.selectNoFrom(sql<number>`1 / ${value('by')}::integer`.as('quotient')),
    )
    const statuses = await statusesOf([1, 0, 1, 0].map((by) => divide({ by })))
    expect(statuses).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  })
})

/** Counts the open connections, or those that wait for an event of this type. */
async function connectionsOf({ kysely }: Database, waitsFor = '%'): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
    where datname = current_database()
    and coalesce(wait_event_type, '') like ${waitsFor}`.execute(kysely)
  return Number(rows[0]?.count)
}
