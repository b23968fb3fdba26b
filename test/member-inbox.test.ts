import { expect } from 'chai'

import { MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import { askMember, memberToken, readMember, readOnly, readWrite } from './support/member-api.ts'

const markRead = `mutation ($id: ID!) {
  markNotificationRead(id: $id) { notification { id readAt } unreadNotificationCount }
}`

const subscribe = `mutation ($id: ID!, $enabled: Boolean!) {
  updateNotificationSubscription(id: $id, enabled: $enabled) {
    notificationSubscription { id topic channel enabled }
  }
}`

describe('the notification inbox of the Member API', () => {
  let running: RunningService
  let token = ''
  beforeEach(async () => {
    running = await startService()
    token = await memberToken(running.url, readWrite)
  })
  afterEach(async () => await running[Symbol.asyncDispose]())

  const ask = async (body: object, as = token) =>
    await askMember({ url: running.url, token: as }, body)
  const read = async <Data>(query: string, variables?: Record<string, unknown>) =>
    await readMember<Data>({ url: running.url, token }, query, variables)
  const unread = async () =>
    (await read<{ unreadNotificationCount: number }>('{ unreadNotificationCount }'))
      .unreadNotificationCount
  /** Everything that a mutation could have changed, of everybody. */
  const inboxes = async () => {
    const { kysely } = running.service.stores.database
    return JSON.stringify([
      await kysely.selectFrom('notification').selectAll().orderBy('id').execute(),
      await kysely.selectFrom('notification_subscription').selectAll().orderBy('id').execute(),
    ])
  }

  // [Notification inbox 1]
  it('lists the notifications of the site, the newest first, or the unread ones only', async () => {
    interface Listed {
      notifications: {
        nodes: { id: string; createdAt: string; readAt: string | null }[]
        totalCount: number
      }
    }
    const list = (args: string) =>
      read<Listed>(`{ notifications(${args}) { nodes { id createdAt readAt } totalCount } }`)
    const { notifications: all } = await list('first: 100')
    expect(all.nodes).to.have.length(14)
    expect(all.totalCount).to.equal(14)
    const moments = all.nodes.map(({ createdAt }) => createdAt)
    expect(moments).to.deep.equal([...moments].sort().reverse())
    const { notifications: open } = await list('first: 100, unreadOnly: true')
    expect(open.nodes).to.deep.equal(all.nodes.filter(({ readAt }) => readAt === null))
    expect(open.totalCount).to.equal(await unread())
  })

  // [Notification inbox 2]
  it('marks one notification read, and keeps the first moment when it is repeated', async () => {
    const before = await unread()
    const first = (await ask({ query: markRead, variables: { id: 'not_sam_14' } })).body
    expect(first.errors).to.equal(undefined)
    const again = (await ask({ query: markRead, variables: { id: 'not_sam_14' } })).body
    expect(again).to.deep.equal(first)
    expect(await unread()).to.equal(before - 1)
  })

  // [Notification inbox 2]
  it('marks every notification read, of this person only', async () => {
    const before = await unread()
    const query = 'mutation { markAllNotificationsRead { markedCount unreadNotificationCount } }'
    const count = async () => (await ask({ query })).body.data?.['markAllNotificationsRead']
    expect(await count()).to.deep.equal({ markedCount: before, unreadNotificationCount: 0 })
    expect(await count()).to.deep.equal({ markedCount: 0, unreadNotificationCount: 0 })
    const others = await running.service.stores.database.kysely
      .selectFrom('notification')
      .select('id')
      .where('person_id', '!=', 'per_sam')
      .where('read_at', 'is', null)
      .execute()
    expect(others.length).to.be.above(0)
  })

  // [Notification inbox 2]
  it('switches a subscription on and off, repeatably', async () => {
    for (const enabled of [true, true, false, false, true]) {
      const { body } = await ask({
        query: subscribe,
        variables: { id: 'sub_sam_replies_email', enabled },
      })
      expect(body.data?.['updateNotificationSubscription']).to.deep.equal({
        notificationSubscription: {
          id: 'sub_sam_replies_email',
          topic: 'replies',
          channel: 'EMAIL',
          enabled,
        },
      })
    }
    const { notificationSubscriptions } = await read<{
      notificationSubscriptions: { id: string; enabled: boolean }[]
    }>('{ notificationSubscriptions { id enabled } }')
    expect(notificationSubscriptions).to.have.length(12)
    expect(
      notificationSubscriptions.find(({ id }) => id === 'sub_sam_replies_email')?.enabled,
    ).to.equal(true)
  })

  it('says of a failed mutation what failed, and keeps what the others did', async () => {
    const { status, body } = await ask({
      query: `mutation {
        good: markNotificationRead(id: "not_sam_14") { notification { id } }
        bad: markNotificationRead(id: "not_noor_01") { notification { id } }
      }`,
    })
    expect(status).to.equal(200)
    expect(body.data).to.deep.equal({ good: { notification: { id: 'not_sam_14' } }, bad: null })
    expect(body.errors).to.have.length(1)
    expect(body.errors?.[0]).to.deep.include({
      message: 'there is no such notification',
      path: ['bad'],
    })
    expect(body.errors?.[0]?.extensions).to.deep.equal({ code: 'NOT_FOUND' })
  })

  for (const [what, body] of Object.entries({
    'a mutation': { query: markRead, variables: { id: 'not_sam_14' } },
    'several mutations under aliases': {
      query: `mutation {
        a: markAllNotificationsRead { markedCount }
        b: markNotificationRead(id: "not_sam_14") { unreadNotificationCount }
      }`,
    },
    'the mutation of a document that also has a query': {
      query:
        'query read { viewer { id } } mutation change { markAllNotificationsRead { markedCount } }',
      operationName: 'change',
    },
    'a mutation inside a fragment': {
      query:
        'mutation { ...change } fragment change on Mutation { markAllNotificationsRead { markedCount } }',
    },
    'a mutation that skips itself': {
      query: 'mutation { markAllNotificationsRead @skip(if: true) { markedCount } }',
    },
  })) {
    // [Member API 4; Scopes 10; threat 12; 103]
    it(`answers ${what} 403 insufficient_scope with ${MEMBER_READ} alone, and changes nothing [design 21]`, async () => {
      const before = await inboxes()
      const answer = await ask(body, await memberToken(running.url, readOnly))
      expect(answer.status).to.equal(403)
      expect(answer.body).to.deep.equal({
        error: 'insufficient_scope',
        error_description: `this needs the scope ${MEMBER_WRITE}`,
      })
      expect(answer.headers.get('www-authenticate')).to.include(
        `error="insufficient_scope", error_description="this needs the scope ${MEMBER_WRITE}", scope="openid ${MEMBER_READ} ${MEMBER_WRITE}"`,
      )
      expect(await inboxes()).to.equal(before)
    })
  }

  it('answers the query of a document that also has a mutation, and changes nothing', async () => {
    const before = await inboxes()
    const answer = await ask(
      {
        query:
          'query read { viewer { id } } mutation change { markAllNotificationsRead { markedCount } }',
        operationName: 'read',
      },
      await memberToken(running.url, readOnly),
    )
    expect(answer.body.data).to.deep.equal({ viewer: { id: 'per_sam' } })
    expect(answer.body.errors).to.equal(undefined)
    expect(await inboxes()).to.equal(before)
  })

  // [Scopes 2]
  it('reads nothing with the scope for changes alone: neither scope contains the other', async () => {
    const writer = await memberToken(running.url, `openid ${MEMBER_WRITE}`)
    const refused = await ask({ query: '{ viewer { id } }' }, writer)
    expect(refused.status).to.equal(403)
    expect(refused.headers.get('www-authenticate')).to.include(
      `scope="openid ${MEMBER_READ} ${MEMBER_WRITE}"`,
    )
    const changed = await ask({ query: markRead, variables: { id: 'not_sam_14' } }, writer)
    expect(changed.body.errors).to.equal(undefined)
  })
})
