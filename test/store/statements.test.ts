import { statSync } from 'node:fs'

import BetterSqlite from 'better-sqlite3'
import { sql } from 'kysely'

import { compiled, sendBeforeCommit, type Valued } from '../../src/platform/store/compiled.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import {
  patiently,
  postgresPlace,
  settings,
  sqlitePlace,
  withEveryDatabase,
} from '../support/database.ts'
import { eventually } from '../support/programs.ts'
import { sharedProgram } from '../support/skipped.ts'

withEveryDatabase('A compiled statement', (open) => {
  it('is no part of an open transaction', async () => {
    await using database = await open()
    const { read, write } = settings(database)
    const beside: Promise<unknown>[] = []
    const work = database.kysely.transaction().execute(async (transaction) => {
      await settings({ kysely: transaction }).write({ name: 'inside', value: '1' })
      beside.push(write({ name: 'beside', value: '1' }), read({ name: 'inside' }))
      await new Promise((resolve) => setImmediate(resolve))
      throw new Error('changed my mind')
    })
    expect(await work.catch(String)).to.equal('Error: changed my mind')
    const [, seen] = await Promise.all(beside)
    expect(seen).to.have.deep.property('rows', [])
    expect((await read({ name: 'beside' })).rows).to.have.length(1)
    expect((await read({ name: 'inside' })).rows).to.be.empty
  })

  it('passes the guard once, also beside an open transaction', async () => {
    let calls = 0
    await using database = await open({
      guard: async (call) => {
        calls += 1
        return await call()
      },
    })
    const { read, write } = settings(database)
    await read({ name: 'a' })
    await write({ name: 'a', value: '1' })
    expect(calls).to.equal(2)
    let beside: Promise<unknown> | undefined
    await database.kysely.transaction().execute(async (transaction) => {
      beside = read({ name: 'a' })
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

describe('Statements on SQLite', () => {
  async function open(answerWithinMs = 10_000) {
    const { location } = await sqlitePlace()
    const file = location.kind === 'sqlite' ? location.file : ''
    const database = await openDatabase(location, { answerWithinMs })
    return { file, database, ...settings(database) }
  }

  it('of one turn that write become one transaction', async () => {
    const { file, database, write } = await open()
    await using _ = database
    const before = statSync(`${file}-wal`).size
    await Promise.all(Array.from({ length: 50 }, (_, n) => write({ name: `n${n}`, value: 'a' })))
    // Each transaction writes at least one page.
    expect((statSync(`${file}-wal`).size - before) / 4096).to.be.within(1, 20)
  })

  it('of one turn fail alone', async () => {
    const { database, read, write } = await open()
    await using _ = database
    const outcomes = await Promise.allSettled([
      ...[write({ name: 'a', value: '1' }), write({ name: 'b', value: null as never })],
      ...[read({ name: 'a' }), write({ name: 'c', value: '1' })],
    ])
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect((await read({ name: 'a' })).rows).to.have.length(1)
    expect((await read({ name: 'c' })).rows).to.have.length(1)
  })

  it('that read succeed while another process writes, and those that write all fail', async () => {
    const { file, database, read, write } = await open(50)
    await using _ = database
    const other = new BetterSqlite(file)
    other.exec('begin immediate')
    const outcomes = await Promise.allSettled([
      ...[write({ name: 'a', value: '1' }), read({ name: 'a' })],
      ...[write({ name: 'b', value: '1' }), read({ name: 'b' })],
    ])
    other.close()
    const statuses = outcomes.map(({ status }) => status)
    expect(statuses).to.deep.equal(['rejected', 'fulfilled', 'rejected', 'fulfilled'])
    await write({ name: 'a', value: '1' })
    expect((await read({ name: 'b' })).rows).to.be.empty
  })

  it('that wait when a transaction begins are no part of it', async () => {
    const { database, read, write } = await open()
    await using _ = database
    const waiting = write({ name: 'a', value: '1' })
    await database.kysely
      .transaction()
      .execute(() => Promise.reject(new Error('rolled back')))
      .catch(() => {})
    await waiting
    expect((await read({ name: 'a' })).rows).to.have.length(1)
  })
})

describe('Statements on PostgreSQL', () => {
  const postgres = sharedProgram('postgres')

  async function open(limits: { connectionsMax?: number } = {}) {
    const { location } = await postgresPlace(postgres())
    return await openDatabase({ ...location, ...limits } as typeof location, patiently)
  }

  it('use no more connections than allowed, and each gets its own answer', async () => {
    await using database = await open()
    const { read, write } = settings(database)
    const names = Array.from({ length: 200 }, (_, index) => `name-${index}`)
    await Promise.all(names.map((name) => write({ name, value: name })))
    const found = await Promise.all(names.map((name) => read({ name })))
    expect(found.map(({ rows }) => rows[0]?.value)).to.deep.equal(names)
    expect(await connectionsOf(database)).to.be.at.most(4)
  })

  it('do not block others while they wait for a lock', async () => {
    await using database = await open()
    const { read, write } = settings(database)
    await write({ name: 'a', value: 'before' })
    const valueOfA = async () => (await read({ name: 'a' })).rows[0]?.value
    let waiting: Promise<unknown> | undefined
    await database.kysely.transaction().execute(async (transaction) => {
      await settings({ kysely: transaction }).write({ name: 'a', value: 'inside' })
      waiting = write({ name: 'a', value: 'after' })
      for (let i = 0; i < 20; i += 1) expect(await valueOfA()).to.equal('before')
    })
    await waiting
    expect(await valueOfA()).to.equal('after')
  })

  it('that write share connections, up to four each, so a lock delays few of them', async () => {
    await using database = await open({ connectionsMax: 8 })
    const { write } = settings(database)
    await Promise.all(['a', 'b'].map((name) => write({ name, value: '1' })))
    const waiting: Promise<unknown>[] = []
    await database.kysely.transaction().execute(async (transaction) => {
      await settings({ kysely: transaction }).write({ name: 'a', value: 'inside' })
      for (let i = 0; i < 8; i += 1) waiting.push(write({ name: 'a', value: `${i}` }))
      await write({ name: 'b', value: '1' })
      // Query outside of the transaction. In it, PostgreSQL would repeat the connections that its first query listed.
      const expectTwo = async () => expect(await connectionsOf(database, 'Lock')).to.equal(2)
      await eventually(20_000, expectTwo)
    })
    await Promise.all(waiting)
  })

  it('work with a single connection', async () => {
    await using database = await open({ connectionsMax: 1 })
    const { read, write } = settings(database)
    await Promise.all([write({ name: 'a', value: '1' }), read({ name: 'b' })])
    expect((await read({ name: 'a' })).rows).to.have.length(1)
    expect(await connectionsOf(database)).to.equal(1)
  })

  it('are all answered when a table changes', async () => {
    await using database = await open()
    const { read, write } = settings(database)
    await write({ name: 'a', value: '1' })
    const readOften = () => Promise.all(Array.from({ length: 50 }, () => read({ name: 'a' })))
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
    const outcomes = await Promise.allSettled([1, 0, 1, 0].map((by) => divide({ by })))
    const succeeded = outcomes.map(({ status }) => status === 'fulfilled')
    expect(succeeded).to.deep.equal([true, false, true, false])
  })
})

/** Counts the open connections, or those that wait for an event of this type. */
async function connectionsOf({ kysely }: Database, waitsFor = '%'): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
    where datname = current_database()
    and coalesce(wait_event_type, '') like ${waitsFor}`.execute(kysely)
  return Number(rows[0]?.count)
}
