import { expect } from 'chai'

import { auditEvents, type Operator, startOperator } from './support/admin-api.ts'
import { marco, noor, type RunningService } from './support/gatehouse.ts'
import { memberToken, readMember, readOnly } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'

const enrol =
  'mutation ($input: EnrolStudentInput!) { enrolStudent(input: $input) { id isNew enrolment { expireDate hasLifetimeAccess hasEnded } } }'
const update =
  'mutation ($input: UpdateEnrolmentInput!) { updateEnrolment(input: $input) { enrolment { expireDate hasLifetimeAccess hasEnded } } }'
const end =
  'mutation ($id: ID!) { endEnrolment(id: $id) { id enrolment { hasEnded hasLifetimeAccess } } }'

forEachDatabase('the Admin API: lists that have a time', (start) => {
  it('come in either order, page by page', async () => {
    await using running = await start()
    const operator = await startOperator(running)
    for (const [list, key] of [
      ['students', 'id'],
      ['members', 'id'],
      ['orders', 'number'],
      ['students(courseId: "crs_reading_light")', 'id'],
    ] as const) {
      const [name = '', given = ''] = list.replace(')', '').split('(')
      const read = async (args: string) => {
        const { page } = await operator.run(
          `{ page: ${name}(${[given, args].filter(Boolean).join(', ')}) { nodes { ${key} } pageInfo { endCursor } } }`,
        )
        return page
      }
      const newest = await read('first: 100')
      const oldest = await read('first: 100, sort: OLDEST')
      expect(oldest.nodes, list).to.deep.equal(newest.nodes.toReversed())
      const one = await read('first: 1, sort: OLDEST')
      const rest = await read(`first: 100, sort: OLDEST, after: "${one.pageInfo.endCursor}"`)
      expect([...one.nodes, ...rest.nodes], list).to.deep.equal(oldest.nodes)
    }
  })
})

forEachDatabase('the Admin API: students and their enrolments', (start) => {
  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const audited = async (action: string) => await auditEvents(running, action)
  const courseSlugs = async (token: string) => {
    const { viewer } = await readMember<{
      viewer: { enrolledCourses: { nodes: { slug: string; expireDate: string | null }[] } }
    }>({ url: running.url, token }, '{ viewer { enrolledCourses { nodes { slug expireDate } } } }')
    return new Map(
      viewer.enrolledCourses.nodes.map(({ slug, expireDate }) => [slug, expireDate] as const),
    )
  }
  const slugOf = async (id: string) =>
    (await operator.run('query ($id: ID) { course(id: $id) { slug } }', { id })).course.slug

  it('lists the students of the site, the newest first, with what they take', async () => {
    const { students } = await operator.run(
      '{ students { totalCount nodes { id studentSince enrolmentCount enrolments { course { slug } } } } }',
    )
    expect(students.nodes.map(({ id }: { id: string }) => id)).to.deep.equal([
      'per_marco',
      'per_noor',
      'per_sam',
      'per_theo',
    ])
    expect(students.totalCount).to.equal(4)
    for (const { enrolmentCount, enrolments } of students.nodes) {
      expect(enrolments).to.have.length(enrolmentCount)
    }
  })

  it('tells how far a student came', async () => {
    const { kysely } = running.service.stores.database
    const { student } = await operator.run(
      '{ student(id: "per_sam") { name email enrolments { id hasEnded progress { lectureCount completedLectureCount lastWatchedAt lastWatchedLecture { id title } } } } }',
    )
    expect(student).to.include({ name: 'Sam Student', email: 'sam@northlight.example' })
    for (const { id, progress } of student.enrolments) {
      const watched = await kysely
        .selectFrom('course_purchase')
        .innerJoin('lecture', 'lecture.course_id', 'course_purchase.course_id')
        .innerJoin('watch_position as w', (join) =>
          join
            .onRef('w.lecture_id', '=', 'lecture.id')
            .onRef('w.person_id', '=', 'course_purchase.person_id'),
        )
        .select(['lecture.id', 'w.position_seconds', 'lecture.duration_seconds', 'w.watched_at'])
        .where('course_purchase.id', '=', id)
        .orderBy('w.watched_at', 'desc')
        .execute()
      const completed = watched.filter((row) => row.position_seconds >= row.duration_seconds)
      expect(progress.completedLectureCount).to.equal(completed.length)
      expect(progress.lastWatchedLecture?.id).to.equal(watched[0]?.id)
      expect(progress.lectureCount).to.be.at.least(watched.length)
    }
    const ended = student.enrolments.find(({ id }: { id: string }) => id === 'pur_sam_portrait')
    expect(ended.hasEnded).to.equal(true)
    const { progress } = student.enrolments.find(({ id }: { id: string }) => id === 'pur_sam_light')
    expect(progress.lectureCount).to.equal(6)
  })

  it('finds by the beginning of name or address, in a course, and page by page', async () => {
    const ids = async (args: string) => {
      const { students } = await operator.run(`{ students(${args}) { totalCount nodes { id } } }`)
      expect(students.totalCount).to.equal(students.nodes.length)
      return students.nodes.map(({ id }: { id: string }) => id)
    }
    expect(await ids('search: "NOOR v"')).to.deep.equal(['per_noor'])
    expect(await ids('search: "SAM@north"')).to.deep.equal(['per_sam'])
    expect(await ids('search: "am"')).to.deep.equal([])
    expect(await ids('search: "%"')).to.deep.equal([])
    expect(await ids('search: "June"')).to.deep.equal([])
    expect(await ids('courseId: "crs_reading_light"')).to.deep.equal([
      'per_noor',
      'per_sam',
      'per_theo',
    ])
    expect(await ids('courseId: "crs_reading_light", search: "s"')).to.deep.equal(['per_sam'])
    expect(await ids('courseId: "crs_bread"')).to.deep.equal([])
    expect(await ids('courseId: "crs_bread", search: "marco"')).to.deep.equal([])

    for (const filter of ['', ', courseId: "crs_reading_light"', ', search: "s"']) {
      const page = async (args: string) =>
        (
          await operator.run(
            `{ students(${args}${filter}) { nodes { id } pageInfo { endCursor hasNextPage } } }`,
          )
        ).students
      const all = (await page('first: 100')).nodes
      const seen = []
      let after = ''
      for (;;) {
        const { nodes, pageInfo } = await page(`first: 1${after}`)
        seen.push(...nodes)
        after = `, after: "${pageInfo.endCursor}"`
        if (!pageInfo.hasNextPage) break
      }
      expect(seen, filter).to.deep.equal(all)
    }
  })

  it('enrols a person, who sees it at their next request', async () => {
    const token = await memberToken(running.url, readOnly, { person: noor })
    const slug = await slugOf('crs_street')
    expect(await courseSlugs(token)).not.to.have.property(slug)
    const input = { personId: 'per_noor', courseId: 'crs_street', hasLifetimeAccess: true }
    const { enrolStudent } = await operator.run(enrol, { input })
    expect(enrolStudent.enrolment).to.deep.equal({
      expireDate: null,
      hasLifetimeAccess: true,
      hasEnded: false,
    })
    expect(enrolStudent.isNew).to.equal(true)
    expect((await courseSlugs(token)).get(slug)).to.equal(null)

    const again = {
      personId: 'per_noor',
      courseId: 'crs_street',
      expireDate: '2999-01-01T00:00:00Z',
    }
    const repeated = (await operator.run(enrol, { input: again })).enrolStudent
    expect(repeated).to.deep.equal({ ...enrolStudent, isNew: false })
    expect(await audited('enrolment.create')).to.have.length(1)

    const { id } = enrolStudent
    const later = { id, expireDate: '2999-01-01T00:00:00Z' }
    await operator.run(update, { input: later })
    await operator.run(update, { input: later })
    expect((await courseSlugs(token)).get(slug)).to.equal('2999-01-01T00:00:00.000Z')
    expect(await audited('enrolment.update')).to.have.length(1)

    expect((await operator.run(end, { id })).endEnrolment.enrolment.hasEnded).to.equal(true)
    await operator.run(end, { id })
    const [event] = await audited('enrolment.end')
    expect(await audited('enrolment.end')).to.have.length(1)
    expect(event).to.include({ actor_person_id: 'per_olivia', site_id: 'sit_northlight' })
    expect(Date.parse((await courseSlugs(token)).get(slug) ?? '')).to.be.at.most(Date.now())

    const forLife = await operator.run(update, { input: { id, hasLifetimeAccess: true } })
    expect(forLife.updateEnrolment.enrolment.hasLifetimeAccess).to.equal(true)
    expect((await courseSlugs(token)).get(slug)).to.equal(null)
  })

  it('makes one enrolment of several wishes that come at once', async () => {
    const input = { personId: 'per_noor', courseId: 'crs_color', hasLifetimeAccess: true }
    const made = await Promise.all([1, 2, 3].map(() => operator.run(enrol, { input })))
    expect(new Set(made.map(({ enrolStudent }) => enrolStudent.id)).size).to.equal(1)
    expect(made.filter(({ enrolStudent }) => enrolStudent.isNew)).to.have.length(1)
  })

  it('grants the role of a student to members only', async () => {
    const wish = { courseId: 'crs_color', hasLifetimeAccess: true }
    await operator.run(enrol, { input: { ...wish, personId: 'per_lena' } })
    const { student } = await operator.run('{ student(id: "per_lena") { id } }')
    expect(student).to.deep.equal({ id: 'per_lena' })
    expect(await operator.refused(enrol, { input: { ...wish, personId: 'per_june' } })).to.include({
      code: 'NOT_FOUND',
    })
  })

  it('finds nothing of another site, and names the field that is wrong', async () => {
    const input = { personId: 'per_noor', courseId: 'crs_portrait', hasLifetimeAccess: true }
    const notFound = { code: 'NOT_FOUND', argument: undefined }
    for (const courseId of ['crs_bread', 'crs_none']) {
      expect(await operator.refused(enrol, { input: { ...input, courseId } })).to.deep.equal(
        notFound,
      )
    }
    // Marco learns at one site and owns the other, and June's enrolment is there.
    for (const id of ['pur_june_bread', 'pur_none']) {
      expect(await operator.refused(end, { id })).to.deep.equal(notFound)
      const change = { input: { id, hasLifetimeAccess: true } }
      expect(await operator.refused(update, change)).to.deep.equal(notFound)
    }
    expect((await operator.run('{ student(id: "per_june") { id } }')).student).to.equal(null)
    for (const [lasting, argument] of [
      [{}, 'expireDate'],
      [{ hasLifetimeAccess: false }, 'expireDate'],
      [{ expireDate: '2020-01-01T00:00:00Z' }, 'expireDate'],
      [{ expireDate: '2999-01-01T00:00:00Z', hasLifetimeAccess: true }, 'hasLifetimeAccess'],
    ] as const) {
      const { hasLifetimeAccess, ...rest } = input
      expect(await operator.refused(enrol, { input: { ...rest, ...lasting } })).to.deep.equal({
        code: 'BAD_INPUT',
        argument,
      })
    }
    const untouched = await running.service.stores.database.kysely
      .selectFrom('course_purchase')
      .select('expires_at')
      .where('id', '=', 'pur_june_bread')
      .executeTakeFirst()
    expect(untouched?.expires_at).to.equal(null)
  })

  it('shows only the enrolments at this site of a student at two sites', async () => {
    const other = await startOperator(running, { person: marco })
    const { student } = await operator.run(
      '{ student(id: "per_marco") { enrolments { id } enrolmentCount } }',
    )
    expect(student).to.deep.equal({ enrolments: [{ id: 'pur_marco_portrait' }], enrolmentCount: 1 })
    expect((await other.run('{ student(id: "per_marco") { id } }')).student).to.equal(null)
  })

  it('is closed to a token without its scopes', async () => {
    const reader = await startOperator(running, { scopes: ['courses:read', 'students:read'] })
    const refused = async (query: string) => (await reader.ask(query)).body.error
    expect(await refused('mutation { endEnrolment(id: "pur_sam_light") { id } }')).to.equal(
      'insufficient_scope',
    )
    expect(await refused('{ members { totalCount } }')).to.equal('insufficient_scope')
    const writer = await startOperator(running, { scopes: ['students:write'] })
    const { body } = await writer.ask(end, { id: 'pur_sam_light' })
    expect(body.error).to.equal('insufficient_scope')
  })
})
