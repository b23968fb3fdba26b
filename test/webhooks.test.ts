import { createPublicKey, verify } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'

import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Transaction } from 'kysely'
import { Webhook } from 'standardwebhooks'

import asyncapi from '../docs/reference/asyncapi.json' with { type: 'json' }
import { storeNewPassword } from '../src/oauth/grants/end-access.ts'
import { settleAbsentPeople } from '../src/ops/import/absent-people.ts'
import { findApplication } from '../src/pages/applications/application-lists.ts'
import { makeApplicationStore } from '../src/pages/applications/application-store.ts'
import { eventTypes } from '../src/platform/audit/event-types.ts'
import type { Schema } from '../src/platform/store/schema.ts'
import { joinSite } from '../src/school/members/joining.ts'
import { endMemberAccess, removeMember } from '../src/school/members/site-roles.ts'
import { deleteDueAccounts, scheduleDeletion } from '../src/school/privacy/delete-account.ts'
import { exampleEvent, type WebhookEvent } from '../src/school/webhooks/webhook-event.ts'
import type { Answers } from '../tools/token/headless-person.ts'
import { mutationOf, type Operator, operatorSite, startOperator } from './support/admin-api.ts'
import { authorize, obtain } from './support/client.ts'
import { rowOf, rowsOf } from './support/database.ts'
import { startHttpsHost } from './support/document-host.ts'
import { marco, noor, notes, olivia, policyWith, sam } from './support/gatehouse.ts'
import { importRecords } from './support/import.ts'
import { mailsWith } from './support/mail-folder.ts'
import { decode, hiddenField, makePagePerson, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { shared } from './support/shared.ts'
import { forEachDatabase } from './support/storages.ts'
import type { Json } from './support/wire.ts'

interface Message {
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly event: WebhookEvent
}

const HOUR_MS = 3_600_000
const PAGE = '/admin/northlight/webhooks'
const [ONE, TWO, BAD] = ['client.example', 'other.example', 'third.example'] as const
const ajv = new Ajv2020({ strict: true, formats: { uuid: true, 'date-time': true } })

/** Expects that an event satisfies the schema of its type. */
function expectValid(type: string, event: object): void {
  const { payload } = Reflect.get(asyncapi.channels.endpoint.messages, type)
  expect(ajv.validate(payload, event), `${type}: ${ajv.errorsText()}`).to.equal(true)
}

/** The receiver's response for each host. The default is 204. */
const answers = new Map<string, RequestListener>()
const received: Message[] = []
const at = (host: string) => received.filter((message) => message.host === host)
const respond = (status: number, headers = {}): RequestListener => {
  return (_request, response) => response.writeHead(status, headers).end('no')
}

const receive: RequestListener = async (request, response) => {
  const host = String(request.headers.host)
  const body = await text(request)
  const headers = request.headers as Record<string, string>
  received.push({ host, headers, body, event: JSON.parse(body) })
  const answer = answers.get(host) ?? respond(204)
  answer(request, response)
}

it('the table of event types has a schema for each type that its example satisfies', () => {
  for (const name of eventTypes.keys()) expectValid(name, exampleEvent(name))
})

forEachDatabase('webhooks', (start) => {
  /** Allows private addresses for every host except claude.ai. */
  const admits = (url: string) => !url.includes('claude.ai')
  const receiver = shared(async () => await startHttpsHost(receive, { admits }))
  const clock = { aheadMs: 0 }
  beforeEach(() => {
    answers.clear()
    received.length = 0
    clock.aheadMs = 0
  })
  const site = operatorSite(start, {
    each: true,
    policy: policyWith({ storage: { outboxLookMs: 100, usageFlushSeconds: 1 } }),
    now: () => Date.now() + clock.aheadMs,
    fetch: async (...request) => await receiver().fetch(...request),
  })
  const { running, kysely } = site
  const owner = () => makePagePerson(running().url, olivia)

  /** Adds an endpoint as the owner. Returns its page, and functions that read the page and press its buttons. */
  const add = async (host: string, types: readonly string[] = [...eventTypes.keys()]) => {
    const typed = { url: `https://${host}/hook`, types: [...types], payload: 'full' }
    const page = await owner().submit(PAGE, typed)
    const path = page.path.replace(/\?.*/, '')
    const press = async (act: string, more = {}) => await owner().submit(path, { act, ...more })
    return { page, read: async () => await owner().visit(path), press, path }
  }
  // Obtain a token for each call, because the test may have moved the clock past the expiry of the last one.
  const value: Operator['value'] = async (...asked) =>
    await (await startOperator(running())).value(...asked)
  const createCourse = async (slug: string) =>
    (await value(mutationOf('createCourse'), { input: { slug, title: slug, summary: slug } })).id
  const release = async (change: string, id: string) =>
    await value(`mutation { ${change}Course(id: "${id}") { id } }`)
  const publish = async (slug: string) => {
    const id = await createCourse(slug)
    await release('publish', id)
    return id
  }
  const settled = async (count: number) =>
    await eventually(15_000, async () => {
      expect(await rowsOf(kysely(), 'outbox', { kind: 'webhook' })).to.have.length(count)
    })
  const typesAt = (host: string, id: string) =>
    at(host).flatMap(({ event }) => (event.data.id === id ? event.type : []))
  const importLines = async (lines: readonly object[], emitsEvents = true) => {
    const { database } = running().service.stores
    expect((await importRecords(database, lines, { emitsEvents })).rejected).to.deep.equal([])
    await settled(0)
  }

  // [393]
  it('send an event within two seconds, signed with both keys, also while the secret is rotated', async () => {
    const { page, press, read } = await add(ONE, ['course.published', 'course.archived'])
    expect(textOf(page, 'done')).to.match(/created/)
    const secret = textOf(page, 'secret')
    const publicKey = textOf(page, 'public-key').replace('whpk_', '')
    const id = await createCourse('night-light')
    const begun = performance.now()
    await release('publish', id)
    await eventually(2000, async () => expect(at(ONE)).to.have.length(1))
    expect(performance.now() - begun).to.be.below(2000)
    await press('rotate')
    await release('archive', id)
    await eventually(5000, async () => expect(at(ONE)).to.have.length(2))
    const newest = textOf(await read(), 'secret')
    expect(newest).to.match(/^whsec_/)
    expect(newest).to.not.equal(secret)
    for (const { headers, body, event } of at(ONE)) {
      expect(new Webhook(secret).verify(body, headers)).to.deep.equal(event)
      const [, signature = ''] = /v1a,(\S+)$/.exec(headers['webhook-signature'] ?? '') ?? []
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
      const x = Buffer.from(publicKey, 'base64').toString('base64url')
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
      const isOurs = verify(null, Buffer.from(signed), key, Buffer.from(signature, 'base64'))
      expect(isOurs).to.equal(true)
      expectValid(event.type, event)
      expect(() => new Webhook(secret).verify(body.replace('crs', 'csr'), headers)).to.throw()
    }
    const [, second] = at(ONE)
    expect(new Webhook(newest).verify(second?.body ?? '', second?.headers ?? {})).to.be.an('object')
    const types = ['course.published', 'course.archived', 'course.published']
    expect(typesAt(ONE, id)).to.deep.equal(types.slice(0, 2))
    await release('restore', id)
    await eventually(5000, async () => expect(typesAt(ONE, id)).to.deep.equal(types))
    const audited = await rowsOf(kysely(), 'audit_event')
    const everything = JSON.stringify([running().log, received, audited])
    for (const key of [secret, newest]) expect(everything).not.to.include(key.slice(6))
  })

  it('keep the order of each subject for an hour of errors, lose nothing, and do not delay other endpoints', async () => {
    await add(ONE, ['course.published', 'course.unpublished'])
    await add(TWO, ['course.published', 'course.unpublished'])
    answers.set(TWO, respond(500))
    const ids = await Promise.all(['a1', 'b1', 'c1'].map(createCourse))
    for (const id of ids) {
      await release('publish', id)
      await release('unpublish', id)
    }
    await settled(6)
    expect(at(ONE)).to.have.length(6)
    for (let minute = 0; minute < 60; minute += 10) {
      clock.aheadMs += HOUR_MS / 6
      await eventually(5000, async () => {
        const rows = await rowsOf(kysely(), 'outbox')
        for (const row of rows) expect(row.due_at).to.be.above(Date.now() + clock.aheadMs)
      })
    }
    expect(at(TWO)).not.to.have.length(0)
    for (const { event } of at(TWO)) expect(event.type).to.equal('course.published')
    answers.delete(TWO)
    clock.aheadMs += HOUR_MS
    await settled(0)
    for (const id of ids) {
      expect(typesAt(ONE, id)).to.deep.equal(['course.published', 'course.unpublished'])
      expect(typesAt(TWO, id).slice(-2)).to.deep.equal(['course.published', 'course.unpublished'])
    }
    expect(new Set(at(TWO).map(({ event }) => event.id)).size).to.equal(6)
  })

  // [390]
  it('are not delayed by a receiver that hangs or never stops sending', async () => {
    for (const host of [BAD, TWO, ONE]) await add(host, ['course.published'])
    answers.set(BAD, () => {})
    answers.set(TWO, (_request, response) => {
      response.writeHead(200)
      for (let part = 0; part < 160; part += 1) response.write('x'.repeat(65_536))
    })
    for (let nth = 0; nth < 12; nth += 1) await publish(`hang-${nth}`)
    await eventually(3000, async () => expect(at(ONE)).to.have.length(12))
    await settled(12)
    const log = await rowsOf(kysely(), 'webhook_delivery')
    expect(Math.max(...log.map(({ response }) => response?.length ?? 0))).to.equal(1024)
    answers.clear()
    await eventually(30_000, async () => {
      clock.aheadMs += 60_000
      expect(await rowsOf(kysely(), 'outbox', { kind: 'webhook' })).to.be.empty
    })
    expect(new Set(at(BAD).map(({ event }) => event.id)).size).to.equal(12)
  }).timeout(60_000)

  it('are sent once, even if another endpoint is deleted during the delivery', async () => {
    const bad = await add(BAD, ['course.published'])
    await add(ONE, ['course.published'])
    const held: (() => void)[] = []
    for (const host of [BAD, ONE])
      answers.set(host, (_request, response) => held.push(() => response.writeHead(204).end()))
    await publish('held')
    await eventually(5000, async () => expect(held).to.have.length(2))
    await bad.press('delete')
    for (const release of held) release()
    await settled(0)
    expect(at(ONE)).to.have.length(1)
    expect(await rowsOf(kysely(), 'webhook_delivery')).to.have.length(1)
  })

  for (const missed of ['resume', 'skip'] as const)
    it(`disable an endpoint that fails for three days, with a notice, and ${missed} what it missed`, async () => {
      const bad = await add(BAD, ['course.published'])
      await add(ONE, ['webhook.disabled'])
      answers.set(BAD, respond(503))
      const first = await publish('first')
      await eventually(5000, async () => expect(at(BAD)).to.have.length(1))
      clock.aheadMs = 72 * HOUR_MS + 60_000
      await eventually(10_000, async () => expect(at(ONE)).to.have.length(1))
      await mailsWith(running(), `stopped sending events to ${BAD}`, olivia.login)
      const second = await publish('second')
      answers.delete(BAD)
      received.length = 0
      clock.aheadMs = 0
      await bad.press(missed)
      const third = await publish('third')
      await eventually(5000, async () => expect(typesAt(BAD, third)).to.have.length(1))
      await settled(0)
      const expected = missed === 'resume' ? [first, second, third] : [third]
      expect(at(BAD).map(({ event }) => event.data.id)).to.have.members(expected)
    })

  // [395]
  it('can be tested, sent again by id or since a time, and reduced to identifiers; libraries refuse a captured one', async () => {
    const { page, press, read } = await add(ONE, ['course.published'])
    await press('test', { type: 'course.published' })
    await eventually(5000, async () => expect(at(ONE)).to.have.length(1))
    clock.aheadMs = -6 * 60_000
    const ids = [await publish('again-1'), await publish('again-2')]
    await settled(0)
    clock.aheadMs = 0
    const [, captured] = at(ONE)
    await press('replay-one', { eventId: captured?.event.id })
    await settled(0)
    const repeated = at(ONE).at(-1)
    expect(captured?.headers['webhook-id']).to.equal(repeated?.headers['webhook-id'])
    const webhook = new Webhook(textOf(page, 'secret'))
    const judge = (message?: Message) => webhook.verify(message?.body ?? '', message?.headers ?? {})
    expect(() => judge(captured)).to.throw('timestamp too old')
    expect(judge(repeated)).to.deep.equal(captured?.event)
    await kysely().updateTable('webhook_endpoint').set({ payload: 'thin' }).execute()
    await press('replay', { since: '2020-01-01T00:00Z' })
    await settled(0)
    const again = at(ONE).slice(-2)
    expect(again.map(({ event }) => event.data.id)).to.have.members(ids)
    for (const { event } of again) expect(event.data).not.to.have.any.keys('before', 'after')
    expect(decode((await read()).text).match(/Accepted \(204\)/g)).to.have.length(6)
    expect(textOf(await press('replay', { since: 'soon' }), 'webhook-problem')).to.match(/a time/)
  })

  it('report what an import adds, changes and ends, once, and only if the import asks for it', async () => {
    await add(ONE)
    const [site, person, order] = ['sit_northlight', 'per_bought', 'ord_bought']
    const at = '2026-01-01T00:00:00Z'
    const named = { email: 'b@bought.example', name: 'Bo', createdAt: at }
    const someone = { type: 'person', id: person, ...named, roles: [] as object[] }
    const member = { ...someone, roles: [{ site, role: 'student', grantedAt: at }] }
    const sum = { number: 'N1', totalCents: 900, currency: 'EUR', placedAt: at }
    const ordered = { type: 'order', id: order, site, person, ...sum }
    const bought = { person, order, purchasedAt: at }
    const { id: courseId } = await rowOf(kysely(), 'course', { site_id: site })
    const { id: digitalProduct } = await rowOf(kysely(), 'digital_product', { site_id: site })
    const purchase = { type: 'coursePurchase', id: 'pur_b1', course: courseId, ...bought }
    const product = { type: 'digitalProductPurchase', id: 'pur_b2', digitalProduct, ...bought }
    const offer = { type: 'course', id: 'crs_new', site, slug: 'new', title: 'New', summary: 'S' }
    const course = { ...offer, createdAt: at, publishedAt: null }
    const post = { type: 'post', id: 'pst_new', site, topic: 'news', title: 'N', body: 'B' }
    const draft = { ...post, createdAt: at, updatedAt: at, publishedAt: null }
    const scopes = { redirectUris: ['https://x.example/'], scopes: ['account:read'] }
    const application = {
      ...{ type: 'application', clientId: 'new', kind: 'site', site, name: 'New', ...scopes },
      ...{ authMethod: 'none', applicationType: 'web', createdAt: at },
    }
    const steps: [object, string?][] = [
      [member, `member.added ${person} ${person}`],
      [ordered, `order.created ${order} ${person}`],
      [{ ...purchase, expiresAt: null }, `enrolment.created pur_b1 ${person}`],
      [product, `product.purchased pur_b2 ${person}`],
      [{ ...ordered, refundedAt: at }, `order.refunded ${order} ${person}`],
      [{ ...purchase, expiresAt: '2036-01-01T00:00:00Z' }, `enrolment.changed pur_b1 ${person}`],
      [someone, `member.removed ${person} ${person}`],
      [{ type: 'coursePurchase', id: 'pur_b1', deleted: true }, `enrolment.ended pur_b1 ${person}`],
      [course],
      [{ ...course, publishedAt: at }, 'course.published crs_new'],
      [{ ...course, publishedAt: '2036-01-01T00:00:00Z' }, 'course.published crs_new'],
      [{ ...course, archivedAt: at }, 'course.archived crs_new'],
      [{ ...course, archivedAt: null, publishedAt: at }, 'course.published crs_new'],
      [course, 'course.unpublished crs_new'],
      [draft],
      [{ ...draft, publishedAt: at }, 'post.published pst_new'],
      [{ type: 'post', id: 'pst_new', deleted: true }, 'post.withdrawn pst_new'],
      [application, 'application.created new'],
      [{ type: 'appearance', site, updatedAt: at }, `appearance.changed ${site}`],
    ]
    for (const [line, event] of steps) {
      const before = received.length
      for (const _ of ['first', 'again']) await importLines([line])
      const seen = received
        .slice(before)
        .map(({ event: { type, data } }) => [type, data.id, data.personId ?? []].flat().join(' '))
      expect(seen, JSON.stringify(line)).to.deep.equal(event === undefined ? [] : [event])
    }
    const created = received.find(({ event }) => event.type === 'order.created')?.event.data
    expect(created?.after).to.deep.equal({ currency: 'EUR', totalCents: 900, refundedAt: null })
    const count = received.length
    await importLines([member], false)
    expect(received).to.have.length(count)
  })

  it('report access and registrations that end with a new password or a removed scope, membership or account', async () => {
    await add(ONE)
    const { now, stores } = running().service
    const { database } = stores
    const actor = { siteId: 'sit_northlight', personId: 'per_olivia', requestId: 'r' }
    const by = () => ({ ...actor, now: now() })
    const change = async (work: (trx: Transaction<Schema>) => Promise<unknown>) =>
      await kysely().transaction().execute(work)
    const join = async (role: 'student' | 'lecturer') =>
      await change(async (trx) => await joinSite(trx, { ...by(), personId: 'per_noor' }, [role]))
    const { name, email, password_hash } = await rowOf(kysely(), 'person', { id: 'per_sam' })
    const line = { type: 'person', id: 'per_sam', name, email, createdAt: '2026-01-01T00:00:00Z' }
    const due = () => ({ personId: 'per_sam', dueAt: now() })
    const hash = { personId: 'per_sam', passwordHash: password_hash ?? '' }
    const password = { ...hash, endApps: true, byMail: false }
    const removeScope = async () => {
      const app = await findApplication(kysely(), by().siteId, notes.clientId)
      if (!app) throw new Error('no application')
      const { update } = makeApplicationStore(database)
      await update(app, { ...app, scopes: ['account:write'] }, by())
      // Adding the scopes again must end no grant.
      await update(app, app, by())
    }
    const people = new Set((await rowsOf(kysely(), 'person')).map(({ id }) => id))
    people.delete('per_noor')
    const settle = settleAbsentPeople.bind(undefined, database, { people, knowsEveryRecord: true })
    const gone = 'application.disconnected'
    const steps: [() => Promise<unknown>, string[], Answers?][] = [
      [async () => await endMemberAccess(database, by(), 'per_sam'), [gone]],
      [async () => await importRecords(database, [{ ...line, accessEndedAt: 'now' }]), [gone]],
      [async () => await change((trx) => storeNewPassword(trx, password, by())), [gone]],
      [removeScope, [gone]],
      [async () => await removeMember(database, by(), 'per_noor'), ['member.removed', gone], noor],
      [async () => await join('student'), ['member.added']],
      [async () => await join('lecturer'), ['member.role_changed']],
      [async () => await settle({ missing: 'end', nowMs: now() }), [gone], noor],
      [
        async () => {
          await change(async (trx) => await scheduleDeletion(trx, database, due(), by()))
          await deleteDueAccounts({ database, now }, new AbortController().signal)
        },
        ['member.removed', 'registration.cancelled', gone],
      ],
    ]
    for (const [end, expected, person = sam] of steps) {
      if (expected.includes(gone)) await obtain(running().url, { person })
      await settled(0)
      received.length = 0
      await end()
      await settled(0)
      const types = received.map(({ event }) => event.type)
      expect(types, String(end)).to.have.members(expected)
    }
  })

  it('report ten failed sign-ins to a member’s account, once', async () => {
    await add(ONE, ['sign_in.failed_repeatedly'])
    const fail = async (times: number) => {
      for (let nth = 0; nth < times; nth += 1)
        await authorize(running().url, {}, { ...sam, password: `wrong-${nth}` }).catch(() => {})
    }
    await fail(9)
    clock.aheadMs += 60_000
    await fail(1)
    await eventually(10_000, async () => expect(at(ONE)).to.have.length(1))
    clock.aheadMs += 60_000
    await fail(1)
    await eventually(10_000, async () => {
      const rows = await rowsOf(kysely(), 'audit_event', { action: 'sign_in.failure' })
      expect(rows.at(-1)?.occurred_at).to.be.above(Date.now() + 100_000)
    })
    const whole = [{ id: 'per_sam', kind: 'person', personId: 'per_sam' }]
    expect(at(ONE).map(({ event }) => event.data)).to.deep.equal(whole)
  })

  // [390]
  it('do not reach private addresses or follow redirects, and are disabled by 410', async () => {
    for (const host of ['claude.ai', ONE, TWO]) await add(host, ['course.published'])
    answers.set(ONE, respond(302, { location: 'https://third.example/' }))
    answers.set(TWO, respond(410))
    await publish('guarded')
    await eventually(5000, async () => {
      const log = await rowsOf(kysely(), 'webhook_delivery')
      const errors = log.map(({ status, error }) => `${status} ${error}`).join()
      expect(errors).to.include('null the host has no address, or one that is not public')
      expect(errors).to.include('302 the receiver responded with status 302')
    })
    await settled(2)
    expect([at('claude.ai'), at(BAD)].flat()).to.have.length(0)
    const endpoints = await rowsOf(kysely(), 'webhook_endpoint')
    const off = endpoints.filter(({ disabled_at }) => disabled_at !== null).map(({ url }) => url)
    expect(off).to.deep.equal([`https://${TWO}/hook`])
  })

  // [391, 392, 393, 394]
  it('can be managed by programs that have the scopes of the events', async () => {
    // Use one client for all calls, because idempotency keys belong to a client.
    const { value } = await startOperator(running())
    const input = { url: `https://${ONE}/hook`, types: ['course.published'] }
    const create = mutationOf('createWebhookEndpoint', 'id isNew secret endpoint { types }')
    const key = { ...input, idempotencyKey: 'once' }
    const made = await value(create, { input: key })
    expect(await value(create, { input: key })).to.deep.equal({ ...made, isNew: false })
    expect(made).to.deep.include({ isNew: true, endpoint: { types: ['course.published'] } })
    const { id } = made
    const types = ['course.published', 'enrolment.created']
    const limited = await startOperator(running(), { scopes: ['school:write', 'courses:read'] })
    const update = mutationOf('updateWebhookEndpoint')
    const refusal = async (mutation: string, input: object) =>
      await limited.refused(mutation, { input })
    const createUnread = mutationOf('createWebhookEndpoint')
    expect(await refusal(createUnread, { ...input, types })).to.equal('FORBIDDEN')
    expect(await refusal(update, { id, types })).to.equal('FORBIDDEN')
    const url = 'https://192.168.0.1/'
    expect(await refusal(createUnread, { ...input, url })).to.equal('BAD_INPUT url')
    expect(await refusal(update, { id, url })).to.equal('BAD_INPUT url')
    await value(update, { input: { id, types } })
    expect(await refusal(update, { id, url: 'https://x.example/' })).to.equal('FORBIDDEN')
    const change = async (name: string, more = '') =>
      await value(`mutation { ${name}(id: "${id}"${more}) { id } }`)
    await change('disableWebhookEndpoint')
    const course = await publish('by-program')
    await change('enableWebhookEndpoint', ', missed: RESUME')
    await change('testWebhookEndpoint', ', type: "enrolment.created"')
    await settled(0)
    expect(typesAt(ONE, course)).to.deep.equal(['course.published'])
    const { secret } = await value(`mutation { rotateWebhookSecret(id: "${id}") { secret } }`)
    expect(secret).to.match(/^whsec_/)
    expect(secret).to.not.equal(made.secret)
    const replay = (more = '') => `mutation { replayWebhookEvents(id: "${id}"${more}) { count } }`
    expect(await value(replay(', since: "2026-01-01T00:00:00Z"'))).to.deep.equal({ count: 1 })
    expect(await limited.refused(replay())).to.equal('BAD_INPUT since')
    await settled(0)
    const deliveries = 'deliveries { eventId type status error request response }'
    const list = `{ webhookEndpoints { id url payload disabledAt publicKey ${deliveries} } }`
    const [endpoint] = await value(list)
    expect(endpoint).to.include({ id, url: input.url, payload: 'FULL', disabledAt: null })
    const sent = endpoint.deliveries.map((each: Json) => JSON.parse(each.request))
    expect(sent).to.have.deep.members(at(ONE).map(({ event }) => event))
    const reader = await startOperator(running(), { scopes: ['school:read', 'courses:read'] })
    const [seen] = await reader.value(list)
    const visible = seen.deliveries.map((each: Json) => `${each.type} ${each.request !== null}`)
    const shown = 'course.published true'
    expect(visible).to.have.members([shown, shown, 'enrolment.created false'])
    const remove = `mutation { deleteWebhookEndpoint(id: "${id}") { deletedId } }`
    expect(await value(remove)).to.deep.equal({ deletedId: id })
  })

  // [392]
  it('can be changed on their page by operators of their site only', async () => {
    const { path, press, read } = await add(ONE, ['course.published'])
    const typed = { url: `https://${TWO}/hook`, types: ['post.published'], payload: 'thin' }
    const wrong = await press('save', { ...typed, url: 'http://x.example/' })
    const problem = 'Enter the https URL of a public server, without user name or password.'
    expect([wrong.status, textOf(wrong, 'webhook-problem')]).to.deep.equal([422, problem])
    expect(textOf(await press('save', typed), 'done')).to.match(/saved/)
    expect((await read()).text)
      .to.include(typed.url)
      .and.to.include('value="post.published" checked')
    const trail = (await owner().visit('/admin/northlight/audit')).text
    expect(trail).to.include('changed the webhook endpoint').and.include(typed.url)

    const other = makePagePerson(running().url, marco)
    const foreign = path.replace('northlight', 'open-kitchen')
    expect((await other.visit(foreign)).status).to.equal(404)
    for (const person of [other, makePagePerson(running().url, sam)])
      expect((await person.visit(path)).status).to.equal(403)
    const csrf = hiddenField((await other.visit('/admin/open-kitchen/webhooks')).text)
    for (const act of ['rotate', 'test', 'replay-one', 'disable', 'delete'])
      expect((await other.post(foreign, { csrf, act })).status, act).to.equal(404)
    expect((await press('delete')).path).to.equal(`${PAGE}?done=delete`)
  })

  // [391]
  it('have https URLs of public servers without a password, for known types', async () => {
    const person = owner()
    const usual = { types: ['course.published'], payload: 'full' }
    const hosts = ['127.0.0.1', '10.0.0.7:8443', '169.254.169.254', '2130706433', '0', 'localhost']
    for (const [typed, problem] of [
      [{ url: 'http://hooks.example/' }, /https URL/],
      [{ url: 'https://me:secret@hooks.example/' }, /password/],
      [{ url: 'file:///etc/passwd' }, /https URL/],
      [{ url: 'https://hooks.example/', types: ['course.stolen'] }, /event types/],
      ...[...hosts, '[::1]', '[::ffff:10.0.0.7]', '[fd00::1]', 'hooks.localhost'].map(
        (host) => [{ url: `https://${host}/` }, /public server/] as const,
      ),
    ] as const) {
      const seen = await person.submit(PAGE, { ...usual, ...typed })
      expect(seen.status, typed.url).to.equal(422)
      expect(textOf(seen, 'webhook-problem'), typed.url).to.match(problem)
    }
  })
})
