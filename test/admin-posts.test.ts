import { join } from 'node:path'

import { expect } from 'chai'

import type { DatabaseLocation } from '../src/platform/store/database.ts'
import { postDelivery } from '../src/school/posts/delivery.ts'
import type { WorkerResult, WorkerTask } from './store-worker.ts'
import { type Operator, startOperator } from './support/admin-api.ts'
import { type RunningService, sam } from './support/gatehouse.ts'
import { memberToken, readMember } from './support/member-api.ts'
import { race } from './support/programs.ts'
import { forEachDatabase } from './support/storages.ts'

const post = {
  title: 'The studio opens earlier',
  body: 'From Monday on the kettle is on at eight.',
  link: 'https://northlight.example/studio',
}

const worker = `${import.meta.dirname}/store-worker.ts`

/** More than two batches, so that something is left when the request has its answer. */
const MANY = 1300

forEachDatabase('the Admin API: announcements', (start) => {
  let running: RunningService
  let operator: Operator
  beforeEach(async () => {
    // What is left after a request is delivered by the tests themselves.
    running = await start({ policy: (policy) => ({ ...policy, posts: { deliverySeconds: 600 } }) })
    operator = await startOperator(running)
  })
  afterEach(async () => await running?.[Symbol.asyncDispose]())

  const createPost = `mutation ($input: CreatePostInput!) {
    createPost(input: $input) { id post { topic title body link publishedAt } }
  }`
  const create = async (input: object) => (await operator.run(createPost, { input })).createPost
  const publish = async (id: string) =>
    (
      await operator.run(
        `mutation { publishPost(id: "${id}") { post { publishedAt deliveredAt } } }`,
      )
    ).publishPost.post
  const inboxOf = async (person: { login: string; password: string }) => {
    const token = await memberToken(running.url, undefined, { person })
    const { notifications } = await readMember<{
      notifications: { nodes: { title: string; topic: string; link: string | null }[] }
    }>({ url: running.url, token }, '{ notifications { nodes { title topic link } } }')
    return notifications.nodes.filter(({ title }) => title === post.title)
  }
  /** Whose inboxes have the post, a person as often as they have it. */
  const receivers = async (id: string) => {
    const rows = await running.service.stores.database.kysely
      .selectFrom('notification')
      .select('person_id')
      .where('post_id', '=', id)
      .orderBy('person_id')
      .execute()
    return rows.map(({ person_id }) => person_id)
  }
  const addSubscribers = async (count: number) => {
    const { kysely } = running.service.stores.database
    const ids = Array.from({ length: count }, (_, n) => `per_n${String(n).padStart(5, '0')}`)
    for (let from = 0; from < count; from += 500) {
      const people = ids.slice(from, from + 500)
      const site = { site_id: 'sit_northlight' }
      await kysely
        .insertInto('person')
        .values(
          people.map((id) => ({
            ...{ id, email: `${id}@example.org`, email_canonical: `${id}@example.org`, name: id },
            ...{ picture: null, password_hash: null, disabled_at: null, created_at: 1 },
          })),
        )
        .execute()
      await kysely
        .insertInto('site_role')
        .values(people.map((id) => ({ ...site, person_id: id, role: 'student', granted_at: 1 })))
        .execute()
      await kysely
        .insertInto('notification_subscription')
        .values(
          people.map((id) => ({
            ...{ ...site, id: `sub_${id}`, person_id: id, topic: 'announcements' },
            ...{ channel: 'inbox', enabled_at: 1 },
          })),
        )
        .execute()
    }
    return ids
  }
  const deliver = async (signal: AbortSignal) =>
    await postDelivery({ ...running.service.stores, now: Date.now }, 1).run(signal)
  /** What two other processes of the service do at the same moment. */
  const deliverTwice = async () => {
    const { databaseUrl, dataDir } = running.config
    const location: DatabaseLocation =
      databaseUrl === undefined
        ? { kind: 'sqlite', file: join(dataDir, 'gatehouse.db') }
        : { kind: 'postgres', url: databaseUrl, connectionsMax: 4 }
    const task: WorkerTask = { task: 'deliver', location }
    const results = await race<WorkerResult>(worker, [task, task])
    expect(results).to.deep.equal([{ outcomes: [] }, { outcomes: [] }])
  }

  it('reaches the inboxes of subscribers to its topic, at their next request', async () => {
    const { id, post: made } = await create(post)
    expect(made).to.deep.equal({ ...post, topic: 'announcements', publishedAt: null })
    expect(await inboxOf(sam)).to.deep.equal([])
    const published = await publish(id)
    expect(published.deliveredAt).to.be.a('string')
    const { title, link } = post
    expect(await inboxOf(sam)).to.deep.equal([{ title, topic: 'announcements', link }])
    // Olivia operates the site, and never subscribed.
    expect(await receivers(id)).to.deep.equal(['per_sam'])
    expect(await publish(id)).to.deep.equal(published)
    expect(await receivers(id)).to.deep.equal(['per_sam'])
  })

  it('skips people who unsubscribed, read by e-mail only, or lost their role', async () => {
    const { kysely } = running.service.stores.database
    await addSubscribers(3)
    const off = kysely.updateTable('notification_subscription').where('id', '=', 'sub_per_n00000')
    await off.set({ enabled_at: null }).execute()
    const mail = kysely.updateTable('notification_subscription').where('id', '=', 'sub_per_n00001')
    await mail.set({ channel: 'email' }).execute()
    await kysely.deleteFrom('site_role').where('person_id', '=', 'per_n00002').execute()
    const { id } = await create(post)
    await publish(id)
    expect(await receivers(id)).to.deep.equal(['per_sam'])
  })

  it('goes on where a delivery stopped, and doubles nothing', async () => {
    const everybody = [...(await addSubscribers(MANY)), 'per_sam'].toSorted()
    const { id } = await create(post)
    const { deliveredAt } = await publish(id)
    expect(deliveredAt).to.equal(null)
    const first = await receivers(id)
    expect(first).to.have.length.within(1, MANY - 1)
    const stopping = new AbortController()
    const stopped = deliver(stopping.signal)
    stopping.abort()
    await stopped
    const then = await receivers(id)
    expect(then).to.have.length.below(MANY)
    await deliver(new AbortController().signal)
    expect(await receivers(id)).to.deep.equal(everybody)
    const { post: found } = await operator.run(`{ post(id: "${id}") { deliveredAt } }`)
    expect(found.deliveredAt).to.be.a('string')
  })

  it('does not wait behind the hundreds that another site has published or removed before', async () => {
    const { kysely } = running.service.stores.database
    const many = (site_id: string, count: number, times: object) =>
      Array.from({ length: count }, (_, n) => ({
        ...{ id: `pst_${site_id}_${n}_${Object.keys(times)}`, site_id, ...post, topic: 'nobody' },
        ...{ created_by: null, created_at: 1, updated_at: 1, published_at: n, ...times },
      }))
    const posts = [
      ...many('sit_northlight', 150, {}),
      ...many('sit_northlight', 150, { removed_at: 1 }),
      ...many('sit_open_kitchen', 1, { published_at: 1000 }),
    ]
    for (let from = 0; from < posts.length; from += 100) {
      await kysely
        .insertInto('post')
        .values(posts.slice(from, from + 100))
        .execute()
    }
    let step = 1000
    const now = () => {
      step += 1
      return step
    }
    await postDelivery({ ...running.service.stores, now }, 1).run(new AbortController().signal)
    const delivered = await kysely
      .selectFrom('post')
      .select(['site_id', 'delivered_at'])
      .where('topic', '=', 'nobody')
      .orderBy('delivered_at')
      .execute()
    expect(delivered).to.have.lengthOf(151)
    const place = delivered.findIndex(({ site_id }) => site_id === 'sit_open_kitchen')
    expect(place).to.be.at.most(1)
  })

  it('delivers one notification to each person when two processes deliver at once', async () => {
    const everybody = [...(await addSubscribers(MANY)), 'per_sam'].toSorted()
    const { id } = await create(post)
    await publish(id)
    await deliverTwice()
    expect(await receivers(id)).to.deep.equal(everybody)
  })

  it('takes a removed one out of every inbox, and knows it no longer', async () => {
    await addSubscribers(MANY)
    const { id } = await create(post)
    await publish(id)
    await deliver(new AbortController().signal)
    const remove = `mutation { deletePost(id: "${id}") { deletedId } }`
    expect((await operator.run(remove)).deletePost.deletedId).to.equal(id)
    expect((await operator.run(`{ post(id: "${id}") { id } }`)).post).to.equal(null)
    expect((await operator.refused(remove)).code).to.equal('NOT_FOUND')
    await deliverTwice()
    expect(await receivers(id)).to.deep.equal([])
    expect(await inboxOf(sam)).to.deep.equal([])
    const { kysely } = running.service.stores.database
    expect(await kysely.selectFrom('post').selectAll().execute()).to.deep.equal([])
  })

  it('takes other words before it is published, and none after', async () => {
    const { id } = await create({ ...post, topic: 'studio' })
    const update =
      'mutation ($input: UpdatePostInput!) { updatePost(input: $input) { post { title link topic } } }'
    const changed = { title: 'Another title', link: null, topic: 'announcements' }
    const { updatePost } = await operator.run(update, { input: { id, ...changed } })
    expect(updatePost.post).to.deep.equal(changed)
    await publish(id)
    const late = { input: { id, title: 'Too late' } }
    expect((await operator.refused(update, late)).code).to.equal('CONFLICT')
  })

  it('names the field that is wrong', async () => {
    for (const [field, value] of [
      ['link', 'javascript:alert(1)'],
      ['link', 'ftp://northlight.example/a'],
      ['topic', 'No Topic'],
      ['title', ''],
      ['body', 'x'.repeat(2001)],
    ] as const) {
      const input = { ...post, [field]: value }
      expect(await operator.refused(createPost, { input }), `${field} ${value}`).to.deep.equal({
        code: 'BAD_INPUT',
        argument: field,
      })
    }
  })

  it('lists, finds and filters, and makes one of several repetitions', async () => {
    const wish = { ...post, idempotencyKey: 'once' }
    const [one, same] = await Promise.all([create(wish), create(wish)])
    expect(same.id).to.equal(one.id)
    await publish((await create({ ...post, title: 'Out' })).id)
    const titles = async (args: string) => {
      const { posts } = await operator.run(`{ posts${args} { totalCount nodes { title } } }`)
      expect(posts.totalCount).to.equal(posts.nodes.length)
      return posts.nodes.map(({ title }: { title: string }) => title)
    }
    expect(await titles('')).to.deep.equal(['Out', post.title])
    expect(await titles('(published: true)')).to.deep.equal(['Out'])
    expect(await titles('(published: false, search: "STUDIO")')).to.deep.equal([post.title])
  })

  it('knows nothing of another site, and nothing without its scope', async () => {
    const { kysely } = running.service.stores.database
    await kysely
      .insertInto('post')
      .values({
        ...{ id: 'pst_kitchen', site_id: 'sit_open_kitchen', topic: 'news', title: 'Soup' },
        ...{ body: 'Hot.', created_at: 1, updated_at: 1 },
      })
      .execute()
    expect((await operator.run('{ post(id: "pst_kitchen") { id } }')).post).to.equal(null)
    for (const mutation of [
      'updatePost(input: { id: "pst_kitchen", title: "Mine" }) { id }',
      'publishPost(id: "pst_kitchen") { id }',
      'deletePost(id: "pst_kitchen") { deletedId }',
    ]) {
      const { code } = await operator.refused(`mutation { ${mutation} }`)
      expect(code, mutation).to.equal('NOT_FOUND')
    }
    const reader = await startOperator(running, { scopes: ['posts:read'] })
    const { status } = await reader.ask('mutation { deletePost(id: "pst_kitchen") { deletedId } }')
    expect(status).to.equal(403)
  })
})
