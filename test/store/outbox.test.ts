import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { pino } from 'pino'

import { readProcess } from '../../src/platform/monitoring/readings.ts'
import { openMetrics, render } from '../../src/platform/monitoring/registry.ts'
import {
  CLAIM_MS,
  type MessageHandler,
  outboxTask,
  SEND_WITHIN_MS,
  storeMessage,
  WAITS_SECONDS,
  waitingMessages,
} from '../../src/platform/outbox/outbox.ts'
import { startBackgroundTasks } from '../../src/platform/process/background-tasks.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import type { WorkerTask } from '../store-worker.ts'
import { patiently, rowOf, withEveryDatabase } from '../support/database.ts'
import { startMailServer } from '../support/mail-server.ts'
import { parseScrape } from '../support/metrics.ts'
import { endWithTests, eventually, race } from '../support/programs.ts'

const worker = join(import.meta.dirname, '../store-worker.ts')
const logger = pino({ level: 'silent' })
const quietPorts = { logger, sweeps: undefined, lookMs: 50, noteAttempt: () => {} }
const PROCESSES = 3
const MESSAGES = 60

async function fill(database: Database, count: number) {
  await database.kysely.transaction().execute(async (trx) => {
    for (let at = 0; at < count; at += 1)
      await storeMessage(trx, { kind: 'mail', payload: { at }, nowMs: Date.now() })
  })
}

const idsIn = (received: readonly { readonly content: string }[]) =>
  received.map(({ content }) => /^Message-ID: <(.*)@/m.exec(content)?.[1])

withEveryDatabase('the outbox', (open, newPlace) => {
  it('sends each message once from several processes [235]', async () => {
    await using place = await newPlace()
    await using database = await openDatabase(place.location, patiently)
    await using server = await startMailServer()
    await fill(database, MESSAGES)
    const task: WorkerTask = { task: 'send', location: place.location, smtpUrl: server.url }
    const results = await race(worker, Array(PROCESSES).fill(task))
    expect(results).to.deep.equal(Array(PROCESSES).fill({ outcomes: [] }))
    expect(new Set(idsIn(server.received)).size).to.equal(MESSAGES)
    expect(server.received).to.have.length(MESSAGES)
  })

  // [235]
  it('repeats a message with its id after a crash between acceptance and commit, once the claim has ended', async () => {
    await using place = await newPlace()
    await using database = await openDatabase(place.location, patiently)
    const child = endWithTests(fork(worker))
    let crashes = true
    await using server = await startMailServer({
      before: async () => {
        if (!crashes) return
        child.kill('SIGKILL')
        await once(child, 'exit')
      },
    })
    await fill(database, 1)
    const task: WorkerTask = { task: 'send', location: place.location, smtpUrl: server.url }
    child.send(task)
    await once(child, 'message')
    child.send('go')
    await eventually(20_000, async () => expect(server.received).to.have.length(1))
    crashes = false
    await race(worker, [task])
    expect(server.received, 'while the claim lasts').to.have.length(1)
    expect(CLAIM_MS).to.be.above(2 * SEND_WITHIN_MS)
    await database.kysely.updateTable('outbox').set({ due_at: Date.now() }).execute()
    await race(worker, [task])
    expect(idsIn(server.received)).to.have.length(2)
    expect(new Set(idsIn(server.received)).size).to.equal(1)
    expect((await waitingMessages(database)).size).to.equal(0)
  })

  it('reports the number and the age of the messages of each kind as metrics', async () => {
    await using database = await open()
    await storeMessage(database.kysely, { kind: 'webhook', queue: 'w', payload: {}, nowMs: 10_000 })
    let reads = 0
    const sources = {
      database,
      waitingMessages: async () => {
        reads += 1
        return await waitingMessages(database)
      },
      now: () => 70_000,
      ...{ passwords: { waiting: () => 0 }, rings: { current: () => ({ madeAt: {} }) } },
    }
    const metrics = openMetrics()
    using _ = readProcess(metrics, sources, sources)
    const { sum } = parseScrape(await render([await metrics.snapshot()]))
    const [messages, age] = ['gatehouse_outbox_messages_waiting', 'gatehouse_outbox_oldest_seconds']
    const of = (kind: string) => [sum(messages, { kind }), sum(age, { kind })]
    expect([...of('webhook'), ...of('mail')]).to.deep.equal([1, 60, 0, 0])
    await metrics.snapshot()
    expect(reads, 'one query for each scrape').to.equal(2)
  })

  it('sends the message of one queue while eight other queues are slow', async () => {
    await using database = await open()
    const slow = Promise.withResolvers<void>()
    const sent: string[] = []
    const handler: MessageHandler = {
      async send({ queue }) {
        sent.push(queue)
        if (queue !== 'quick') await slow.promise
      },
      gaveUp: () => {},
    }
    const enqueue = async (queue: string) =>
      await storeMessage(database.kysely, { kind: 'mail', queue, payload: {}, nowMs: Date.now() })
    for (let at = 0; at < 8 * 9; at += 1) await enqueue(`slow ${at % 8}`)
    await enqueue('quick')
    const ports = { ...quietPorts, database, now: Date.now }
    await using _ = startBackgroundTasks([outboxTask({ mail: handler }, ports)], { logger })
    try {
      await eventually(10_000, async () => expect(sent).to.include('quick'))
      expect(sent, 'eight of each slow queue').to.have.length(8 * 8 + 1)
    } finally {
      slow.resolve()
    }
  })

  it('waits longer after each failure, while a slow message delays no other', async () => {
    await using database = await open()
    const clock = { aheadMs: 0 }
    const now = () => Date.now() + clock.aheadMs
    const ports = { ...quietPorts, database, now }
    const slow = Promise.withResolvers<void>()
    const attempts: number[] = []
    const handler: MessageHandler = {
      async send({ payload, attempt }) {
        if (Reflect.get(Object(payload), 'slow')) return await slow.promise
        attempts.push(attempt)
        throw new Error('not now')
      },
      gaveUp: () => {},
    }
    await using _ = startBackgroundTasks([outboxTask({ mail: handler }, ports)], { logger })
    const enqueue = async (payload: object) =>
      await storeMessage(database.kysely, { kind: 'mail', payload, nowMs: Date.now() })
    await enqueue({ slow: true })
    await enqueue({ slow: false })
    for (const [at, seconds] of WAITS_SECONDS.entries()) {
      await eventually(10_000, async () => {
        const row = await rowOf(database.kysely, 'outbox', { last_error: 'not now' })
        expect(attempts).to.have.length(at + 1)
        const waitMs = row.due_at - Date.now() - clock.aheadMs
        expect(waitMs).to.be.within(seconds * 1000 - 8000, seconds * 1000)
      })
      clock.aheadMs += seconds * 1000
    }
    slow.resolve()
  })
})
