import { mutationOf, operatorSite, startOperator } from './support/admin-api.ts'
import { insert, rowsOf } from './support/database.ts'
import { amir, marco, noor, sam } from './support/gatehouse.ts'
import { linkTo } from './support/mail-folder.ts'
import { askMember, memberReader, memberToken, readMember } from './support/member-api.ts'
import { makePagePerson } from './support/page-person.ts'
import { forEachDatabase } from './support/storages.ts'
import { type Json, refusalOf } from './support/wire.ts'

const invite = mutationOf('inviteMember')
const setRoles = mutationOf('setMemberRoles', 'id roles { role }')
const remove = 'mutation ($id: ID!) { removeMember(id: $id) { deletedId } }'
const amirHere = { person: { ...amir, site: 'sit_northlight' } }

forEachDatabase('the Admin API: members of the site', (start) => {
  const { running, operator, run, ask, value, refused, audited, kysely } = operatorSite(start, {
    each: true,
  })

  const change = (id: string, ...roles: string[]) => value(setRoles, { input: { id, roles } })
  const owners = async () => {
    const held = { site_id: 'sit_northlight', role: 'owner' } as const
    return (await rowsOf(kysely(), 'site_role', held)).map(({ person_id }) => person_id)
  }

  it('ends the access of a removed person at once and at this site only, and restores the purchases later', async () => {
    const { url } = running()
    const token = await memberToken(url)
    const query = '{ viewer { enrolledCourses { totalCount } } }'
    const before = await readMember({ url, token }, query)
    await run(remove, { id: 'per_sam' })
    expect(refusalOf(await askMember({ url, token }, { query }))).to.equal('401 invalid_token')
    const here = { person_id: 'per_sam', site_id: 'sit_northlight' }
    const grants = await rowsOf(kysely(), 'oauth_grant', here)
    expect(grants.map(({ end_reason }) => end_reason)).to.deep.equal(['an operator ended it'])
    const [event] = await audited('member.remove')
    expect(event).to.include({ subject_id: 'per_sam', site_id: 'sit_northlight' })
    expect(JSON.parse(event?.before ?? '')).to.deep.equal({ roles: ['student'], grants: 1 })
    expect(await value('{ member(id: "per_sam") { id } }')).to.equal(null)
    expect(await refused(remove, { id: 'per_sam' })).to.equal('NOT_FOUND')

    await value(invite, { input: { email: sam.login, roles: ['STUDENT'] } })
    await makePagePerson(url, sam).submit(await linkTo(running(), sam.login), { answer: 'accept' })
    expect((await askMember({ url, token }, { query })).status).to.equal(401)
    expect(await readMember({ url, token: await memberToken(url) }, query)).to.deep.equal(before)

    const person = { ...amir, site: 'sit_open_kitchen' }
    const kitchen = await startOperator(running(), { person })
    await run(remove, { id: 'per_amir' })
    expect(await kitchen.value('{ site { id } }')).to.deep.equal({ id: 'sit_open_kitchen' })
  })

  it('changes roles once, keeps the time of the others, and removes the courses of a former lecturer', async () => {
    const since = async () => await value('{ member(id: "per_noor") { memberSince } }')
    const before = await since()
    for (const _ of [1, 2]) {
      const { roles } = await change('per_noor', 'STUDENT', 'LECTURER', 'STUDENT')
      expect(roles).to.have.deep.members([{ role: 'LECTURER' }, { role: 'STUDENT' }])
    }
    expect(await audited('member.roles')).to.have.length(1)
    expect(await since()).to.deep.equal(before)
    await change('per_lena', 'STUDENT')
    const course = await value('{ course(id: "crs_color") { lecturers { id } } }')
    expect(course).to.deep.equal({ lecturers: [] })
  })

  it('lets only owners promote, invite and demote owners, and ends the access of a demoted admin at once [263]', async () => {
    const admin = await startOperator(running(), amirHere)
    const invited = { input: { email: 'new@example.com', name: 'New', roles: ['OWNER'] } }
    const { id } = await value(invite, invited)
    for (const [mutation, variables] of [
      [invite, invited],
      ['mutation ($id: ID!) { resendInvitation(id: $id) { id } }', { id }],
      [setRoles, { input: { id: 'per_noor', roles: ['OWNER'] } }],
      [setRoles, { input: { id: 'per_olivia', roles: ['ADMIN'] } }],
      [remove, { id: 'per_olivia' }],
    ] as const) {
      expect(await admin.refused(mutation, variables)).to.equal('CONFLICT roles')
    }
    await admin.run(setRoles, { input: { id: 'per_noor', roles: ['ADMIN'] } })
    const { roles } = await change('per_noor', 'ADMIN', 'OWNER')
    expect(roles).to.have.deep.members([{ role: 'ADMIN' }, { role: 'OWNER' }])
    await change('per_amir', 'STUDENT')
    expect((await admin.ask('{ site { id } }')).status).to.equal(401)
  })

  it('keeps the last owner with an enabled account', async () => {
    const kept = async () => {
      const input = { id: 'per_olivia', roles: ['ADMIN'] }
      const said = [await refused(remove, { id: 'per_olivia' }), await refused(setRoles, { input })]
      expect(said).to.deep.equal(['CONFLICT roles', 'CONFLICT roles'])
    }
    await kept()
    // Theo's account is disabled, so his ownership does not count.
    await change('per_theo', 'OWNER')
    await kept()
    await run(remove, { id: 'per_theo' })
    expect(await owners()).to.deep.equal(['per_olivia'])
  })

  it('leaves one of two owners who remove each other at the same time', async () => {
    await change('per_amir', 'OWNER')
    const other = await startOperator(running(), amirHere)
    const removals = [ask(remove, { id: 'per_amir' }), other.ask(remove, { id: 'per_olivia' })]
    const answers = await Promise.all(removals)
    expect(answers.filter(({ body }) => body.data?.['removeMember'])).to.have.length(1)
    const left = await owners()
    expect(left).to.have.length(1)
    const survivor = left.includes('per_olivia') ? operator() : other
    expect((await survivor.ask('{ site { id } }')).status).to.equal(200)
  })
})

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

  it('creates, changes and ends an enrolment, once each; the person sees each change at once', async () => {
    const reads = await memberReader(running().url, noor)
    const seen = async () => {
      const { viewer } = await reads('{ viewer { enrolledCourses { nodes { slug expireDate } } } }')
      const { nodes } = viewer.enrolledCourses
      return nodes.find(({ slug }: Json) => slug === 'street-corner')?.expireDate
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
    expect(Date.parse(await seen())).to.be.at.most(Date.now())

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

  it('shows only the role and the enrolments at this site for a person at two sites', async () => {
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
