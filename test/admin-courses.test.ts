import { expect } from 'chai'

import { auditEvents, type Operator, startOperator } from './support/admin-api.ts'
import type { RunningService } from './support/gatehouse.ts'
import { readTool } from './support/mcp.ts'
import { forEachDatabase } from './support/storages.ts'

const course = { slug: 'winter-light', title: 'Winter Light', summary: 'Six walks in the snow.' }

forEachDatabase('the Admin API: courses and their curriculum', (start) => {
  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const create = async (input: object) => {
    const query =
      'mutation ($input: CreateCourseInput!) { createCourse(input: $input) { id course { slug title summary state } } }'
    return (await operator.run(query, { input })).createCourse
  }
  const publicSlugs = async () => {
    const { nodes } = await readTool<{ nodes: { slug: string }[] }>(
      running.url,
      'list_public_courses',
      { values: { site: 'northlight', first: 100 } },
    )
    return nodes.map(({ slug }) => slug)
  }
  const audited = async (action: string) => await auditEvents(running, action)

  // [threat 17]
  it('makes a draft, which visitors do not see, and audits it', async () => {
    const made = await create(course)
    expect(made.course).to.deep.equal({ ...course, state: 'DRAFT' })
    expect(await publicSlugs()).not.to.include(course.slug)
    const [event] = await audited('course.create')
    expect(event).to.include({
      ...{ actor_person_id: 'per_olivia', site_id: 'sit_northlight', subject_id: made.id },
      address: '127.0.0.0/24',
    })
  })

  it('has a page and a picture, each at an address of the web', async () => {
    const { id } = await create({ slug: 'addressed', title: 'Addressed', summary: 'With a page.' })
    const update =
      'mutation ($input: UpdateCourseInput!) { updateCourse(input: $input) { course { url imageUrl } } }'
    const url = 'https://northlight.example/courses/addressed'
    const imageUrl = 'https://northlight.example/images/addressed.jpg'
    const { updateCourse } = await operator.run(update, { input: { id, url, imageUrl } })
    expect(updateCourse.course).to.deep.equal({ url, imageUrl })
    for (const field of ['url', 'imageUrl']) {
      const input = { id, [field]: 'javascript:alert(1)' }
      const refused = { code: 'BAD_INPUT', argument: field }
      expect(await operator.refused(update, { input })).to.deep.equal(refused)
    }
    const { updateCourse: after } = await operator.run(update, { input: { id, url: null } })
    expect(after.course).to.deep.equal({ url: null, imageUrl })
  })

  it('shows a course to visitors at once when it is published, and hides it again', async () => {
    const { id } = await create({ ...course, slug: 'to-publish' })
    const state = async (change: string) =>
      (await operator.run(`mutation { ${change}(id: "${id}") { course { state } } }`))[change]
        .course.state
    expect(await state('publishCourse')).to.equal('PUBLISHED')
    expect(await publicSlugs()).to.include('to-publish')
    expect(await state('archiveCourse')).to.equal('ARCHIVED')
    expect(await publicSlugs()).not.to.include('to-publish')
    expect(
      await operator.refused(`mutation { publishCourse(id: "${id}") { id } }`),
    ).to.deep.include({ code: 'CONFLICT' })
    expect(await state('restoreCourse')).to.equal('PUBLISHED')
    expect(await state('unpublishCourse')).to.equal('DRAFT')
    const later = `mutation { publishCourse(id: "${id}", at: "2999-01-01T00:00:00Z") { course { state } } }`
    expect((await operator.run(later)).publishCourse.course.state).to.equal('SCHEDULED')
  })

  it('makes nothing new under the same idempotency key, also when two come at once', async () => {
    const wish = { ...course, slug: 'once', idempotencyKey: 'first try' }
    const made = await Promise.all([create(wish), create(wish), create(wish)])
    expect(new Set(made.map(({ id }) => id)).size).to.equal(1)
    const other = { ...wish, title: 'Another wish' }
    const query = 'mutation ($input: CreateCourseInput!) { createCourse(input: $input) { id } }'
    expect(await operator.refused(query, { input: other })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'idempotencyKey',
    })
  })

  it('names the field that is wrong, and changes nothing', async () => {
    const query = 'mutation ($input: CreateCourseInput!) { createCourse(input: $input) { id } }'
    const refused = async (input: object) => await operator.refused(query, { input })
    expect(await refused({ ...course, slug: 'Not A Slug' })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'slug',
    })
    expect(await refused({ ...course, slug: 'long', title: 'x'.repeat(201) })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'title',
    })
    expect(await refused({ ...course, slug: 'nul', summary: 'a\0b' })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'summary',
    })
    expect(await refused(course)).to.deep.equal({ code: 'CONFLICT', argument: 'slug' })
    const { course: found } = await operator.run('{ course(slug: "long") { id } }')
    expect(found).to.equal(null)
  })

  it('says in its own words what is wrong with a number or a missing value', async () => {
    const message = async (query: string, input: object) =>
      (await operator.ask(query, { input })).body.errors?.[0]?.message
    const lecture = { courseId: 'crs_any', title: 'Too long', durationSeconds: 86_401 }
    const create = 'mutation ($input: CreateLectureInput!) { createLecture(input: $input) { id } }'
    expect(await message(create, lecture)).to.equal('durationSeconds must be 86400 or less')
    const change = 'mutation ($input: UpdateCourseInput!) { updateCourse(input: $input) { id } }'
    expect(await message(change, { id: 'crs_any', title: null })).to.equal(
      'title must be of type string',
    )
  })

  it('finds, filters and sorts, page by page', async () => {
    const list = async (args: string) =>
      (
        await operator.run(
          `{ courses(${args}) { totalCount nodes { slug state } pageInfo { endCursor } } }`,
        )
      ).courses
    const drafts = await list('state: DRAFT, first: 100')
    expect(drafts.nodes.map(({ state }: { state: string }) => state)).to.include('DRAFT')
    expect(drafts.totalCount).to.equal(drafts.nodes.length)
    expect((await list('search: "WINTER"')).totalCount).to.equal(3)
    expect((await list('search: "100%_"')).nodes).to.deep.equal([])
    const first = await list('first: 2, sort: NEWEST')
    const second = await list(`first: 2, sort: NEWEST, after: "${first.pageInfo.endCursor}"`)
    expect(second.nodes).to.have.length(2)
    expect(second.nodes).not.to.deep.include.members(first.nodes)
    expect(
      await operator.refused(`{ courses(after: "${first.pageInfo.endCursor}") { totalCount } }`),
    ).to.deep.equal({ code: 'BAD_ARGUMENT', argument: 'after' })
  })

  it('keeps sections and lectures in the order that it was told', async () => {
    const { id: courseId } = await create({ ...course, slug: 'with-curriculum' })
    const section = async (title: string, position?: number) => {
      const query = 'mutation ($input: CreateSectionInput!) { createSection(input: $input) { id } }'
      return (await operator.run(query, { input: { courseId, title, position } })).createSection.id
    }
    const lecture = async (title: string, place: object = {}) => {
      const query = 'mutation ($input: CreateLectureInput!) { createLecture(input: $input) { id } }'
      const input = { courseId, title, durationSeconds: 60, ...place }
      return (await operator.run(query, { input })).createLecture.id
    }
    const outline = async () => {
      const { course: found } = await operator.run(
        '{ course(slug: "with-curriculum") { lectureCount sections { title position lectures { title } } lectures { title position } } }',
      )
      return found
    }
    const second = await section('Second')
    const first = await section('First', 1)
    await lecture('b1', { sectionId: second })
    const a2 = await lecture('a2', { sectionId: first })
    await lecture('a1', { sectionId: first, position: 1 })
    await lecture('welcome')
    expect((await outline()).lectures.map(({ title }: { title: string }) => title)).to.deep.equal([
      'welcome',
      'a1',
      'a2',
      'b1',
    ])
    const move =
      'mutation ($input: MoveLectureInput!) { moveLecture(input: $input) { lecture { position } } }'
    await operator.run(move, { input: { id: a2, sectionId: second, position: 1 } })
    const { sections } = await outline()
    expect(sections).to.deep.equal([
      { title: 'First', position: 1, lectures: [{ title: 'a1' }] },
      { title: 'Second', position: 2, lectures: [{ title: 'a2' }, { title: 'b1' }] },
    ])
    const update = 'mutation ($input: UpdateSectionInput!) { updateSection(input: $input) { id } }'
    await operator.run(update, { input: { id: second, position: 1, title: 'Now first' } })
    await operator.run('mutation ($id: ID!) { deleteSection(id: $id) { deletedId } }', {
      id: first,
    })
    const after = await outline()
    expect(after.sections.map(({ title }: { title: string }) => title)).to.deep.equal(['Now first'])
    expect(after.lectures).to.deep.equal([
      { title: 'welcome', position: 1 },
      { title: 'a1', position: 2 },
      { title: 'a2', position: 3 },
      { title: 'b1', position: 4 },
    ])
    await operator.run('mutation ($id: ID!) { deleteLecture(id: $id) { deletedId } }', { id: a2 })
    expect((await outline()).lectureCount).to.equal(3)
  })

  it('changes the record of the site, and says which field it does not take', async () => {
    const query =
      'mutation ($input: UpdateSiteInput!) { updateSite(input: $input) { site { name timeZone language contactEmail } } }'
    const changes = {
      name: 'Northlight',
      timeZone: 'Europe/Vienna',
      language: 'de',
      contactEmail: 'hello@northlight.example',
    }
    expect((await operator.run(query, { input: changes })).updateSite.site).to.deep.equal(changes)
    const cleared = await operator.run(query, { input: { contactEmail: null } })
    expect(cleared.updateSite.site).to.deep.equal({ ...changes, contactEmail: null })
    for (const [field, value] of [
      ['timeZone', 'Mars/Olympus'],
      ['language', 'klingon!'],
      ['address', 'javascript:alert(1)'],
    ] as const) {
      expect(await operator.refused(query, { input: { [field]: value } })).to.deep.equal({
        code: 'BAD_INPUT',
        argument: field,
      })
    }
    const [event] = await audited('site.update')
    expect(JSON.parse(event?.before ?? '')).to.include({ name: 'Northlight Academy' })
  })
})
