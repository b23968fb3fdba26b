import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

import { readScope, writeScope } from '../src/directory/scopes/catalogue.ts'
import { pathForChanges } from '../src/platform/http/paths.ts'
import { rowsOf } from './support/database.ts'
import { olivia, startService } from './support/gatehouse.ts'
import { answerIn, operatorToken, readTool, sdkProvider } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { makePagePerson, matchesIn } from './support/page-person.ts'
import { rejection } from './support/rejection.ts'
import { forEachDatabase, sharedService } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const ice = { slug: 'ice', title: 'Ice', summary: 'Cold.' }

describe('the tasks of an agent that knows only what each answer says', () => {
  const running = sharedService()

  it('an operator’s course with client 1 of the SDK takes one consent, two approvals and 18 calls at most (design 37 and 38)', async () => {
    await using service = await startService({ demandsApprovals: true })
    const { url } = service
    const address = new URL(url + pathForChanges(['courses', 'curriculum', 'students']))
    const redirectUri = 'http://127.0.0.1:9/callback'
    const { asked, provider, callback } = sdkProvider({ redirectUri }, olivia)
    const open = () =>
      new StreamableHTTPClientTransport(address, { authProvider: provider as never })
    const connect = async (transport = open()) => {
      const client = new Client({ name: 'an SDK v1 host', version: '1.0.0' })
      await client.connect(transport as never)
      return client
    }
    const first = open()
    expect(await rejection(connect(first))).to.be.instanceOf(UnauthorizedError)
    await first.finishAuth(callback().get('code') ?? '')
    const client = await connect()
    let [calls, approvals] = [0, 0]
    const send = async (name: string, values: object) => {
      calls += 1
      return await client.callTool({ name, arguments: { ...values } })
    }
    const call = async (name: string, values: object) => {
      const answer = await send(name, values)
      expect(answer.isError, `${name}: ${JSON.stringify(answer.content)}`).to.not.equal(true)
      return answerIn(answer)
    }
    /** Sends changes that need an approval, lets the person approve all of them at once, and repeats them. */
    const approved = async (...changes: (readonly [name: string, values: object])[]) => {
      let page = ''
      for (const [name, values] of changes) {
        const answer = await send(name, values)
        expect(answer.isError).to.equal(true)
        page = /\/admin\/\S+\?client=[\w-]+/.exec(answerIn(answer))?.[0] ?? ''
      }
      const person = makePagePerson(url, olivia)
      const shown = await person.visit(page)
      const change = matchesIn(shown.text, /name="change" value="([^"]*)"/g)
      expect(change).to.have.length(changes.length)
      await person.send(shown, page.split('?', 1)[0] ?? '', { change, decision: 'approve' })
      approvals += 1
      for (const [name, values] of changes) await call(name, values)
    }

    const { id: courseId } = await call('create_course', ice)
    for (const title of ['Frost', 'Rime', 'Thaw'])
      await call('create_lecture', { courseId, title, durationSeconds: 60 })
    await approved(['publish_course', { id: courseId }])
    const { nodes } = await call('list_site_members', { search: 'theo' })
    const wish = { personId: nodes[0].id, courseId, hasLifetimeAccess: true }
    const { id } = await call('enrol_student', wish)
    const now = new Date()
    const monthStart = (back: number) =>
      new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString()
    const lastMonth = { from: monthStart(1), until: monthStart(0) }
    expect(await call('get_site_revenue', lastMonth)).to.deep.include(lastMonth)
    await approved(['end_enrolment', { id }], ['archive_course', { id: courseId }])
    expect((await call('get_site_course', { id: courseId })).state).to.equal('ARCHIVED')
    expect([asked.length, approvals]).to.deep.equal([1, 2])
    expect(calls).to.be.at.most(18)
    await client.close()
  })

  it('a student sees purchases and what ends next, and marks a message as read, in 5 calls', async () => {
    const { url } = running()
    const token = await memberToken(url)
    let calls = 0
    const call = async (name: string, values: Record<string, unknown> = {}): Promise<Json> => {
      calls += 1
      return await readTool(url, name, { values, token })
    }
    const purchases = await call('list_purchases')
    for (const kind of ['digitalProducts', 'consultingServices', 'eventRegistrations'])
      expect(purchases[kind].nodes, kind).to.not.be.empty
    const soon = { access: 'ACTIVE', sort: 'EXPIRE_DATE', first: 1 }
    const { nodes } = await call('list_enrolled_courses', soon)
    const ends = purchases.enrolledCourses.nodes.map(({ expireDate }: Json) => expireDate)
    expect(ends).to.include(nodes[0].expireDate)
    const unread = await call('list_notifications', { unreadOnly: true })
    await call('mark_notification_read', { id: unread.nodes[0].id })
    const { unreadNotificationCount } = await call('get_unread_notification_count')
    expect(unreadNotificationCount).to.equal(unread.totalCount - 1)
    expect(calls).to.equal(5)
  })
})

forEachDatabase('an operator’s assistant', (start) => {
  it('creates a course, enrols a person and announces it, and the person sees both at once', async () => {
    await using running = await start()
    const areas = ['courses', 'curriculum', 'students', 'posts'] as const
    const scopes = areas.flatMap((area) => [writeScope(area), readScope(area)])
    const token = await operatorToken(running.url, scopes.join(' '))
    const call = async (name: string, values: Record<string, unknown>) =>
      await readTool(running.url, name, { token, values })

    const course = { slug: 'fog', title: 'Photographing Fog', summary: 'Three grey mornings.' }
    const { id: courseId } = await call('create_course', course)
    const titles = ['Before dawn', 'In it', 'When it lifts']
    for (const title of titles)
      await call('create_lecture', { courseId, title, durationSeconds: 600 })
    const section = { courseId, title: 'Week one' }
    const { id: first } = await call('create_section', section)
    await call('delete_section', { id: first })
    const { id: again } = await call('create_section', section)
    expect(again).to.not.equal(first)
    await call('delete_section', { id: again })
    const trail = await rowsOf(running.kysely, 'audit_event', { subject_id: again })
    expect(trail.map(({ action }) => action)).to.have.members(['section.create', 'section.delete'])
    for (const { actor_person_id, request_id } of trail)
      expect([actor_person_id, typeof request_id]).to.deep.equal(['per_olivia', 'string'])
    expect((await call('create_course', course)).id).to.equal(courseId)
    await call('publish_course', { id: courseId })
    const { lectures } = await call('get_site_curriculum', { slug: 'fog' })
    expect(lectures.map(({ title }: Json) => title)).to.deep.equal(titles)

    const found = await call('list_site_students', { search: 'sam@' })
    const wish = { personId: found.nodes[0].id, courseId, hasLifetimeAccess: true }
    await call('enrol_student', wish)
    const news = { title: 'A new course: fog', body: 'Bring gloves.' }
    const { id: postId } = await call('create_post', news)
    await call('publish_post', { id: postId })

    const asMember = { token: await memberToken(running.url), values: { first: 1 } }
    const newest = async (list: string) => (await readTool(running.url, list, asMember)).nodes[0]
    const enrolled = await newest('list_enrolled_courses')
    expect(enrolled).to.include({ slug: 'fog', hasLifetimeAccess: true })
    expect(await newest('list_notifications')).to.include({ ...news, readAt: null })

    await call('end_enrolment', { id: enrolled.id })
    expect(await newest('list_enrolled_courses')).to.include({ hasLifetimeAccess: false })
    await call('delete_post', { id: postId })
    expect(await newest('list_notifications')).to.not.include({ title: news.title })
  })
})
