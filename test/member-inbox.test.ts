import { MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import { rowsOf } from './support/database.ts'
import { startService } from './support/gatehouse.ts'
import { askMember, memberToken, readMember, readOnly } from './support/member-api.ts'
import { fresh } from './support/shared.ts'
import type { Json } from './support/wire.ts'

const markRead = `mutation ($id: ID!) {
  markNotificationRead(id: $id) { notification { id readAt } unreadNotificationCount }
}`
const subscribe = `mutation ($id: ID!, $enabled: Boolean!) {
  updateNotificationSubscription(id: $id, enabled: $enabled) {
    notificationSubscription { id topic channel enabled }
  }
}`
const readAndChange =
  'query read { viewer { id } } mutation change { markAllNotificationsRead { markedCount } }'
const byFragment =
  'mutation { ...change } fragment change on Mutation { markAllNotificationsRead { markedCount } }'
const variables = { id: 'not_sam_14' }

describe('the notification inbox of the Member API', () => {
  const running = fresh(async () => {
    const service = await startService()
    return { ...service, token: await memberToken(service.url) }
  })

  const ask = async (body: object, token = running().token) =>
    await askMember({ url: running().url, token }, body)
  const read = async (query: string) => await readMember(running(), query)
  const unread = async () => (await read('{ unreadNotificationCount }')).unreadNotificationCount
  const inboxes = async () => [
    await rowsOf(running().kysely, 'notification'),
    await rowsOf(running().kysely, 'notification_subscription'),
  ]

  /** Sends requests with `scope`. Expects that each is refused for the missing scope, and that nothing changes. */
  const refuses = async (scope: string, missing: string, bodies: readonly object[]) => {
    const before = await inboxes()
    const token = await memberToken(running().url, scope)
    const error_description = `this request needs the scope ${missing}`
    for (const body of bodies) {
      const answer = await ask(body, token)
      expect(answer.status, JSON.stringify(body)).to.equal(403)
      expect(answer.body).to.deep.equal({ error: 'insufficient_scope', error_description })
      expect(answer.headers.get('www-authenticate')).to.include(
        `error="insufficient_scope", error_description="${error_description}", scope="openid ${MEMBER_READ} ${MEMBER_WRITE}"`,
      )
    }
    expect(await inboxes()).to.deep.equal(before)
    return token
  }

  // [Notification inbox 1]
  it('lists the notifications of the site, newest first, or only the unread', async () => {
    const list = async (args: string) =>
      (await read(`{ notifications(${args}) { nodes { id createdAt readAt } totalCount } }`))
        .notifications
    const all = await list('first: 100')
    expect([all.nodes.length, all.totalCount]).to.deep.equal([14, 14])
    const times = all.nodes.map(({ createdAt }: Json) => createdAt)
    expect(times).to.deep.equal(times.toSorted().toReversed())
    const open = await list('first: 100, unreadOnly: true')
    expect(open.nodes).to.deep.equal(all.nodes.filter(({ readAt }: Json) => readAt === null))
    expect(open.totalCount).to.equal(await unread())
  })

  it('marks one notification read and keeps its time, then marks all, of this person only [Notification inbox 2]', async () => {
    const before = await unread()
    const { body } = await ask({ query: markRead, variables })
    expect(body.errors).to.equal(undefined)
    expect((await ask({ query: markRead, variables })).body).to.deep.equal(body)
    expect(await unread()).to.equal(before - 1)
    const query = 'mutation { markAllNotificationsRead { markedCount unreadNotificationCount } }'
    for (const markedCount of [before - 1, 0]) {
      const expected = { markedCount, unreadNotificationCount: 0 }
      expect((await read(query)).markAllNotificationsRead).to.deep.equal(expected)
    }
    const unreadNow = await rowsOf(running().kysely, 'notification', { read_at: null })
    expect(unreadNow.filter(({ person_id }) => person_id !== 'per_sam')).to.not.be.empty
  })

  it('switches a subscription on and off, idempotently [Notification inbox 2]', async () => {
    const id = 'sub_sam_replies_email'
    for (const enabled of [true, true, false, false, true]) {
      const { body } = await ask({ query: subscribe, variables: { id, enabled } })
      expect(body.data?.['updateNotificationSubscription']).to.deep.equal({
        notificationSubscription: { id, topic: 'replies', channel: 'EMAIL', enabled },
      })
    }
    const { notificationSubscriptions } = await read('{ notificationSubscriptions { id enabled } }')
    expect(notificationSubscriptions).to.have.length(12)
    expect(notificationSubscriptions).to.deep.include({ id, enabled: true })
  })

  it('reports a failed mutation, and keeps the effect of the others', async () => {
    const { status, body } = await ask({
      query: `mutation {
        good: markNotificationRead(id: "not_sam_14") { notification { id } }
        bad: markNotificationRead(id: "not_noor_01") { notification { id } }
      }`,
    })
    expect(status).to.equal(200)
    expect(body.data).to.deep.equal({ good: { notification: { id: 'not_sam_14' } }, bad: null })
    expect(body.errors).to.have.length(1)
    const failure = { message: 'there is no notification with this id', path: ['bad'] }
    expect(body.errors?.[0]).to.deep.include({ ...failure, extensions: { code: 'NOT_FOUND' } })
  })

  // [Member API 4; Scopes 10; threat 12; 103]
  it(`answers any mutation with 403 insufficient_scope for ${MEMBER_READ} alone, and changes nothing [design 21]`, async () => {
    const reader = await refuses(readOnly, MEMBER_WRITE, [
      { query: markRead, variables },
      {
        query: `mutation {
          a: markAllNotificationsRead { markedCount }
          b: markNotificationRead(id: "not_sam_14") { unreadNotificationCount }
        }`,
      },
      { query: readAndChange, operationName: 'change' },
      { query: byFragment },
      { query: 'mutation { markAllNotificationsRead @skip(if: true) { markedCount } }' },
      // Missing scopes are reported before errors in the document.
      { query: 'mutation { markAllNotificationsRead }' },
      { query: 'mutation { markNotificationRead(id: "not_sam_14") { nothing } }' },
    ])
    const before = await inboxes()
    const { body } = await ask({ query: readAndChange, operationName: 'read' }, reader)
    expect([body.data, body.errors]).to.deep.equal([{ viewer: { id: 'per_sam' } }, undefined])
    expect(await inboxes()).to.deep.equal(before)
  })

  // Mutations return notifications, so they need the read scope, too.
  it('reads and changes nothing with the write scope alone [Scopes 2] [Member API 3]', async () => {
    const bodies = [{ query: '{ viewer { id } }' }, { query: markRead, variables }]
    await refuses(`openid ${MEMBER_WRITE}`, MEMBER_READ, bodies)
  })
})
