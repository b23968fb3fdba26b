import { expect } from 'chai'

import { mutationOf, operatorSite, startOperator } from './support/admin-api.ts'
import { amir, june, noor, policyWith, sam } from './support/gatehouse.ts'
import { callTool } from './support/mcp.ts'
import { askMember, memberToken, readMember, readOnly } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'

const add = mutationOf('addMember', 'id roles { role }')
const setRoles = mutationOf('setMemberRoles', 'id roles { role }')
const remove = 'mutation ($id: ID!) { removeMember(id: $id) { deletedId } }'
const amirHere = { person: { ...amir, site: 'sit_northlight' } }

forEachDatabase('the Admin API: members of the site', (start) => {
  const { running, operator, run, ask, value, refused, audited, kysely } = operatorSite(start, {
    each: true,
  })

  const change = async (id: string, ...roles: string[]) =>
    await value(setRoles, { input: { id, roles } })
  const owners = async () => {
    const holders = kysely().selectFrom('site_role').select('person_id')
    const rows = holders.where('site_id', '=', 'sit_northlight').where('role', '=', 'owner')
    return (await rows.execute()).map(({ person_id }) => person_id)
  }

  it('adds a person by address, with the same response for known and new addresses', async () => {
    const adding = async (email: string) => {
      const input = { email, name: 'Given Name', roles: ['STUDENT'] }
      const { id, roles } = await value(add, { input })
      return { id, roles, shape: id.replace(/_.*/, '') }
    }
    const known = await adding('June@OpenKitchen.example')
    const unknown = await adding('nobody.yet@example.com')
    expect({ ...known, id: '' }).to.deep.equal({ ...unknown, id: '' })
    const people = await kysely()
      .selectFrom('person')
      .select(['name', 'password_hash'])
      .where('id', 'in', [known.id, unknown.id])
      .execute()
    const hashes = new Map(people.map((row) => [row.name, row.password_hash]))
    expect(hashes.get('June Okafor')).to.be.a('string')
    expect(hashes.get('Given Name')).to.equal(null)
    const [first, second] = await audited('member.add')
    expect([first?.before, first?.after]).to.deep.equal([second?.before, second?.after])
    expect(await adding('nobody.yet@example.com')).to.deep.equal(unknown)
    expect(await audited('member.add')).to.have.length(2)
  })

  it('creates one person for an address that is added several times at once', async () => {
    const input = { email: 'twice@example.com', name: 'Twice', roles: ['STUDENT'] }
    const made = await Promise.all([1, 2, 3].map(() => value(add, { input })))
    expect(new Set(made.map(({ id }) => id)).size).to.equal(1)
  })

  it('ends the access of a removed person at once, and restores the purchases later', async () => {
    const { url } = running()
    const token = await memberToken(url)
    const query = '{ viewer { enrolledCourses { totalCount } } }'
    const before = await readMember({ url, token }, query)
    await run(remove, { id: 'per_sam' })
    const { status, body } = await askMember({ url, token }, { query })
    expect([status, body.error]).to.deep.equal([401, 'invalid_token'])
    const grants = await kysely()
      .selectFrom('oauth_grant')
      .select('end_reason')
      .where('person_id', '=', 'per_sam')
      .where('site_id', '=', 'sit_northlight')
      .execute()
    expect(grants).to.deep.equal([{ end_reason: 'an operator ended it' }])
    const [event] = await audited('member.remove')
    expect(event).to.include({ subject_id: 'per_sam', site_id: 'sit_northlight' })
    expect(JSON.parse(event?.before ?? '')).to.deep.equal({ roles: ['student'], grants: 1 })
    expect(await value('{ member(id: "per_sam") { id } }')).to.equal(null)
    expect(await refused(remove, { id: 'per_sam' })).to.equal('NOT_FOUND')

    const input = { email: sam.login, name: 'Ignored', roles: ['STUDENT'] }
    expect((await value(add, { input })).id).to.equal('per_sam')
    expect((await askMember({ url, token }, { query })).status).to.equal(401)
    expect(await readMember({ url, token: await memberToken(url) }, query)).to.deep.equal(before)
  })

  it('leaves the roles and the access of a person at another site as they are', async () => {
    const kitchen = await startOperator(running(), {
      person: { ...amir, site: 'sit_open_kitchen' },
    })
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

  it('ends operator access at the next request after a demotion to student', async () => {
    const admin = await startOperator(running(), amirHere)
    await change('per_amir', 'STUDENT')
    expect((await admin.ask('{ site { id } }')).status).to.equal(401)
  })

  it('lets only owners make and unmake owners', async () => {
    const admin = await startOperator(running(), amirHere)
    const input = { email: noor.login, name: 'Noor', roles: ['OWNER'] }
    for (const [mutation, variables] of [
      [add, { input }],
      [setRoles, { input: { id: 'per_noor', roles: ['OWNER'] } }],
      [setRoles, { input: { id: 'per_olivia', roles: ['ADMIN'] } }],
      [remove, { id: 'per_olivia' }],
    ] as const) {
      expect(await admin.refused(mutation, variables)).to.equal('CONFLICT roles')
    }
    await admin.run(setRoles, { input: { id: 'per_noor', roles: ['ADMIN'] } })
    const { roles } = await value(add, { input })
    expect(roles).to.have.deep.members([{ role: 'ADMIN' }, { role: 'OWNER' }])
  })

  it('keeps the last owner with an enabled account', async () => {
    const kept = async () => {
      const input = { id: 'per_olivia', roles: ['ADMIN'] }
      const said = [await refused(remove, { id: 'per_olivia' }), await refused(setRoles, { input })]
      expect(said).to.deep.equal(['CONFLICT roles', 'CONFLICT roles'])
    }
    await kept()
    // Theo's account is disabled.
    await change('per_theo', 'OWNER')
    await kept()
    await run(remove, { id: 'per_theo' })
    expect(await owners()).to.deep.equal(['per_olivia'])
  })

  it('leaves one of two owners who remove each other at the same time', async () => {
    await change('per_amir', 'OWNER')
    const other = await startOperator(running(), amirHere)
    const answers = await Promise.all([
      ask(remove, { id: 'per_amir' }),
      other.ask(remove, { id: 'per_olivia' }),
    ])
    expect(answers.filter(({ body }) => body.data?.['removeMember'])).to.have.length(1)
    const [winner, ...others] = await owners()
    expect(others).to.be.empty
    const survivor = winner === 'per_olivia' ? operator() : other
    expect((await survivor.ask('{ site { id } }')).status).to.equal(200)
  })
})

forEachDatabase('the Admin API: people whom operators add', (start) => {
  const policy = policyWith({ limits: { memberAdditionsPerSiteAndDayMax: 2 } })
  const { running, ask, value } = operatorSite(start, { policy })

  it('have the entered name for operators, and their own name everywhere else', async () => {
    const input = { email: june.login, name: 'Entered', roles: ['LECTURER'] }
    const { id } = await value(add, { input })
    const fields = '{ id name email }'
    const shown = { id, name: 'Entered', email: 'june@openkitchen.example' }
    expect(await value(`{ member(id: "${id}") ${fields} }`)).to.deep.equal(shown)
    const { nodes } = await value(`{ lecturers(search: "enter") { nodes ${fields} } }`)
    expect(nodes).to.deep.equal([shown])
    const { url } = running()
    const token = await memberToken(url, readOnly, { person: june })
    expect(await readMember({ url, token }, '{ viewer { name } }')).to.deep.equal({
      viewer: { name: 'June Okafor' },
    })
  })

  it('are limited per site and day, for every operator and client', async () => {
    const adding = async (email: string) =>
      await ask(add, { input: { email, name: 'Entered', roles: ['STUDENT'] } })
    expect((await adding('one@example.com')).body.errors).to.equal(undefined)
    const { errors = [] } = (await adding('two@example.com')).body
    expect(errors[0]?.extensions).to.deep.equal({ code: 'LIMIT_REACHED' })
    expect(errors[0]?.message).to.match(/^a site can add 2 people in 24 hours; add more after 2/)
    const other = await startOperator(running(), amirHere)
    const input = { email: 'two@example.com', name: 'Entered', roles: ['STUDENT'] }
    expect(await other.refused(add, { input })).to.equal('LIMIT_REACHED')
    const { body } = await callTool(other.url, 'add_member', { values: input, token: other.token })
    expect(JSON.stringify(body)).to.include('a site can add 2 people in 24 hours')
  })
})
