import { readScope, writeScope } from '../src/directory/scopes/catalogue.ts'
import { rowsOf } from './support/database.ts'
import type { RunningService } from './support/gatehouse.ts'
import { operatorToken, readTool, toolNames } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const areas = ['courses', 'curriculum', 'students', 'posts'] as const
const furtherAreas = [...areas, 'digital_products', 'events', 'members'] as const
const scopesOf = (some: readonly (typeof furtherAreas)[number][]) =>
  [...some.map(writeScope), ...some.map(readScope)].join(' ')

const assistantWith = ({ url }: RunningService, token: string) => ({
  tools: async () => await toolNames(url, token),
  call: async (name: string, values = {}) => await readTool(url, name, { token, values }),
})

const operatorsAssistant = async (running: RunningService, scopes = scopesOf(areas)) =>
  assistantWith(running, await operatorToken(running.url, scopes))

forEachDatabase('an operator’s assistant', (start) => {
  it('creates a course, enrols a person and announces it, and the person sees both at once', async () => {
    await using running = await start()
    const assistant = await operatorsAssistant(running)
    const tools = await assistant.tools()
    expect(tools).to.include('create_course').and.not.include('list_site_orders')

    const course = { slug: 'fog', title: 'Photographing Fog', summary: 'Three grey mornings.' }
    const { id: courseId } = await assistant.call('create_course', course)
    const titles = ['Before dawn', 'In it', 'When it lifts']
    for (const title of titles)
      await assistant.call('create_lecture', { courseId, title, durationSeconds: 600 })
    const section = { courseId, title: 'Week one' }
    const { id: first } = await assistant.call('create_section', section)
    await assistant.call('delete_section', { id: first })
    const { id: again } = await assistant.call('create_section', section)
    expect(again).to.not.equal(first)
    await assistant.call('delete_section', { id: again })
    expect((await assistant.call('create_course', course)).id).to.equal(courseId)
    await assistant.call('publish_course', { id: courseId })
    const { lectures } = await assistant.call('get_site_curriculum', { slug: 'fog' })
    expect(lectures.map(({ title }: Json) => title)).to.deep.equal(titles)

    const found = await assistant.call('list_site_students', { search: 'sam@' })
    const [{ id: personId }] = found.nodes
    await assistant.call('enrol_student', { personId, courseId, hasLifetimeAccess: true })
    const news = { title: 'A new course: fog', body: 'Bring gloves.' }
    const { id: postId } = await assistant.call('create_post', news)
    await assistant.call('publish_post', { id: postId })

    const member = assistantWith(running, await memberToken(running.url))
    const courses = await member.call('list_enrolled_courses', { first: 1 })
    expect(courses.nodes[0]).to.include({ slug: 'fog', hasLifetimeAccess: true })
    const inbox = await member.call('list_notifications', { first: 1 })
    expect(inbox.nodes[0]).to.include({ ...news, readAt: null })

    await assistant.call('end_enrolment', { id: courses.nodes[0].id })
    const [ended] = (await member.call('list_enrolled_courses', { first: 1 })).nodes
    expect(ended.hasLifetimeAccess).to.equal(false)
    await assistant.call('delete_post', { id: postId })
    const after = await member.call('list_notifications', { first: 1 })
    expect(after.nodes[0]).to.not.include({ title: news.title })
  })

  it('changes and deletes sections, lectures and posts, with its requests in the audit trail', async () => {
    await using running = await start()
    const assistant = await operatorsAssistant(running)
    const courseId = 'crs_reading_light'
    const { id: sectionId } = await assistant.call('create_section', { courseId, title: 'Outside' })
    await assistant.call('update_section', { id: sectionId, title: 'Outdoors', position: 1 })
    await assistant.call('delete_section', { id: sectionId })
    await assistant.call('delete_lecture', { id: 'lec_light_direction' })
    const { id: postId } = await assistant.call('create_post', { title: 'Draft', body: 'Not yet.' })
    await assistant.call('update_post', { id: postId, body: 'Now.' })
    expect(await assistant.call('get_site_post', { id: postId })).to.include({ body: 'Now.' })
    const trail = await rowsOf(running.kysely, 'audit_event', { subject_id: sectionId })
    const actions = ['section.create', 'section.update', 'section.delete']
    expect(trail.map(({ action }) => action)).to.have.members(actions)
    for (const { actor_person_id, request_id } of trail)
      expect([actor_person_id, request_id !== null]).to.deep.equal(['per_olivia', true])
  })
  it('takes back what was not published, a registration, an enrolment and a role', async () => {
    await using running = await start()
    const assistant = await operatorsAssistant(running, scopesOf(furtherAreas))
    const draft = { slug: 'draft', title: 'Draft', summary: 'Not yet.' }
    const times = { startsAt: '2027-05-01T09:00:00Z', endsAt: '2027-05-01T11:00:00Z' }
    const { id: courseId } = await assistant.call('create_course', draft)
    const made = { ...draft, fileName: 'draft.pdf' }
    const { id: productId } = await assistant.call('create_digital_product', made)
    const { id: eventId } = await assistant.call('create_event', { ...draft, ...times })
    const deleted = [
      await assistant.call('delete_course', { id: courseId }),
      await assistant.call('delete_digital_product', { id: productId }),
      await assistant.call('delete_event', { id: eventId }),
    ]
    expect(deleted.map(({ deletedId }) => deletedId)).to.deep.equal([courseId, productId, eventId])

    const ids = { eventId: 'evt_dawn_walk', personId: 'per_noor' }
    await assistant.call('register_for_event', ids)
    const { registrations } = await assistant.call('get_site_event', { slug: 'dawn-walk' })
    const mine = registrations.nodes.find(({ personId }: Json) => personId === ids.personId)
    const { registration } = await assistant.call('cancel_registration', { id: mine.id })
    expect(registration).to.include({ personId: 'per_noor' })
    expect(registration.cancelledAt).to.be.a('string')

    const { enrolments } = await assistant.call('get_site_student', { id: 'per_sam' })
    const expireDate = '2030-01-01T00:00:00Z'
    const updated = { id: enrolments[0].id, expireDate }
    const { enrolment } = await assistant.call('update_enrolment', updated)
    expect(Date.parse(enrolment.expireDate)).to.equal(Date.parse(expireDate))
    await assistant.call('remove_member', { id: 'per_sam' })
    expect((await assistant.call('list_site_members', { search: 'sam@' })).nodes).to.deep.equal([])
  })
})
