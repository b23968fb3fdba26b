import type { Tool } from '../src/api/mcp/tool.ts'
import { toolCatalogue } from '../src/api/mcp/tool-catalogue.ts'
import { readScope, writeScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { operatorSite } from './support/admin-api.ts'
import { startService } from './support/gatehouse.ts'
import { callTool, operatorToken, problemOf, readTool } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'

type Values = Record<string, unknown>

const courseId = 'crs_reading_light'
const lecture = { courseId, title: 'Break', durationSeconds: 60 }
const forLife = { courseId, hasLifetimeAccess: true }
const walk = { id: 'evt_dawn_walk' }
const mustBeTime = /startsAt must be a time .* like 2026-10-01T00:00:00Z/
const nowhere = /There is no site with the slug nowhere\..*list_sites/
const coursesOfSite = /list_public_courses with site: "northlight"/
const listCursor = /"after" must be the pageInfo\.endCursor from a page of this list\. Omit it for/

/** The tools with arguments that may be null, and their required arguments. */
const clearing: Readonly<Record<string, Values>> = {
  update_site: {},
  update_course: { id: courseId },
  update_event: walk,
  update_appearance: {},
  create_course: { slug: 'nulls', title: 'Nulls', summary: 'None.' },
  create_event: {
    ...{ slug: 'nulls', title: 'Nulls', summary: 'None.' },
    ...{ startsAt: '2030-01-01T10:00:00Z', endsAt: '2030-01-01T12:00:00+01:00' },
  },
  create_post: { title: 'Nulls', body: 'None.' },
  update_post: {},
  move_lecture: { id: 'lec_light_window' },
}

const argumentsOf = (tool: Tool) =>
  Object.entries<{ type: unknown; description: string }>(Object(tool.input()['properties']))
const clearableOf = (tool: Tool) =>
  argumentsOf(tool).flatMap(([argument, { type }]) => (Array.isArray(type) ? [argument] : []))

const mistakes: readonly (readonly [tool: string, values: Values, said: RegExp])[] = [
  ['create_course', { title: 'x' }, /slug is required\. summary is required\./],
  ['create_course', { slug: 5, title: 'x', summary: 'x' }, /slug must be a string\./],
  ['create_lecture', { ...lecture, courseId: 'nope' }, /^courseId: .* Call list_site_courses/],
  ['create_lecture', { ...lecture, sectionId: 'nope' }, /^sectionId: .* Call get_site_curriculum/],
  ['create_lecture', { ...lecture, durationSeconds: '1' }, /durationSeconds must be an integer/],
  ['enrol_student', { personId: 'per_sam', courseId }, /expireDate .*hasLifetimeAccess/],
  ['enrol_student', { ...forLife, personId: 'nope' }, /^personId: .* Call list_site_members/],
  ['update_event', { id: 'nope', location: 'Pier' }, /^id: .* Call list_site_events/],
  ['update_event', { ...walk, startsAt: '2026-10-01' }, mustBeTime],
  ['cancel_registration', { id: 'nope' }, /^id: .* Call get_site_event to/],
  ['get_site_course', {}, /id or slug is required\. Call list_site_courses/],
  ['get_site_course', { slug: 'nope' }, /no object with this slug\. Call list_site_courses/],
  ['list_site_courses', { state: 'OPEN' }, /state must be one of DRAFT, SCHEDULED/],
  ['set_member_roles', { id: 'per_sam', roles: ['PUPIL'] }, /roles must be a list; each/],
  ['update_site', { name: '' }, /name must not be empty/],
  ['publish_course', { id: 'nope' }, /Call list_site_courses/],
  ['get_site_student', { id: 'nope' }, /Call list_site_students/],
  ['publish_course', {}, /The tool takes id \(required\), at\./],
  ['publish_course', { id: 'x', when: 1 }, /id \(required\), at\./],
  ['list_site_courses', { first: 0 }, /"first" must be from 1 to 100/],
  ['list_site_courses', { after: 'nonsense' }, listCursor],
  ['list_public_courses', { site: 'nowhere' }, nowhere],
  ['get_public_course', { site: 'nowhere', slug: 'x' }, nowhere],
  ['get_public_course', { site: 'northlight', slug: 'nothing' }, coursesOfSite],
  ['list_public_courses', { place: 'here' }, /The tool takes site, search, first, after\./],
  ['get_service_info', { x: 1 }, /The tool takes no arguments\./],
]

forEachDatabase('the arguments of tools', (start) => {
  const { operator } = operatorSite(start)

  it('may be null exactly where the schema says so, and null then has an effect', async () => {
    const { url, token } = operator()
    const draft = { title: 'A draft', body: 'With a link.', link: 'https://school.example/' }
    const { id } = await readTool(url, 'create_post', { values: draft, token })
    const nullable = toolCatalogue.filter((tool) => clearableOf(tool).length > 0)
    expect(nullable.map(({ name }) => name)).to.have.members(Object.keys(clearing))
    for (const tool of nullable) {
      const own = tool.name === 'update_post' ? { id } : clearing[tool.name]
      const nulls = Object.fromEntries(clearableOf(tool).map((argument) => [argument, null]))
      await readTool(url, tool.name, { values: { ...own, ...nulls }, token })
    }
    const post = await readTool(url, 'get_site_post', { values: { id }, token })
    expect(post).to.include({ link: null })
    expect(await readTool(url, 'get_site', { token })).to.include({ contactEmail: null })
    // Where the schema does not allow null, it counts as omitted, because some models send null anyway.
    const values = { id: courseId, title: null, url: 'https://school.example/light' }
    const { course } = await readTool(url, 'update_course', { values, token })
    expect(course.title).to.be.a('string')
  })

  it('are named in errors, with a tool that the caller can use, but without other people’s values', async () => {
    const { url, token } = operator()
    for (const [name, values, said] of mistakes) {
      expect(await problemOf(url, name, { values, token }), name)
        .to.match(said)
        .and.to.not.match(/\$input|idempotencyKey: |call [\w-]{20}/)
    }
    const writer = await operatorToken(url, writeScope('curriculum'))
    const values = { ...lecture, courseId: 'nope' }
    const problem = await problemOf(url, 'create_lecture', { values, token: writer })
    expect(problem).to.equal('courseId: there is no course with this id.')
    expect(await problemOf(url, 'list_public_courses')).to.include('list_sites')
    const ofNoor = { values: { id: 'not_noor_01' }, token: await memberToken(url) }
    expect(await problemOf(url, 'mark_notification_read', ofNoor)).to.equal(
      'id: there is no notification with this id. Call list_notifications to list valid values.',
    )
  })

  it('state the format of each time with an example', () => {
    const times = toolCatalogue
      .flatMap(argumentsOf)
      .filter(([argument]) => /^(from|until|at|startsAt|endsAt|expireDate)$/.test(argument))
    expect(times).to.have.length.above(10)
    for (const [argument, { description }] of times)
      expect(description, argument).to.include('2026-10-01T00:00:00Z')
  })

  it('of two equal calls create one object, and the second answer says so', async () => {
    const { url, token } = operator()
    const create = async (more: Values = {}) =>
      await readTool(url, 'create_lecture', { values: { ...lecture, ...more }, token })
    const made = await create()
    expect(made).to.deep.include({ isNew: true })
    expect(made.lecture).to.include({ title: 'Break', sectionId: null })
    const merged = await create()
    expect([merged.id, merged.isNew]).to.deep.equal([made.id, false])
    expect(merged.note).to.match(/^The object already existed/)
    expect((await create({ idempotencyKey: 'another' })).id).to.not.equal(made.id)
    const values = { personId: 'per_noor', courseId: 'crs_documentary', hasLifetimeAccess: true }
    for (const isNew of [true, false]) {
      const enrolled = await readTool(url, 'enrol_student', { values, token })
      const expected = isNew ? [true, undefined] : [false, 'The object already existed']
      expect([enrolled.isNew, enrolled.note?.slice(0, 26)]).to.deep.equal(expected)
      expect(enrolled.enrolment).to.deep.include({ personId: 'per_noor', hasLifetimeAccess: true })
    }
  })
})

it('the refusal of an unknown tool names similar tools, or the address that has it', async () => {
  await using service = await startService()
  const { url } = service
  const member = await memberToken(url)
  const operator = await operatorToken(url, readScope('courses'))
  const writer = await operatorToken(url, writeScope('courses'))
  for (const [name, path, token, said] of [
    ['listCourses', paths.mcp, undefined, 'list_public_courses'],
    ['get-course', paths.mcp, undefined, 'get_public_course'],
    ['remove_lesson_course', paths.mcpAdmin, writer, 'archive_course'],
    ['zzz', paths.mcp, undefined, 'There is no tool with that name. Call tools/list for'],
    ['list_site_courses', paths.mcpMember, member, `Connect to ${url}${paths.mcpAdmin}`],
    ['get_viewer', paths.mcpAdmin, operator, `Connect to ${url}${paths.mcpMember}`],
  ] as const) {
    const { error } = (await callTool(url, name, { token, path })).body
    expect(error.code).to.equal(-32_602)
    expect(error.message).to.include(said)
  }
})
