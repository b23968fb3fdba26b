import { expect } from 'chai'

import { type Operator, startOperator } from './support/admin-api.ts'
import { amir, noor, olivia, type RunningService, sam } from './support/gatehouse.ts'
import { askMember, memberToken, readMember, readOnly } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'

const add = 'mutation ($input: AddMemberInput!) { addMember(input: $input) { id roles { role } } }'
const setRoles =
  'mutation ($input: SetMemberRolesInput!) { setMemberRoles(input: $input) { id roles { role } } }'
const remove = 'mutation ($id: ID!) { removeMember(id: $id) { deletedId } }'
const conflict = { code: 'CONFLICT', argument: 'roles' }

forEachDatabase('the Admin API: members of the site', (start) => {
  let running: RunningService
  let operator: Operator
  beforeEach(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  afterEach(async () => await running?.[Symbol.asyncDispose]())

  const kysely = () => running.service.stores.database.kysely
  const audited = async (action: string) =>
    await kysely().selectFrom('audit_event').selectAll().where('action', '=', action).execute()
  const ids = async (args: string) => {
    const { members } = await operator.run(`{ members(${args}) { totalCount nodes { id } } }`)
    expect(members.totalCount).to.equal(members.nodes.length)
    return members.nodes.map(({ id }: { id: string }) => id)
  }
  const rolesOf = async (id: string) =>
    (
      await operator.run('query ($id: ID!) { member(id: $id) { roles { role } } }', { id })
    ).member?.roles
      .map(({ role }: { role: string }) => role)
      .sort()
  const owners = async () =>
    (
      await kysely()
        .selectFrom('site_role')
        .select('person_id')
        .where('site_id', '=', 'sit_northlight')
        .where('role', '=', 'owner')
        .execute()
    ).map(({ person_id }) => person_id)

  it('lists each person once, newest first, with any role', async () => {
    await operator.run(setRoles, { input: { id: 'per_lena', roles: ['LECTURER', 'STUDENT'] } })
    expect(await ids('first: 100')).to.deep.equal([
      'per_marco',
      'per_noor',
      'per_sam',
      'per_theo',
      'per_amir',
      'per_lena',
      'per_olivia',
    ])
    expect(await ids('role: LECTURER')).to.deep.equal(['per_lena'])
    expect((await ids('role: STUDENT'))[0]).to.equal('per_lena')
    expect(await ids('search: "lena s"')).to.deep.equal(['per_lena'])
    expect(await ids('search: "Olivia@"')).to.deep.equal(['per_olivia'])
    expect(await ids('search: "o", role: STUDENT')).to.deep.equal([])
    expect(await ids('search: "june"')).to.deep.equal([])
    const seen = []
    let after = ''
    for (;;) {
      const { members } = await operator.run(
        `{ members(first: 2${after}) { nodes { id } pageInfo { endCursor hasNextPage } } }`,
      )
      seen.push(...members.nodes.map(({ id }: { id: string }) => id))
      after = `, after: "${members.pageInfo.endCursor}"`
      if (!members.pageInfo.hasNextPage) break
    }
    expect(seen).to.deep.equal(await ids('first: 100'))
    const { member } = await operator.run(
      '{ member(id: "per_lena") { name memberSince roles { role since } } }',
    )
    expect(member.memberSince).to.equal(member.roles[0].since)
    expect(member.roles.map(({ role }: { role: string }) => role)).to.deep.equal([
      'LECTURER',
      'STUDENT',
    ])
  })

  it('adds a person by e-mail address, with the same response for known and new addresses', async () => {
    const adding = async (email: string) =>
      await operator.ask(add, { input: { email, name: 'Given Name', roles: ['STUDENT'] } })
    const known = await adding('June@OpenKitchen.example')
    const unknown = await adding('nobody.yet@example.com')
    const shape = ({ body, status }: typeof known) => {
      const { addMember } = body.data as { addMember: { id: string; roles: unknown } }
      return { status, ...addMember, id: addMember.id.replace(/_.*/, '') }
    }
    expect(shape(known)).to.deep.equal(shape(unknown))
    const people = await kysely()
      .selectFrom('person')
      .select(['id', 'name', 'password_hash'])
      .where('email_canonical', 'in', ['june@openkitchen.example', 'nobody.yet@example.com'])
      .execute()
    const byName = new Map(people.map((row) => [row.name, row]))
    expect(byName.get('June Okafor')?.password_hash).to.be.a('string')
    expect(byName.get('Given Name')?.password_hash).to.equal(null)
    const [first, second] = await audited('member.add')
    expect(first?.after).to.equal(second?.after)
    expect(first?.before).to.equal(second?.before)
    const again = await adding('nobody.yet@example.com')
    expect(again.body).to.deep.equal(unknown.body)
    expect(await audited('member.add')).to.have.length(2)
  })

  it('makes one person of an address that is added twice at once', async () => {
    const input = { email: 'twice@example.com', name: 'Twice', roles: ['STUDENT'] }
    const made = await Promise.all([1, 2, 3].map(() => operator.run(add, { input })))
    expect(new Set(made.map(({ addMember }) => addMember.id)).size).to.equal(1)
  })

  it('names the field that is wrong', async () => {
    const input = { email: 'new@example.com', name: 'New', roles: ['STUDENT'] }
    for (const [field, value] of [
      ['email', 'no address'],
      ['email', 'a\0b@example.com'],
      ['name', ' '],
      ['name', 'a\0b'],
      ['roles', []],
    ] as const) {
      expect(await operator.refused(add, { input: { ...input, [field]: value } })).to.deep.equal({
        code: 'BAD_INPUT',
        argument: field,
      })
    }
    expect(await operator.refused(setRoles, { input: { id: 'per_sam', roles: [] } })).to.deep.equal(
      { code: 'BAD_INPUT', argument: 'roles' },
    )
  })

  it('ends the access of a removed person at their next request, and restores their purchases later', async () => {
    const token = await memberToken(running.url, readOnly, { person: sam })
    const query = '{ viewer { enrolledCourses { totalCount } } }'
    const before = await readMember({ url: running.url, token }, query)
    await operator.run(remove, { id: 'per_sam' })
    const { status, body } = await askMember({ url: running.url, token }, { query })
    expect({ status, error: body.error }).to.deep.equal({ status: 401, error: 'invalid_token' })
    const grants = await kysely()
      .selectFrom('oauth_grant')
      .select(['ended_at', 'end_reason'])
      .where('person_id', '=', 'per_sam')
      .where('site_id', '=', 'sit_northlight')
      .execute()
    expect(grants).not.to.be.empty
    for (const grant of grants) expect(grant.end_reason).to.equal('an operator ended it')
    const [event] = await audited('member.remove')
    expect(event).to.include({ subject_id: 'per_sam', site_id: 'sit_northlight' })
    expect(JSON.parse(event?.before ?? '')).to.deep.equal({ roles: ['student'], grants: 1 })
    expect((await operator.run('{ member(id: "per_sam") { id } }')).member).to.equal(null)
    expect(await operator.refused(remove, { id: 'per_sam' })).to.include({ code: 'NOT_FOUND' })

    const input = { email: sam.login, name: 'Whatever', roles: ['STUDENT'] }
    expect((await operator.run(add, { input })).addMember.id).to.equal('per_sam')
    expect((await askMember({ url: running.url, token }, { query })).status).to.equal(401)
    const fresh = await memberToken(running.url, readOnly, { person: sam })
    expect(await readMember({ url: running.url, token: fresh }, query)).to.deep.equal(before)
  })

  it('leaves the roles and the access of a person at another site as they are', async () => {
    const kitchen = await startOperator(running, { person: { ...amir, site: 'sit_open_kitchen' } })
    await operator.run(remove, { id: 'per_amir' })
    const { site } = await kitchen.run('{ site { id } }')
    expect(site.id).to.equal('sit_open_kitchen')
  })

  it('removes the courses of a person who is no longer a lecturer', async () => {
    await operator.run(setRoles, { input: { id: 'per_lena', roles: ['STUDENT'] } })
    const { course } = await operator.run('{ course(id: "crs_color") { lecturers { id } } }')
    expect(course.lecturers).to.deep.equal([])
  })

  it('changes roles once, and keeps since when the others are held', async () => {
    const { member: before } = await operator.run('{ member(id: "per_noor") { memberSince } }')
    const input = { id: 'per_noor', roles: ['STUDENT', 'LECTURER', 'STUDENT'] }
    await operator.run(setRoles, { input })
    await operator.run(setRoles, { input })
    expect(await rolesOf('per_noor')).to.deep.equal(['LECTURER', 'STUDENT'])
    expect(await audited('member.roles')).to.have.length(1)
    const { member } = await operator.run('{ member(id: "per_noor") { memberSince } }')
    expect(member).to.deep.equal(before)
  })

  it('ends operator access at the next request after a demotion to student', async () => {
    const admin = await startOperator(running, { person: { ...amir, site: 'sit_northlight' } })
    await operator.run(setRoles, { input: { id: 'per_amir', roles: ['STUDENT'] } })
    expect((await admin.ask('{ site { id } }')).status).to.equal(401)
  })

  it('cannot address people of another site', async () => {
    for (const id of ['per_june', 'per_none']) {
      const input = { id, roles: ['STUDENT'] }
      expect(await operator.refused(setRoles, { input })).to.include({ code: 'NOT_FOUND' })
      expect(await operator.refused(remove, { id })).to.include({ code: 'NOT_FOUND' })
      const { member } = await operator.run('query ($id: ID!) { member(id: $id) { id } }', { id })
      expect(member).to.equal(null)
    }
  })

  it('lets only owners make and unmake owners', async () => {
    const admin = await startOperator(running, { person: { ...amir, site: 'sit_northlight' } })
    const input = { email: noor.login, name: 'Noor', roles: ['OWNER'] }
    expect(await admin.refused(add, { input })).to.deep.equal(conflict)
    for (const [id, roles] of [
      ['per_noor', ['OWNER']],
      ['per_olivia', ['ADMIN']],
    ] as const) {
      expect(await admin.refused(setRoles, { input: { id, roles } })).to.deep.equal(conflict)
    }
    expect(await admin.refused(remove, { id: 'per_olivia' })).to.deep.equal(conflict)
    await admin.run(setRoles, { input: { id: 'per_noor', roles: ['ADMIN'] } })
    await operator.run(add, { input })
    expect(await rolesOf('per_noor')).to.deep.equal(['ADMIN', 'OWNER'])
  })

  it('keeps the last owner, and does not take one with a disabled account for another', async () => {
    expect(await operator.refused(remove, { id: 'per_olivia' })).to.deep.equal(conflict)
    const input = { id: 'per_olivia', roles: ['ADMIN'] }
    expect(await operator.refused(setRoles, { input })).to.deep.equal(conflict)
    await operator.run(setRoles, { input: { id: 'per_theo', roles: ['OWNER'] } })
    expect(await operator.refused(remove, { id: 'per_olivia' })).to.deep.equal(conflict)
    await operator.run(remove, { id: 'per_theo' })
    expect(await owners()).to.deep.equal(['per_olivia'])
  })

  it('leaves one of two owners who remove each other at the same time', async () => {
    await operator.run(setRoles, { input: { id: 'per_amir', roles: ['OWNER'] } })
    const other = await startOperator(running, { person: { ...amir, site: 'sit_northlight' } })
    const answers = await Promise.all([
      operator.ask(remove, { id: 'per_amir' }),
      other.ask(remove, { id: 'per_olivia' }),
    ])
    expect(answers.filter(({ body }) => body.data?.['removeMember'])).to.have.length(1)
    expect(await owners()).to.have.length(1)
    const winner = (await owners())[0] === 'per_olivia' ? operator : other
    expect((await winner.ask('{ site { id } }')).status).to.equal(200)
  })

  it('is closed to a token without its scopes', async () => {
    const reader = await startOperator(running, { person: olivia, scopes: ['members:read'] })
    const { body } = await reader.ask(remove, { id: 'per_sam' })
    expect(body.error).to.equal('insufficient_scope')
    const writer = await startOperator(running, { scopes: ['members:write'] })
    expect((await writer.ask('{ members { totalCount } }')).body.error).to.equal(
      'insufficient_scope',
    )
    expect((await writer.run(remove, { id: 'per_sam' })).removeMember.deletedId).to.equal('per_sam')
  })
})
