import { statSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay, setImmediate as otherWork } from 'node:timers/promises'

import { sql } from 'kysely'
import { pino } from 'pino'

import { expiringKinds, makeBatchSize, makeCleanUp } from '../src/ops/clean-up/clean-up.ts'
import { startBackgroundTasks } from '../src/platform/process/background-tasks.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { cleanUpAt, usualRetention } from './support/clean-up.ts'
import { obtainCode, redeem, register } from './support/client.ts'
import { insert, patiently, postgresPlace, watched, withDatabases } from './support/database.ts'
import { fillExpiring, livingRows, manyRows } from './support/expired-rows.ts'
import { startWith } from './support/gatehouse.ts'
import { eventually } from './support/programs.ts'
import { retention } from './support/reference-data.ts'
import { describeOnServers, sharedProgram } from './support/skipped.ts'
import { refusalOf } from './support/wire.ts'

const nowMs = 1_800_000_000_000
const never = new AbortController().signal
const pause = async () => await otherWork()
const HOUR_MS = 3_600_000
/** Returns a clock that advances by `stepMs` at each reading. */
const steps =
  (stepMs: number, timeMs = 0) =>
  () =>
    (timeMs += stepMs)
/** The limit of this test for the write-ahead log. SQLite checkpoints the log at 4 MB, so the log stays well below this. */
const LOG_BYTES_MAX = 32_000_000

withDatabases('clean-up', (open, newPlace) => {
  it('removes all expired rows and no others, in small statements', async function () {
    this.timeout(HOUR_MS)
    await using place = await newPlace()
    await using database = await openDatabase(place.location, { answerWithinMs: HOUR_MS })
    const rows = manyRows
    // Do not wait for the disk: the test is about the statements.
    if (database.engine === 'sqlite') await run(database, 'pragma synchronous = off')
    await fillExpiring(database, { rows, nowMs })
    if (database.engine === 'sqlite') await run(database, 'pragma wal_checkpoint(truncate)')

    const statements: number[] = []
    const { run: cleanUp, log } = setUp({ database: watched(database, [], statements), pause })
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    await cleanUp(never)
    delay.disable()

    expect(await rowsOf(database)).to.deep.equal(livingRows(rows))
    expect(Math.max(...statements)).to.be.at.most(1000)
    if (place.location.kind === 'sqlite') {
      expect(statSync(`${place.location.file}-wal`).size).to.be.below(LOG_BYTES_MAX)
    }
    expect(log.map(({ msg }) => msg)).to.deep.equal(['expired rows were removed'])
    const { removed, ms, longestStatementMs } = log[0] ?? {}
    expect(removed)
      .to.include({ oauth_state: rows, oauth_grant: rows })
      .and.have.all.keys(expiringKinds(usualRetention).map(({ table }) => table))
    const [loopMs, p99Ms] = [delay.max, delay.percentile(99)].map((ns) => Math.round(ns / 1e5) / 10)
    process.stdout.write(
      `    ${database.engine}, ${rows} rows of each kind: ${statements.length} statements in ${ms} ms, ` +
        `the longest ${longestStatementMs} ms; the loop waited ${loopMs} ms at most, p99 ${p99Ms} ms\n`,
    )
  })

  it('shares the work of two processes at once', async () => {
    await using place = await newPlace()
    await using one = await openDatabase(place.location, patiently)
    await using other = await openDatabase(place.location, patiently)
    await fillExpiring(one, { rows: 1000, nowMs })
    const cleanUps = [one, other].map((database) => setUp({ database }))
    await Promise.all(cleanUps.map(async (cleanUp) => await cleanUp.run(never)))
    // On PostgreSQL, each process skips rows that the other has locked, so some rows may be left.
    await cleanUps[0]?.run(never)
    expect(await rowsOf(one)).to.deep.equal(livingRows(1000))
    const removed = cleanUps.flatMap(({ log }) => log.map((line) => Object(line['removed'])))
    const ofState = removed.map(({ oauth_state = 0 }) => oauth_state)
    expect(ofState.reduce((sum, rows) => sum + rows)).to.equal(1000)
  })

  it('rests twice as long as it works', async () => {
    await using database = await open()
    await fillExpiring(database, { rows: 100, nowMs })
    const pausesMs: number[] = []
    const pause = async (ms: number) => void pausesMs.push(ms)
    await setUp({ database, clock: steps(4), pause }).run(never)
    expect(new Set(pausesMs)).to.deep.equal(new Set([8]))
  })

  it('ends a run after its time, logs what is left, and continues with the next', async () => {
    await using database = await open()
    await fillExpiring(database, { rows: 1000, nowMs })
    const { run: cleanUp, log } = setUp({ database, runSeconds: 60, clock: steps(5000), pause })
    await cleanUp(never)
    expect(log[0]).to.include({ level: 40, msg: 'clean-up cannot keep up: expired rows remain' })
    expect(log[0]?.['waiting']).to.include('oauth_grant')
    expect(await rowsOf(database)).not.to.deep.equal(livingRows(1000))
    for (let runs = 0; runs < 2000 && log.at(-1)?.['level'] === 40; runs += 1) await cleanUp(never)
    expect(await rowsOf(database)).to.deep.equal(livingRows(1000))
  })

  it('ends when the service stops', async () => {
    await using database = await open()
    await fillExpiring(database, { rows: 1000, nowMs })
    // The first statement seems to take one hour, so the pause takes two.
    const ports = { database, runSeconds: 24 * 3600, clock: steps(HOUR_MS) }
    const { run: cleanUp, log, logger } = setUp(ports)
    const task = { name: 'clean-up', everySeconds: 0.01, run: cleanUp }
    const tasks = startBackgroundTasks([task], { logger })
    await eventually(10_000, async () => {
      expect((await rowsOf(database))['oauth_state']).to.be.below(1100)
    })
    await tasks[Symbol.asyncDispose]()
    expect(log.map(({ statements }) => statements)).to.deep.equal([1])
  })
})

it('a code stays single-use after clean-up, even if it outlives its access token [190]', async () => {
  const lifetimes = { authorizationCodeSeconds: 600, accessTokenSeconds: 60 }
  await using running = await startWith({ lifetimes })
  const { url, service } = running
  const redirect_uri = 'http://127.0.0.1:49152/callback'
  const metadata = { redirect_uris: [redirect_uri], grant_types: ['authorization_code'] }
  const client_id = String((await register(url, metadata)).body.client_id)
  const fields = { client_id, redirect_uri, scope: 'openid profile', resource: undefined }
  const obtained = await obtainCode(url, fields)
  const { status, body } = await redeem(url, obtained)
  expect([status, body.refresh_token]).to.deep.equal([200, undefined])
  await cleanUpAt(service.stores.database, Date.now() + 300_000)
  expect(refusalOf(await redeem(url, obtained))).to.equal('400 invalid_grant')
})

it('a background task skips the turns that a slow run misses', async () => {
  const held = Promise.withResolvers<void>()
  let runs = 0
  const run = async () => {
    runs += 1
    await held.promise
  }
  const task = { name: 'slow', everySeconds: 0.001, run }
  await using _tasks = startBackgroundTasks([task], { logger: pino({ level: 'silent' }) })
  await delay(100)
  expect(runs).to.equal(1)
  held.resolve()
  await delay(0)
  // If the turns missed in 100 ms were queued, they would all run now.
  expect(runs).to.be.below(10)
  await eventually(10_000, async () => expect(runs).to.be.above(3))
})

describe('the table of clean-up', () => {
  const open = async () => await openDatabase({ kind: 'sqlite', file: ':memory:' }, patiently)

  it('has an index for each expiry', async () => {
    await using database = await open()
    for (const { table, expiry } of expiringKinds(usualRetention)) {
      const { rows } = await sql<{ name: string }>`
        select c.name from pragma_index_list(${table}) as i, pragma_index_info(i.name) as c
        where c.seqno = 0`.execute(database.kysely)
      expect(rows.map(({ name }) => name)).to.include(expiry)
    }
  })

  it('is documented with the retention of every other table', async () => {
    await using database = await open()
    const tables = await database.kysely.introspection.getTables()
    const documented = retention.flatMap(([names = '']) => names.split(', '))
    expect(documented).to.have.members(tables.flatMap((each) => (each.isView ? [] : each.name)))
  })
})

describeOnServers('clean-up on a slow PostgreSQL server', () => {
  const postgres = sharedProgram('postgres')

  /** Cleans up 100 rows of each kind. Each delete in oauth_state takes `seconds`. A cancelled delete runs `whenCancelled`. */
  const cleanUpSlowly = async (seconds: number, whenCancelled = 'raise') => {
    const { location } = await postgresPlace(postgres())
    await using database = await openDatabase(location, { answerWithinMs: 250 })
    await fillExpiring(database, { rows: 100, nowMs })
    const wait = `begin perform pg_sleep(${seconds}); return old;
      exception when query_canceled then ${whenCancelled}; return old; end`
    await run(database, `create function wait() returns trigger language plpgsql as '${wait}'`)
    const each = 'before delete on oauth_state for each row execute function wait()'
    await run(database, `create trigger slow ${each}`)
    const { run: cleanUp, log } = setUp({ database, pause })
    await cleanUp(never)
    return { rows: await rowsOf(database), line: log[0] }
  }

  it('halves cancelled batches until they succeed', async () => {
    const { rows, line } = await cleanUpSlowly(0.02)
    expect(rows).to.deep.equal(livingRows(100))
    expect(line?.['cancelled']).to.be.at.least(1)
  })

  it('continues with other tables when the server does not cancel in time', async () => {
    const { rows, line } = await cleanUpSlowly(0.5, 'perform pg_sleep(15)')
    expect(rows).to.deep.equal({ ...livingRows(100), oauth_state: 110 })
    expect(line?.['cancelled']).to.be.at.least(2)
  })

  it('leaves a single row that is cancelled for the next run, and removes the rest', async () => {
    const { rows, line } = await cleanUpSlowly(0.5)
    expect(rows).to.deep.equal({ ...livingRows(100), oauth_state: 110 })
    expect(line).to.deep.include({ level: 40, waiting: ['oauth_state'] })
  })
})

it('a service cleans up every storage.sweepSeconds', async () => {
  await using running = await startWith({ storage: { sweepSeconds: 1 } })
  const row = { model: 'Session', payload: '{}' }
  await insert(running.kysely, 'oauth_state', [
    { ...row, id: 'over', expires_at: 1 },
    { ...row, id: 'lives', expires_at: Date.now() + HOUR_MS },
  ])
  await eventually(10_000, async () => {
    expect(running.log.join('')).to.include('"removed":{"oauth_state":1}')
  })
  const rows = await running.kysely.selectFrom('oauth_state').select('id').execute()
  expect(rows).to.deep.equal([{ id: 'lives' }])
})

it('a batch of clean-up grows while statements are fast, and shrinks after slow and cancelled ones', () => {
  const size = makeBatchSize(1000, 10)
  const after = (ms: number, isFull = true) => {
    size.took(ms, isFull)
    return size.rows
  }
  expect([after(1), after(7), after(1, false)]).to.deep.equal([64, 64, 64])
  const growing = Array.from({ length: 6 }, () => after(1))
  expect(growing).to.deep.equal([128, 256, 512, 1000, 1000, 1000])
  expect([after(1, false), after(7), after(11)]).to.deep.equal([1000, 1000, 500])
  expect(Array.from({ length: 5 }, () => after(11)).at(-1), 'the first size').to.equal(32)
  const cancelled: number[] = []
  while (size.cancelled()) cancelled.push(size.rows)
  expect([...cancelled, after(1)]).to.deep.equal([16, 8, 4, 2, 1, 2])
})

function setUp(ports: Partial<Parameters<typeof makeCleanUp>[0]> & { database: Database }) {
  const log: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line) => void log.push(JSON.parse(line)) })
  const usual = { retention: usualRetention, logger, runSeconds: 3600, now: () => nowMs }
  return { run: makeCleanUp({ ...usual, ...ports }), log, logger }
}

async function run(database: Database, statement: string): Promise<void> {
  await sql.raw(statement).execute(database.kysely)
}

async function rowsOf(database: Database): Promise<Record<string, number>> {
  const tables = Object.keys(livingRows(0))
  const counts = tables.map((table) => `(select count(*) from ${table}) as ${table}`)
  const { rows } = await sql
    .raw<Record<string, number>>(`select ${counts.join(', ')}`)
    .execute(database.kysely)
  return rows[0] ?? {}
}
