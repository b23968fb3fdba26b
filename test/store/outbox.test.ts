import { fork } from 'node:child_process'
import { once } from 'node:events'

import { pino } from 'pino'

import { readProcess } from '../../src/platform/monitoring/process-metrics.ts'
import { openMetrics, renderSnapshots } from '../../src/platform/monitoring/registry.ts'
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
import { patiently, rowOf, withEveryDatabase } from '../support/database.ts'
import { startMailServer } from '../support/mail-server.ts'
import { parseScrape } from '../support/metrics.ts'
import { endWithTests, eventually, race } from '../support/programs.ts'

const logger = pino({ level: 'silent' })
const PROCESSES = 3
const MESSAGES = 60

const enqueue = async ({ kysely }: Pick<Database, 'kysely'>, message: object = {}) =>
  await storeMessage(kysely, { kind: 'mail', payload: {}, nowMs: Date.now(), ...message })

/** Sends the queued messages of a database until the result is disposed of. */
function startSending(database: Database, send: MessageHandler['send'], now = Date.now) {
  const ports = { database, now, logger, sweeps: undefined, lookMs: 50, noteAttempt: () => {} }
  return startBackgroundTasks([outboxTask({ mail: { send, gaveUp: () => {} } }, ports)], { logger })
}

const idsIn = (received: readonly { readonly content: string }[]) =>
  received.map(({ content }) => /^Message-ID: <(.*)@/m.exec(content)?.[1])

withEveryDatabase('the outbox', (open, newPlace) => {
  it('sends each message once from several processes [235]', async () => {
    await using place = await newPlace()
    await using database = await openDatabase(place.location, patiently)
    await using server = await startMailServer()
    await database.kysely.transaction().execute(async (kysely) => {
      for (let at = 0; at < MESSAGES; at += 1) await enqueue({ kysely })
    })
    const task = { task: 'send', location: place.location, smtpUrl: server.url } as const
    await race(...Array<typeof task>(PROCESSES).fill(task))
    expect(new Set(idsIn(server.received)).size).to.equal(MESSAGES)
    expect(server.received).to.have.length(MESSAGES)
  })

  // [235]
  it('repeats a message with its id after a crash between acceptance and commit, once the claim has ended', async () => {
    await using place = await newPlace()
    await using database = await openDatabase(place.location, patiently)
    const child = endWithTests(fork(`${import.meta.dirname}/../store-worker.ts`))
    let crashes = true
    await using server = await startMailServer({
      before: async () => {
        if (!crashes) return
        child.kill('SIGKILL')
        await once(child, 'exit')
      },
    })
    await enqueue(database)
    const task = { task: 'send', location: place.location, smtpUrl: server.url } as const
    child.send(task)
    await once(child, 'message')
    child.send('go')
    await eventually(20_000, async () => expect(server.received).to.have.length(1))
    crashes = false
    await race(task)
    expect(server.received, 'while the claim lasts').to.have.length(1)
    expect(CLAIM_MS).to.be.above(2 * SEND_WITHIN_MS)
    await database.kysely.updateTable('outbox').set({ due_at: Date.now() }).execute()
    await race(task)
    expect(idsIn(server.received)).to.have.length(2)
    expect(new Set(idsIn(server.received)).size).to.equal(1)
    expect((await waitingMessages(database)).size).to.equal(0)
  })

  it('reports the number and the age of the messages of each kind as metrics', async () => {
    await using database = await open()
    await enqueue(database, { kind: 'webhook', queue: 'w', nowMs: 10_000 })
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
    const { sum } = parseScrape(await renderSnapshots([await metrics.snapshot()]))
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
    for (let at = 0; at < 8 * 9; at += 1) await enqueue(database, { queue: `slow ${at % 8}` })
    await enqueue(database, { queue: 'quick' })
    await using _ = startSending(database, async ({ queue }) => {
      sent.push(queue)
      if (queue !== 'quick') await slow.promise
    })
    try {
      await eventually(10_000, async () => expect(sent).to.include('quick'))
      expect(sent, 'eight of each slow queue').to.have.length(8 * 8 + 1)
    } finally {
      slow.resolve()
    }
  })

  it('waits longer after each failure, while a slow message does not delay others', async () => {
    await using database = await open()
    const clock = { aheadMs: 0 }
    const slow = Promise.withResolvers<void>()
    const attempts: number[] = []
    const send: MessageHandler['send'] = async ({ payload, attempt }) => {
      if (Reflect.get(Object(payload), 'slow')) return await slow.promise
      attempts.push(attempt)
      throw new Error('not now')
    }
    await using _ = startSending(database, send, () => Date.now() + clock.aheadMs)
    await enqueue(database, { payload: { slow: true } })
    await enqueue(database, { payload: { slow: false } })
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
