import { locationOf } from '../src/platform/store/open-stores.ts'
import { postDelivery } from '../src/school/posts/delivery.ts'
import { mutationOf, operatorSite } from './support/admin-api.ts'
import { change, insert, remove, rowsOf } from './support/database.ts'
import { memberReader } from './support/member-api.ts'
import { race } from './support/programs.ts'
import { forEachDatabase } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const post = {
  title: 'The studio opens earlier',
  body: 'From Monday on the kettle is on at eight.',
  link: 'https://northlight.example/studio',
}

/** More subscribers than fit into two batches. Publishing delivers only the first batch. */
const MANY = 1300
const subscribers = Array.from({ length: MANY }, (_, n) => `per_n${String(n).padStart(5, '0')}`)
const everyReader = [...subscribers, 'per_sam']

forEachDatabase('the Admin API: announcements', (start) => {
  const { running, value, refused, kysely } = operatorSite(start, {
    each: true,
    // Keep the background task from running: the tests deliver the other batches themselves.
    policy: (policy) => ({ ...policy, posts: { deliverySeconds: 600 } }),
  })

  const createPost = mutationOf('createPost', 'id post { topic title body link publishedAt }')
  const create = async (input: object = post) => await value(createPost, { input })
  const publish = async (id: string) =>
    (await value(`mutation { publishPost(id: "${id}") { post { publishedAt deliveredAt } } }`)).post
  const inboxOfSam = async () => {
    const reads = await memberReader(running().url)
    const { notifications } = await reads('{ notifications { nodes { title topic link } } }')
    return notifications.nodes.filter(({ title }: Json) => title === post.title)
  }
  const receivers = async (post_id: string) =>
    (await rowsOf(kysely(), 'notification', { post_id })).map(({ person_id }) => person_id).sort()
  const subscribe = async (ids: readonly string[]) => {
    const site_id = 'sit_northlight'
    const people = ids.map((id) => ({
      ...{ id, email: `${id}@example.org`, email_canonical: `${id}@example.org`, name: id },
      created_at: 1,
    }))
    await insert(kysely(), 'person', people)
    const student = { site_id, role: 'student', granted_at: 1 } as const
    const students = ids.map((person_id) => ({ ...student, person_id }))
    await insert(kysely(), 'site_role', students)
    const inbox = { site_id, topic: 'announcements', channel: 'inbox', enabled_at: 1 } as const
    const subscriptions = ids.map((id) => ({ ...inbox, id: `sub_${id}`, person_id: id }))
    await insert(kysely(), 'notification_subscription', subscriptions)
  }
  const deliver = async (signal = new AbortController().signal, now = Date.now) =>
    await postDelivery({ ...running().service.stores, now }, 1).run(signal)
  const deliverTwice = async () => {
    const task = { task: 'deliver', location: locationOf(running().config, 4) } as const
    expect(await race(task, task)).to.deep.equal([])
  }

  it('reaches subscribers’ inboxes once, at their next request, but not those of people who unsubscribed or lost the role', async () => {
    await subscribe(subscribers.slice(0, 3))
    const [off = '', mail = '', gone = ''] = subscribers
    const ofPerson = (person_id: string) =>
      [kysely(), 'notification_subscription', { person_id }] as const
    await change(...ofPerson(off), { enabled_at: null })
    await change(...ofPerson(mail), { channel: 'email' })
    await remove(kysely(), 'site_role', { person_id: gone })
    const { id, post: made } = await create()
    expect(made).to.deep.equal({ ...post, topic: 'announcements', publishedAt: null })
    expect(await inboxOfSam()).to.deep.equal([])
    const published = await publish(id)
    expect(published.deliveredAt).to.be.a('string')
    const { title, link } = post
    expect(await inboxOfSam()).to.deep.equal([{ title, topic: 'announcements', link }])
    expect(await publish(id)).to.deep.equal(published)
    expect(await receivers(id)).to.deep.equal(['per_sam'])
  })

  it('resumes an interrupted delivery without duplicates', async () => {
    await subscribe(subscribers)
    const { id } = await create()
    expect((await publish(id)).deliveredAt).to.equal(null)
    expect(await receivers(id)).to.have.length.within(1, MANY - 1)
    const stopping = new AbortController()
    const stopped = deliver(stopping.signal)
    stopping.abort()
    await stopped
    expect(await receivers(id)).to.have.length.below(MANY)
    await deliver()
    expect(await receivers(id)).to.deep.equal(everyReader)
    expect((await value(`{ post(id: "${id}") { deliveredAt } }`)).deliveredAt).to.be.a('string')
  })

  it('does not wait for hundreds of earlier posts of another site', async () => {
    const many = (site_id: string, count: number, times: object) =>
      Array.from({ length: count }, (_, n) => ({
        ...{ id: `pst_${site_id}_${n}_${Object.keys(times)}`, site_id, ...post, topic: 'nobody' },
        ...{ created_at: 1, updated_at: 1, published_at: n, ...times },
      }))
    await insert(kysely(), 'post', [
      ...many('sit_northlight', 150, {}),
      ...many('sit_northlight', 150, { removed_at: 1 }),
      ...many('sit_open_kitchen', 1, { published_at: 1000 }),
    ])
    let step = 1000
    await deliver(undefined, () => (step += 1))
    const delivered = (await rowsOf(kysely(), 'post', { topic: 'nobody' })).sort(
      (one, other) => Number(one.delivered_at) - Number(other.delivered_at),
    )
    expect(delivered).to.have.lengthOf(151)
    expect(delivered.findIndex(({ site_id }) => site_id === 'sit_open_kitchen')).to.be.at.most(1)
  })

  it('is delivered once when two processes deliver it at once, and leaves every inbox when it is deleted', async () => {
    await subscribe(subscribers)
    const { id } = await create()
    await publish(id)
    await deliverTwice()
    expect(await receivers(id)).to.deep.equal(everyReader)
    const deletion = `mutation { deletePost(id: "${id}") { deletedId } }`
    expect(await value(deletion)).to.deep.equal({ deletedId: id })
    expect(await value(`{ post(id: "${id}") { id } }`)).to.equal(null)
    expect(await refused(deletion)).to.equal('NOT_FOUND')
    await deliverTwice()
    expect([await receivers(id), await inboxOfSam()]).to.deep.equal([[], []])
    expect(await rowsOf(kysely(), 'post')).to.deep.equal([])
  })

  it('can be changed until it is published', async () => {
    const { id } = await create({ ...post, topic: 'studio' })
    const update = mutationOf('updatePost', 'post { title link topic }')
    const changed = { title: 'Another title', link: null, topic: 'announcements' }
    expect(await value(update, { input: { id, ...changed } })).to.deep.equal({ post: changed })
    await publish(id)
    expect(await refused(update, { input: { id, title: 'Too late' } })).to.equal('CONFLICT')
  })
})
