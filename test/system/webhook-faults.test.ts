import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { recordAuditEvent } from '../../src/platform/audit/record-audit-event.ts'
import type { DatabaseLocation } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { newWebhookSecret } from '../../src/school/webhooks/webhook-signature.ts'
import type { WorkerTask } from '../store-worker.ts'
import { insert, patiently } from '../support/database.ts'
import { listen } from '../support/listen.ts'
import { startPostgres } from '../support/postgres.ts'
import { endWithTests, eventually, temporaryFolder } from '../support/programs.ts'
import { askForProgram } from '../support/skipped.ts'

const SUBJECTS = 20
const ROUNDS = 8
const KILLED_AFTER = [2, 4, 6]
const RESTARTED_AFTER = 5
const ENDPOINTS = ['good', 'late', 'broken', 'hanging']

/** Starts a receiver with a path for each endpoint. `broken` and `hanging` fail until `mend` is called. */
async function startReceiver() {
  type Received = { readonly id: string; readonly subject: string; readonly accepted: boolean }
  const received = new Map<string, Received[]>(ENDPOINTS.map((name) => [name, []]))
  let isMended = false
  const server = createServer(async (request, response) => {
    const name = (request.url ?? '').slice(1)
    const { id, data } = JSON.parse(await text(request))
    const accepted = isMended || !['broken', 'hanging'].includes(name)
    received.get(name)?.push({ id, subject: data.id, accepted })
    if (name === 'hanging' && !isMended) return
    if (name === 'late') await delay(20)
    response.writeHead(accepted ? 204 : 500).end()
  })
  const mend = () => {
    isMended = true
    server.closeAllConnections()
  }
  return { ...(await listen(server)), received, mend }
}

/** Records events. Meanwhile, kills a process that delivers them, and calls `restart`, if given. */
async function deliver(location: DatabaseLocation, restart?: () => Promise<void>) {
  await using receiver = await startReceiver()
  await using database = await openDatabase(location, patiently)
  const { kysely } = database
  await insert(kysely, 'site', { id: 's', slug: 's', name: 'S', created_at: 1 })
  for (const name of ENDPOINTS) {
    const row = { id: name, site_id: 's', url: `https://x.example/${name}`, created_at: 1 }
    const sealed_secret = newWebhookSecret()
    await insert(kysely, 'webhook_endpoint', { ...row, payload: 'full', sealed_secret })
    for (const type of ['course.published', 'course.unpublished'])
      await insert(kysely, 'webhook_endpoint_type', { endpoint_id: name, type })
  }
  const task: WorkerTask = { task: 'hooks', location, receiver: receiver.url }
  const start = async () => {
    const child = endWithTests(fork(join(import.meta.dirname, '../store-worker.ts')))
    child.send(task)
    await once(child, 'message')
    child.send('go')
    return child
  }
  const workers = [await start(), await start()]
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let subject = 0; subject < SUBJECTS; subject += 1) {
      const action = round % 2 === 0 ? ('course.publish' as const) : ('course.unpublish' as const)
      const change = { action, subject: { kind: 'course', id: `c${subject}` }, siteId: 's' }
      await eventually(30_000, () =>
        kysely.transaction().execute((trx) => recordAuditEvent(trx, { now: Date.now() }, change)),
      )
    }
    if (KILLED_AFTER.includes(round)) {
      workers[0]?.kill('SIGKILL')
      workers[0] = await start()
    }
    if (round === RESTARTED_AFTER) await restart?.()
  }
  // Makes all messages due now, despite claims by killed processes and delays after failures.
  const pass = async () => await kysely.updateTable('outbox').set({ due_at: 1 }).execute()
  const left = async (names: readonly string[]) =>
    await kysely.selectFrom('outbox').select('id').where('queue', 'in', names).execute()
  await pass()
  await eventually(60_000, async () => expect(await left(['good', 'late'])).to.have.length(0))
  receiver.mend()
  await eventually(120_000, async () => {
    await delay(300)
    await pass()
    expect(await left(ENDPOINTS)).to.have.length(0)
  })
  for (const worker of workers) worker.kill('SIGKILL')
  const events = await kysely.selectFrom('audit_event').select('id').orderBy('id').execute()
  return { events, received: receiver.received }
}

function judge({ events, received }: Awaited<ReturnType<typeof deliver>>) {
  expect(events.length).to.be.at.least(SUBJECTS * ROUNDS)
  const place = new Map(events.map(({ id }, at) => [id, at]))
  for (const [name, messages] of received) {
    const accepted = messages.filter((message) => message.accepted)
    const ids = new Set(accepted.map(({ id }) => id))
    expect(ids.size, `${name}: nothing lost`).to.equal(events.length)
    for (const ofSubject of Map.groupBy(accepted, ({ subject }) => subject).values()) {
      const order = ofSubject.map(({ id }) => place.get(id) ?? -1)
      expect(order, `${name}: in order`).to.deep.equal(order.toSorted((a, b) => a - b))
    }
  }
}

describe('webhooks while processes are killed', function () {
  this.timeout(300_000)

  it('lose nothing and keep the order on SQLite', async () => {
    judge(await deliver({ kind: 'sqlite', file: join(temporaryFolder(), 'gatehouse.db') }))
  })

  it('lose nothing and keep the order on PostgreSQL, which is killed as well', async function () {
    const durable = ['fsync=on', 'full_page_writes=on', 'synchronous_commit=on']
    await using server = await startPostgres(askForProgram(this, 'postgres'), durable)
    const url = await server.createDatabase('tables')
    judge(await deliver({ kind: 'postgres', url, connectionsMax: 4 }, server.restart))
  })
})
