import { pino } from 'pino'

import { openSmtp } from '../src/directory/mail/smtp.ts'
import { type MessageHandler, outboxTask } from '../src/platform/outbox/outbox.ts'
import { startBackgroundTasks } from '../src/platform/process/background-tasks.ts'
import type { Database, DatabaseLocation } from '../src/platform/store/database.ts'
import type { Consumption, StateStore } from '../src/platform/store/oauth-state.ts'
import { redisState, sqlState } from '../src/platform/store/oauth-state.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { openRedis, type RedisLocation } from '../src/platform/store/redis.ts'
import type { SiteActor } from '../src/school/changes/change.ts'
import { makeInvitations } from '../src/school/members/invitations.ts'
import { postDelivery } from '../src/school/posts/delivery.ts'
import { webhookHandler } from '../src/school/webhooks/deliver-webhook.ts'

export type WorkerPlace = DatabaseLocation | { kind: 'redis'; redis: RedisLocation }

export type WorkerTask =
  | { task: 'migrate'; location: DatabaseLocation }
  | { task: 'deliver'; location: DatabaseLocation }
  | { task: 'invite'; location: DatabaseLocation; actor: SiteActor; emails: string[]; max: number }
  | { task: 'send'; location: DatabaseLocation; smtpUrl: string }
  | { task: 'hooks'; location: DatabaseLocation; receiver: string }
  | { task: 'consume'; place: WorkerPlace; id: string; times: number }

type TaskOf<Name extends WorkerTask['task']> = Extract<WorkerTask, { task: Name }>

export type WorkerResult = { outcomes: (Consumption | undefined)[] } | { problem: string }

// A long timeout, because these processes contend for two cores.
const QUERY_TIMEOUT_MS = 10_000

const logger = pino({ level: 'silent' })
const ofOutbox = { now: Date.now, logger, sweeps: undefined, noteAttempt: () => {} }

// The parent sends the task, waits until every process is prepared, and then sends "go" to all of them.
process.on('message', (message: WorkerTask | 'go') => {
  if (message === 'go') go.resolve()
  else void answer(message)
})

const go = Promise.withResolvers<void>()

async function answer(task: WorkerTask): Promise<void> {
  const result = await run(task).catch((error: unknown) => ({ problem: String(error) }))
  process.send?.(result, () => process.disconnect())
}

async function run(task: WorkerTask): Promise<WorkerResult> {
  if (task.task === 'consume') return { outcomes: await consume(task) }
  if (task.task === 'migrate') {
    await prepared()
    await using _ = await openDatabase(task.location)
    return { outcomes: [] }
  }
  await using database = await openDatabase(task.location, { answerWithinMs: QUERY_TIMEOUT_MS })
  if (task.task === 'deliver') {
    await prepared()
    await postDelivery({ database, now: Date.now }, 1).run(new AbortController().signal)
  } else if (task.task === 'hooks') await sendHooks(database, task.receiver)
  else if (task.task === 'send') await sendAll(database, task.smtpUrl)
  else await inviteAll(database, task)
  return { outcomes: [] }
}

async function sendAll(database: Database, smtpUrl: string): Promise<void> {
  const transport = openSmtp(smtpUrl)
  const send: MessageHandler['send'] = async ({ id, createdAt }, signal) => {
    const from = { name: 'x', address: 'x@x.example' }
    const content = { to: 'y@y.example', subject: id, text: id, html: id }
    await transport.deliver({ id, createdAt, from, ...content }, signal)
  }
  const tasks = { mail: { send, gaveUp: () => {} } }
  const { run: sendNext } = outboxTask(tasks, { ...ofOutbox, database, lookMs: 1000 })
  await prepared()
  await sendNext(new AbortController().signal)
  transport.close()
}

/** Delivers webhooks until this process is killed. */
async function sendHooks(database: Database, receiver: string): Promise<void> {
  const fetchHere = async (address: string, init?: RequestInit) =>
    await fetch(receiver + new URL(address).pathname, { ...init, redirect: 'manual' })
  const seals = { seal: (plain: string) => plain, open: (sealed: string) => sealed }
  const ports = { database, now: Date.now, seals, fetch: fetchHere }
  const tasks = { webhook: webhookHandler(ports) }
  const task = outboxTask(tasks, { ...ofOutbox, database, lookMs: 50 })
  await prepared()
  await using _ = startBackgroundTasks([task], { logger })
  await new Promise(() => {})
}

async function inviteAll(database: Database, { actor, emails, max }: TaskOf<'invite'>) {
  await prepared()
  const { invite } = makeInvitations(max)
  const inviting = emails.map(async (email) => {
    await invite(database, actor, { email, roles: ['student'] })
  })
  for (const sent of await Promise.allSettled(inviting)) {
    if (sent.status === 'rejected' && sent.reason?.code !== 'LIMIT_REACHED') throw sent.reason
  }
}

async function consume({ place, id, times }: TaskOf<'consume'>) {
  await using store = await openStore(place)
  const codes = store.adapterFor('AuthorizationCode')
  await codes.find(id)
  await prepared()
  return await Promise.all(Array.from({ length: times }, () => codes.consumeOnce(id)))
}

async function prepared(): Promise<void> {
  process.send?.('prepared')
  await go.promise
}

async function openStore(place: WorkerPlace): Promise<StateStore & AsyncDisposable> {
  if (place.kind === 'redis') {
    return redisState(await openRedis(place.redis, { answerWithinMs: QUERY_TIMEOUT_MS }))
  }
  const database = await openDatabase(place, { answerWithinMs: QUERY_TIMEOUT_MS })
  return { ...sqlState(database), [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}
