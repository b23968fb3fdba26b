import { mutationOf, operatorSite, startOperator } from './support/admin-api.ts'
import { insert } from './support/database.ts'
import { marco, noor } from './support/gatehouse.ts'
import { memberReader } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const shown = 'enrolment { expireDate hasLifetimeAccess hasEnded }'
const enrol = mutationOf('enrolStudent', `id isNew ${shown}`)
const update = mutationOf('updateEnrolment', shown)

forEachDatabase('the Admin API: students and their enrolments', (start) => {
  const { running, run, value, audited, kysely } = operatorSite(start)

  it('shows the progress of a student', async () => {
    const student = await value(
      '{ student(id: "per_sam") { name email enrolments { id hasEnded progress { lectureCount completedLectureCount lastWatchedLecture { id } } } } }',
    )
    expect(student).to.include({ name: 'Sam Student', email: 'sam@northlight.example' })
    const shown = student.enrolments.map(({ id, hasEnded, progress }: Json) => {
      const { lectureCount, completedLectureCount, lastWatchedLecture } = progress
      return [id, hasEnded, lectureCount, completedLectureCount, lastWatchedLecture?.id]
    })
    expect(shown).to.have.deep.members([
      ['pur_sam_light', false, 6, 2, 'lec_light_hard_soft'],
      ['pur_sam_portrait', true, 4, 1, 'lec_portrait_hands'],
      ['pur_sam_film', false, 5, 1, 'lec_film_sound'],
      ['pur_sam_color', false, 3, 0, 'lec_color_white'],
      ['pur_sam_street', false, 5, 0, undefined],
    ])
  })

  it('enrols a person, changes and ends it once each; the person sees it at once', async () => {
    const reads = await memberReader(running().url, noor)
    const seen = async () => {
      const { viewer } = await reads('{ viewer { enrolledCourses { nodes { slug expireDate } } } }')
      const found = viewer.enrolledCourses.nodes as { slug: string; expireDate: string | null }[]
      return found.find(({ slug }) => slug === 'street-corner')?.expireDate
    }
    expect(await seen()).to.equal(undefined)
    const wish = { personId: 'per_noor', courseId: 'crs_street' }
    const enrolled = await value(enrol, { input: { ...wish, hasLifetimeAccess: true } })
    const enrolment = { expireDate: null, hasLifetimeAccess: true, hasEnded: false }
    expect(enrolled).to.deep.include({ isNew: true, enrolment })
    expect(await seen()).to.equal(null)

    const expireDate = '2999-01-01T00:00:00.000Z'
    const repeated = await value(enrol, { input: { ...wish, expireDate } })
    expect(repeated).to.deep.equal({ ...enrolled, isNew: false })
    expect(await audited('enrolment.create')).to.have.length(1)

    const { id } = enrolled
    for (const _ of [1, 2]) await run(update, { input: { id, expireDate } })
    expect(await seen()).to.equal(expireDate)
    expect(await audited('enrolment.update')).to.have.length(1)

    for (const _ of [1, 2]) {
      const ended = await value(`mutation { endEnrolment(id: "${id}") { ${shown} } }`)
      expect(ended.enrolment.hasEnded).to.equal(true)
    }
    const [event, ...others] = await audited('enrolment.end')
    expect(event).to.include({ actor_person_id: 'per_olivia', site_id: 'sit_northlight' })
    expect(others).to.be.empty
    expect(Date.parse((await seen()) ?? '')).to.be.at.most(Date.now())

    const forLife = await value(update, { input: { id, hasLifetimeAccess: true } })
    expect([forLife.enrolment, await seen()]).to.deep.equal([enrolment, null])
  })

  it('creates one enrolment from several requests at once, and gives the member the role of a student', async () => {
    const input = { personId: 'per_lena', courseId: 'crs_color', hasLifetimeAccess: true }
    const made = await Promise.all([1, 2, 3].map(() => value(enrol, { input })))
    expect(new Set(made.map(({ id }) => id)).size).to.equal(1)
    expect(made.filter(({ isNew }) => isNew)).to.have.length(1)
    expect(await value('{ student(id: "per_lena") { id } }')).to.deep.equal({ id: 'per_lena' })
  })

  it('shows of a person at two sites only the role and the enrolments at this one', async () => {
    const bought = { person_id: 'per_marco', course_id: 'crs_knife', purchased_at: 1 }
    await insert(kysely(), 'course_purchase', { ...bought, id: 'pur_elsewhere' })
    const found = await run(
      '{ student(id: "per_marco") { enrolments { id } enrolmentCount } member(id: "per_marco") { roles { role } } }',
    )
    expect(found).to.deep.equal({
      student: { enrolments: [{ id: 'pur_marco_portrait' }], enrolmentCount: 1 },
      member: { roles: [{ role: 'STUDENT' }] },
    })
    const other = await startOperator(running(), { person: marco })
    expect(await other.value('{ student(id: "per_marco") { id } }')).to.equal(null)
  })
})
