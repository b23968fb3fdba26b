import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'

import { compiled, type Valued } from '../../src/platform/store/compiled-queries.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { isStoreFailure, type StoreGuard } from '../../src/platform/store/guarded-stores.ts'
import { BUSY_LIMITS_MAX, StorageTimeout } from '../../src/platform/store/storage-timeout.ts'
import { ChangeRefused } from '../../src/school/changes/refusals.ts'
import { insert, withEveryDatabase } from '../support/database.ts'
import { rejection } from '../support/rejection.ts'

function listening() {
  const heard: boolean[] = []
  const guard: StoreGuard = async (call, isFailure) =>
    await call().catch((error: unknown) => {
      heard.push(isFailure(error))
      throw error
    })
  return { heard, guard }
}

const setting = { name: 'twice', value: '1', updated_at: 1 }

/** Errors of our own code, which must not count as failures of the store. */
const mistakes: Record<string, (database: Database) => Promise<unknown>> = {
  'an invalid statement': ({ kysely }) => sql`selec 1`.execute(kysely),
  'an unknown column': ({ kysely }) => sql`select nothing from setting`.execute(kysely),
  'a row that violates a unique index': ({ kysely }) =>
    insert(kysely, 'setting', [setting, setting]),
  'a compiled statement that violates one': async ({ kysely }) => {
    const add = compiled(kysely, (value: Valued<{ name: string }>) =>
      kysely.insertInto('setting').values({ ...setting, name: value('name') }),
    )
    await add({ name: 'again' })
    await add({ name: 'again' })
  },
  'an invalid statement in a transaction': ({ kysely }) =>
    kysely.transaction().execute(async (trx) => await sql`selec 1`.execute(trx)),
  'a refusal in a transaction': ({ kysely }) =>
    kysely.transaction().execute(() => Promise.reject(new ChangeRefused('CONFLICT', 'no'))),
  'another error in a transaction': ({ kysely }) =>
    kysely.transaction().execute(async (trx) => {
      await sql`select 1`.execute(trx)
      throw new Error('changed my mind')
    }),
}

withEveryDatabase('An error that passes the guard of a store', (open) => {
  for (const [what, work] of Object.entries(mistakes)) {
    it(`is not a failure of the store: ${what}`, async () => {
      const { heard, guard } = listening()
      await using database = await open({ guard })
      expect(await work(database).catch((error: unknown) => error)).to.be.an('error')
      expect(heard).to.deep.equal([false])
    })
  }

  it('is a failure of the store when the store is closed, for a query, a compiled one and a transaction', async () => {
    const { heard, guard } = listening()
    const database = await open({ guard })
    const { kysely } = database
    const read = compiled(kysely, () => kysely.selectFrom('setting').selectAll())
    await read({})
    await kysely.transaction().execute(async (trx) => await sql`select 1`.execute(trx))
    await database[Symbol.asyncDispose]()
    await rejection(sql`select 1`.execute(kysely))
    await rejection(read({}))
    await rejection(kysely.transaction().execute(async () => {}))
    expect(heard).to.deep.equal([true, true, true])
  })
})

describe('Whether an error is a failure of the store', () => {
  const coded = (code: string, text = 'said') => Object.assign(new Error(text), { code })
  const said = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })

  const failures = {
    'SQLite is locked by another connection': coded('SQLITE_BUSY_SNAPSHOT'),
    'the disk is full': coded('SQLITE_FULL'),
    'the disk is broken': coded('SQLITE_IOERR_WRITE'),
    'the file is broken': coded('SQLITE_CORRUPT'),
    'a trigger of an operator aborts': coded('SQLITE_CONSTRAINT_TRIGGER'),
    'a trigger of an operator aborts in PostgreSQL': coded('P0001'),
    'PostgreSQL refused the connection': coded('ECONNREFUSED'),
    'the connection broke while it was written to': coded('EPIPE'),
    'PostgreSQL did not answer in time': new Error('PostgreSQL did not respond in time.'),
    'the query was cancelled': coded('57014'),
    'PostgreSQL shuts down': coded('57P01'),
    'there are too many connections': coded('53300'),
    'two transactions deadlocked': coded('40P01'),
    'the server became a replica': coded('25006'),
    'its password was changed': coded('28P01'),
    'the role may not read a table': coded('42501'),
    'a table is missing': coded('42P01'),
    'a table is missing in SQLite': coded('SQLITE_ERROR', 'no such table: site'),
    'Redis is loading': said('LOADING Redis is loading the dataset in memory'),
    'Redis became a replica': said("READONLY You can't write against a read only replica."),
    'Redis has no memory left': said('OOM command not allowed'),
    'Redis has too many clients': said('ERR max number of clients reached'),
    'anything unknown': 'gone',
  }
  const ours = {
    'a foreign key': coded('SQLITE_CONSTRAINT_FOREIGNKEY'),
    'the wrong type': coded('SQLITE_MISMATCH'),
    'a value that is too long': coded('22001'),
    'a statement after one that failed': coded('25P02'),
    'the wrong kind of key': said('WRONGTYPE Operation against a key'),
    'the wrong number of arguments': said("ERR wrong number of arguments for 'set' command"),
    'a mistake in the code': new TypeError('x is not a function'),
    'an endless recursion': new RangeError('Maximum call stack size exceeded'),
  }
  for (const [what, error] of Object.entries(failures))
    it(`it is: ${what}`, () => expect(isStoreFailure(error)).to.equal(true))
  for (const [what, error] of Object.entries(ours))
    it(`it is not: ${what}`, () => expect(isStoreFailure(error)).to.equal(false))
})

it('the time limit ends calls to a silent store, and later also calls to a store that responds to others', async () => {
  const LIMIT_MS = 50
  const timeout = new StorageTimeout(LIMIT_MS)
  const startedMs = performance.now()
  const ended: [string, number][] = []
  const end = (name: string) => ended.push([name, (performance.now() - startedMs) / LIMIT_MS])
  timeout.start(() => end('silent'))
  await delay(3 * LIMIT_MS)
  expect(ended.map(([name]) => name)).to.deep.equal(['silent'])

  timeout.start(() => end('busy'))
  const failing = timeout.start(() => end('failing'))
  timeout.stop(failing, false)
  for (let turn = 0; turn < 100 && ended.length < 2; turn += 1) {
    const other = timeout.start(() => end('other'))
    await delay(LIMIT_MS / 5)
    timeout.stop(other, true)
  }
  const [, [name, limits] = ['', 0]] = ended
  expect(name).to.equal('busy')
  expect(limits).to.be.above(BUSY_LIMITS_MAX)
})
