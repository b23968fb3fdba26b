import { mutationOf, operatorSite, startOperator } from './support/admin-api.ts'
import { rowsOf } from './support/database.ts'
import { amir, sam } from './support/gatehouse.ts'
import { linkTo } from './support/mail-folder.ts'
import { askMember, memberToken, readMember } from './support/member-api.ts'
import { makePagePerson } from './support/page-person.ts'
import { forEachDatabase } from './support/storages.ts'
import { refusalOf } from './support/wire.ts'

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

  it('ends the access of a removed person at once, and restores the purchases later', async () => {
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
  })

  it('leaves the roles and the access of a person at another site as they are', async () => {
    const person = { ...amir, site: 'sit_open_kitchen' }
    const kitchen = await startOperator(running(), { person })
    await run(remove, { id: 'per_amir' })
    expect(await kitchen.value('{ site { id } }')).to.deep.equal({ id: 'sit_open_kitchen' })
  })

  it('removes the courses of a person who is no longer a lecturer', async () => {
    await change('per_lena', 'STUDENT')
    const { lecturers } = await value('{ course(id: "crs_color") { lecturers { id } } }')
    expect(lecturers).to.deep.equal([])
  })

  it('changes roles once, and keeps the time of the others', async () => {
    const since = async () => await value('{ member(id: "per_noor") { memberSince } }')
    const before = await since()
    for (const _ of [1, 2]) {
      const { roles } = await change('per_noor', 'STUDENT', 'LECTURER', 'STUDENT')
      expect(roles).to.have.deep.members([{ role: 'LECTURER' }, { role: 'STUDENT' }])
    }
    expect(await audited('member.roles')).to.have.length(1)
    expect(await since()).to.deep.equal(before)
  })

  it('lets only owners make, invite and unmake owners, and ends the access of a demoted admin at once [263]', async () => {
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
    const [winner, ...others] = await owners()
    expect(others).to.be.empty
    const survivor = winner === 'per_olivia' ? operator() : other
    expect((await survivor.ask('{ site { id } }')).status).to.equal(200)
  })
})
