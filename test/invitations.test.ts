import { mutationOf, operatorSite, startOperator } from './support/admin-api.ts'
import { change, rowOf, rowsOf } from './support/database.ts'
import { amir, flushingSoon, june, noor, policyWith } from './support/gatehouse.ts'
import { linkTo, mailsTo } from './support/mail-folder.ts'
import { callTool } from './support/mcp.ts'
import { forEachDatabase } from './support/storages.ts'

const invite = mutationOf('inviteMember', 'id invitation { email name roles createdAt expiresAt }')
const resend = 'mutation ($id: ID!) { resendInvitation(id: $id) { id } }'
const withdraw = 'mutation ($id: ID!) { withdrawInvitation(id: $id) { deletedId } }'
const recover = 'mutation ($id: ID!) { sendPasswordRecovery(id: $id) { id } }'
const pending = '{ invitations { nodes { id email name roles } totalCount } }'
const amirHere = { person: { ...amir, site: 'sit_northlight' } }
const amirThere = { person: { ...amir, site: 'sit_open_kitchen' } }
const new1 = 'new@example.com'
const inputOf = (email: string, ...roles: string[]) => ({
  input: { email, name: 'Entered', roles: roles.length === 0 ? ['STUDENT'] : roles },
})
const DAY_MS = 86_400_000

forEachDatabase('the Admin API: invitations', (start) => {
  const clock = { aheadMs: 0 }
  afterEach(() => {
    clock.aheadMs = 0
  })
  const setup = { each: true, now: () => Date.now() + clock.aheadMs, policy: flushingSoon }
  const { running, run, value, refused, audited, kysely } = operatorSite(start, setup)

  // [202]
  it('are answered, listed and audited in the same way for known and new addresses', async () => {
    // Omit the password hash, which may change when the operator signs in.
    const people = async () =>
      (await rowsOf(kysely(), 'person')).map(({ password_hash, ...person }) => person)
    const before = await people()
    for (const email of ['June@OpenKitchen.example', new1]) {
      const { invitation } = await value(invite, inputOf(email, 'LECTURER', 'STUDENT', 'STUDENT'))
      const { createdAt, expiresAt, ...shown } = invitation
      const roles = ['LECTURER', 'STUDENT']
      expect(shown).to.deep.equal({ email: email.toLowerCase(), name: 'Entered', roles })
      expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.equal(7 * DAY_MS)
    }
    expect(await people()).to.have.deep.members(before)
    const juneHere = { person_id: 'per_june', site_id: 'sit_northlight' }
    expect(await rowsOf(kysely(), 'site_role', juneHere)).to.deep.equal([])
    const { nodes, totalCount } = await value(pending)
    expect(totalCount).to.equal(2)
    expect(nodes.map(({ email }: { email: string }) => email)).to.have.members([june.login, new1])
    const [one, two] = await audited('member.invite')
    const varying = { id: '', subject_id: '', occurred_at: 0, request_id: '', streamed_at: null }
    expect({ ...one, ...varying }).to.deep.equal({ ...two, ...varying })
    await linkTo(running(), june.login)
    await linkTo(running(), new1)
    expect(mailsTo(running(), june.login).join()).to.include('the account that you already have')
    expect(mailsTo(running(), new1).join()).to.include('create an account with this address')
  })

  it('replace an earlier one of the address in any spelling of its domain, and are sent again or withdrawn', async () => {
    await value(invite, inputOf('ü@Müller.example', 'ADMIN'))
    const { id } = await value(invite, inputOf('Ü@xn--mller-kva.example'))
    const later = { id, email: 'ü@xn--mller-kva.example', name: 'Entered', roles: ['STUDENT'] }
    expect((await value(pending)).nodes).to.deep.equal([later])
    clock.aheadMs = 6 * DAY_MS
    expect(await (await startOperator(running())).value(resend, { id })).to.deep.equal({ id })
    clock.aheadMs = 12 * DAY_MS
    expect((await (await startOperator(running())).value(pending)).totalCount).to.equal(1)
    clock.aheadMs = 13 * DAY_MS
    const last = await startOperator(running())
    expect((await last.value(pending)).totalCount).to.equal(0)
    expect(await last.refused(resend, { id })).to.equal('NOT_FOUND')
    clock.aheadMs = 0
    expect(await value(withdraw, { id })).to.deep.equal({ deletedId: id })
    expect(await refused(withdraw, { id })).to.equal('NOT_FOUND')
    expect(await audited('member.uninvite')).to.have.length(1)
  })

  it('of another site are unknown, and recovery links are not invitations', async () => {
    const { id } = await value(invite, inputOf(new1))
    const kitchen = await startOperator(running(), amirThere)
    expect((await kitchen.value(pending)).totalCount).to.equal(0)
    for (const change of [resend, withdraw])
      expect(await kitchen.refused(change, { id })).to.equal('NOT_FOUND')
    await run(recover, { id: 'per_sam' })
    const { id: recoveryId } = await rowOf(kysely(), 'one_time_link', { kind: 'recovery' })
    expect(await refused(withdraw, { id: recoveryId })).to.equal('NOT_FOUND')
  })

  // [203]
  it('include a recovery mail to a member, three times a day, with the same response', async () => {
    await change(kysely(), 'person', { id: 'per_noor' }, { password_hash: null })
    for (const id of ['per_sam', 'per_noor', 'per_theo'])
      expect(await value(recover, { id })).to.deep.equal({ id })
    expect(await linkTo(running(), noor.login)).to.match(/^\/recover\//)
    expect(mailsTo(running(), noor.login).join()).to.include('An operator of')
    expect(await refused(recover, { id: 'per_june' })).to.equal('NOT_FOUND')
    await run(recover, { id: 'per_sam' })
    await run(recover, { id: 'per_sam' })
    expect(await refused(recover, { id: 'per_sam' })).to.equal('LIMIT_REACHED')
    const events = await audited('password.send_recovery')
    expect(events.map(({ person_id }) => person_id)).to.include.members(['per_sam', 'per_theo'])
  })

  it('are not needed where the site lets people sign up, which only owners decide', async () => {
    const admin = await startOperator(running(), amirHere)
    const set = 'mutation ($on: Boolean!) { setSelfSignUp(isEnabled: $on) { site { selfSignUp } } }'
    expect(await admin.refused(set, { on: true })).to.equal('CONFLICT')
    for (const on of [true, true, false])
      expect(await value(set, { on })).to.deep.equal({ site: { selfSignUp: on } })
    expect(await audited('sign_up.on')).to.have.length(1)
    expect(await audited('sign_up.off')).to.have.length(1)
  })

  // [205, 206]
  it('of a site are limited per 24 hours for every operator and client, even if they are withdrawn or sent again', async () => {
    await using service = await start({
      policy: policyWith({ limits: { invitationsPerSiteAndDayMax: 2 } }),
    })
    const { ask, run, value } = await startOperator(service)
    const { id } = await value(invite, inputOf('one@example.com'))
    await run(resend, { id })
    await run(withdraw, { id })
    const { errors = [] } = (await ask(invite, inputOf('two@example.com'))).body
    expect(errors[0]?.extensions).to.deep.equal({ code: 'LIMIT_REACHED' })
    expect(errors[0]?.message).to.match(/^a site can send 2 invitations in 24 hours; send more aft/)
    const other = await startOperator(service, amirHere)
    expect(await other.refused(invite, inputOf('two@example.com'))).to.equal('LIMIT_REACHED')
    const { input: values } = inputOf('two@example.com')
    const { body } = await callTool(other.url, 'invite_member', { values, token: other.token })
    expect(JSON.stringify(body)).to.include('a site can send 2 invitations in 24 hours')
    const kitchen = await startOperator(service, amirThere)
    expect((await kitchen.value(invite, inputOf('two@example.com'))).id).to.be.a('string')
  })
})
