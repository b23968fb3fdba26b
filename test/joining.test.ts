import type { Answers } from '../tools/token/headless-person.ts'
import { mutationOf, startOperator } from './support/admin-api.ts'
import { openAuthorization } from './support/client.ts'
import { rowOf, rowsOf } from './support/database.ts'
import {
  amir,
  flushing,
  june,
  noor,
  olivia,
  type RunningService,
  sam,
  startWith,
} from './support/gatehouse.ts'
import { importRecords } from './support/import.ts'
import { linkTo, mailsHandled, mailsTo } from './support/mail-folder.ts'
import { hiddenField, linkOf, makePagePerson, type Seen, textOf } from './support/page-person.ts'
import { getTokens } from './support/relying-party.ts'
import { fresh } from './support/shared.ts'

const newPassword = 'three horses and a tram'
const both = { name: 'Ines Newcomer', password: newPassword, repeated: newPassword }
const ines = { login: 'ines@new.example', password: newPassword }
const signUp = '/sign-up/northlight'

/** Starts a service with a site that lets people sign up. */
async function startOpen(changes: Parameters<typeof startWith>[0] = {}) {
  const service = await startWith({ ...flushing, ...changes })
  await (await startOperator(service)).run('mutation { setSelfSignUp(isEnabled: true) { id } }')
  return service
}

async function invited(service: RunningService, email: string, ...roles: string[]) {
  const operator = await startOperator(service)
  const input = { email, name: 'Suggested', roles: roles.length === 0 ? ['STUDENT'] : roles }
  const { id } = await operator.value(mutationOf('inviteMember'), { input })
  return { operator, id, path: await linkTo(service, email) }
}

const rolesOf = async ({ kysely }: RunningService, email_canonical: string) => {
  const [{ id, name } = { id: '', name: '' }] = await rowsOf(kysely, 'person', { email_canonical })
  const held = await rowsOf(kysely, 'site_role', { person_id: id, site_id: 'sit_northlight' })
  return held.map(({ role }) => `${name}: ${role}`).sort()
}

const peopleOf = async ({ kysely }: RunningService) => (await rowsOf(kysely, 'person')).length

describe('/invitation', () => {
  const service = fresh(async () => await startWith(flushing))
  const opened = async (answers: Answers, ...roles: string[]) => {
    const { path, operator } = await invited(service(), answers.login, ...roles)
    const person = makePagePerson(service().url, answers)
    return { path, operator, person, page: await person.visit(path) }
  }

  it('creates one account with a verified address and the roles, also if it is used several times at once [251]', async () => {
    const { path } = await invited(service(), ines.login, 'LECTURER', 'STUDENT')
    for (const method of ['GET', 'HEAD', 'GET']) {
      const { status, headers } = await fetch(service().url + path, { method })
      expect([status, headers.get('referrer-policy')]).to.deep.equal([200, 'no-referrer'])
    }
    const tabs = await Array.fromAsync([1, 2, 3], async () => {
      const person = makePagePerson(service().url, ines)
      const page = await person.visit(path)
      expect(page.text).to.include('value="Suggested"').and.include(ines.login)
      expect(page.text).to.include('lecturer and student').and.not.include('id="code"')
      return { person, page }
    })
    const before = await peopleOf(service())
    const sent = await Promise.all(tabs.map(({ person, page }) => person.send(page, path, both)))
    expect(sent.map(({ status }) => status).sort()).to.deep.equal([200, 410, 410])
    expect(await peopleOf(service())).to.equal(before + 1)
    const done = sent.find(({ status }) => status === 200)?.text
    expect(done).to.include('id="joined-page"').and.include('href="/connect/northlight"')
    const joined = ['Ines Newcomer: lecturer', 'Ines Newcomer: student']
    expect(await rolesOf(service(), ines.login)).to.deep.equal(joined)
    const found = await rowOf(service().kysely, 'person', { email: ines.login })
    expect(found.email_verified_at).to.be.a('number')
    const person = makePagePerson(service().url, ines)
    expect((await person.visit('/account')).text).to.include('Ines Newcomer')
    const { tokens } = await getTokens(service().url, { person: ines })
    expect(tokens.claims()?.sub).to.match(/^per_/)
    expect((await person.visit(path)).status).to.equal(410)
    const [row] = await rowsOf(service().kysely, 'audit_event', { action: 'member.join' })
    expect(row).to.include({ site_id: 'sit_northlight', after: '{"roles":["lecturer","student"]}' })
    const secret = path.split('.').at(-1) ?? 'x'
    expect(service().log.join()).not.to.include(secret).and.not.include('new.example')
  })

  // [207, 262]
  it('asks a person with an account to accept once or decline, and keeps their name', async () => {
    const { path, person, page } = await opened(june, 'LECTURER')
    expect(page.text).to.include('id="join-page"').and.include('lecturer')
    for (const answer of [{}, { answer: '' }, { answer: 'yes' }, { answer: ['', 'accept'] }])
      expect((await person.send(page, path, answer)).status).to.equal(400)
    expect(await rolesOf(service(), june.login)).to.deep.equal([])
    const declined = await person.send(page, path, { answer: 'decline' })
    expect(declined.text).to.include('You did not join')
    expect((await person.visit(path)).status).to.equal(410)
    expect((await person.send(page, path, { answer: 'accept' })).status).to.equal(410)
    await invited(service(), june.login, 'STUDENT')
    const newPath = await linkTo(service(), june.login, 2)
    const form = await person.visit(newPath)
    const accept = async () => await person.send(form, newPath, { answer: 'accept' })
    const both = await Promise.all([accept(), accept()])
    expect(both.map(({ status }) => status)).to.have.members([200, 410])
    expect(both.map(({ text }) => text).join()).to.include('You are now a member')
    expect(await rolesOf(service(), june.login)).to.deep.equal(['June Okafor: student'])
  })

  it('refuses another account, and leads to a sign-in with the right one [250]', async () => {
    const { path } = await invited(service(), june.login)
    const answers = { ...sam }
    const person = makePagePerson(service().url, answers)
    const refused = await person.visit(path)
    expect(refused.status).to.equal(403)
    expect(refused.text).to.include(june.login).and.include(sam.login).and.not.include('accept"')
    const csrf = { answer: 'accept' }
    expect((await person.send(refused, path, csrf)).status).to.equal(403)
    expect(await rolesOf(service(), june.login)).to.deep.equal([])
    Object.assign(answers, june)
    const right = await person.send(refused, path, { answer: 'switch' })
    expect(right.text).to.include('id="join-page"').and.include(june.login)
    expect((await person.send(right, path, csrf)).text).to.include('id="joined-page"')
    const { path: forNew } = await invited(service(), ines.login)
    const forwarded = makePagePerson(service().url, sam)
    await forwarded.visit('/account')
    expect((await forwarded.visit(forNew)).text)
      .to.include(ines.login)
      .and.not.include(sam.login)
  })

  it('stops working when its sender loses the right to send it [253]', async () => {
    const { path, person, page } = await opened(ines, 'OWNER')
    expect(page.status).to.equal(200)
    const ofSender = service().kysely.updateTable('site_role').where('person_id', '=', 'per_olivia')
    const here = ofSender.where('site_id', '=', 'sit_northlight')
    const account = service().kysely.updateTable('person').where('id', '=', 'per_olivia')
    for (const [harm, mend] of [
      [here.set({ role: 'admin' }), here.set({ role: 'owner' })],
      [here.set({ role: 'student' }), here.set({ role: 'owner' })],
      [account.set({ disabled_at: 1 }), account.set({ disabled_at: null })],
    ] as const) {
      await harm.execute()
      expect((await person.send(page, path, both)).status).to.equal(410)
      expect((await person.visit(path)).status).to.equal(410)
      await mend.execute()
    }
    expect((await person.send(page, path, both)).status).to.equal(200)
    expect(await rolesOf(service(), ines.login)).to.deep.equal(['Ines Newcomer: owner'])
  })

  it('keeps the later of a removal and an acceptance [209]', async () => {
    const { path, operator, person, page } = await opened(noor, 'LECTURER')
    const [, joined] = await Promise.all([
      operator.ask('mutation { removeMember(id: "per_noor") { deletedId } }'),
      person.send(page, path, { answer: 'accept' }),
    ])
    expect(joined.status).to.equal(200)
    const roles = (await rolesOf(service(), noor.login)).map((role) => role.replace(/^.*: /, ''))
    expect(roles.join()).to.be.oneOf(['', 'lecturer'])
  })

  it('refuses a form of another site, browser or session [RFC 6749 §10.12; 261]', async () => {
    const { path } = await invited(service(), ines.login)
    const { path: known } = await invited(service(), june.login)
    const stranger = makePagePerson(service().url, june)
    const csrf = hiddenField((await makePagePerson(service().url, ines).visit(path)).text)
    await stranger.visit(path)
    for (const fields of [both, { ...both, csrf }, { ...both, csrf: '' }])
      expect((await stranger.post(path, fields)).status).to.equal(403)
    const page = await stranger.visit(known)
    const cross = await stranger.open(known, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ answer: 'accept', csrf: hiddenField(page.text) }),
    })
    expect(cross.status).to.equal(403)
    expect((await stranger.post(known, { answer: 'accept', csrf })).status).to.equal(403)
    expect(await rolesOf(service(), june.login)).to.deep.equal([])
    expect((await stranger.send(page, known, { answer: 'accept' })).status).to.equal(200)
  })

  it('escapes names, and explains next to the field what is wrong [258]', async () => {
    const { path, person, page } = await opened(ines)
    for (const name of ['x'.repeat(121), 'a\u202eb', 'a\nb', ' ', '\u200b', ' \u3164\u2060']) {
      const seen = await person.send(page, path, { ...both, name })
      expect(seen.status).to.equal(422)
      expect(textOf(seen, 'name-problem')).to.include('Please enter your name')
    }
    expect((await person.send(page, path, { ...both, name: 'a\0b' })).status).to.equal(400)
    const long = await person.send(page, path, { ...both, name: 'x'.repeat(20_000) })
    expect(long.status).to.equal(413)
    const weak = await person.send(page, path, { ...both, password: 'x', repeated: 'x' })
    expect(weak.text).to.include('at least 15').and.include('value="Ines Newcomer"')
    const markup = '<script>alert(1)</script>'
    expect((await person.send(page, path, { ...both, name: markup })).status).to.equal(200)
    expect((await person.visit('/account')).text).not.to.include(markup)
  })
})

it('/sign-up is switched by owners on the page of the site, and is linked from the sign-in to its apps', async () => {
  await using service = await startWith(flushing)
  const signInPage = async () => {
    const person = makePagePerson(service.url, sam)
    return await person.visit((await openAuthorization(person, service.url)).pathname)
  }
  expect((await fetch(service.url + signUp)).status).to.equal(404)
  expect(linkOf(await signInPage(), 'sign-up')).to.equal('')
  const owner = makePagePerson(service.url, olivia)
  const home = await owner.visit('/admin/northlight')
  expect(textOf(home, 'sign-up-state')).to.include('Self sign-up is off.')
  const action = '/admin/northlight/self-sign-up'
  const on = await owner.send(home, action)
  expect(on.text).to.include('create an account').and.include('People can now create an account')
  const page = await signInPage()
  const [, uid = ''] = /interaction\/([^/]+)/.exec(page.path) ?? []
  const href = linkOf(page, 'sign-up')
  expect(href).to.equal(`/sign-up/sit_northlight?from=${uid}&ui_locales=en`)
  const person = makePagePerson(service.url, ines)
  await person.submit(href, { login: ines.login }, `${signUp}?ui_locales=en`)
  const done = await person.submit(await linkTo(service, ines.login), both)
  expect(linkOf(done, 'continue')).to.equal(`/interaction/${uid}/login`)
  expect((await fetch(`${service.url}/sign-up/open-kitchen`)).status).to.equal(404)
  const admin = makePagePerson(service.url, amir)
  const seen = await admin.visit('/admin/northlight')
  expect(seen.text).to.include('Self sign-up').and.not.include('switch-sign-up')
  const forged = { csrf: hiddenField(seen.text), on: 'yes' }
  expect((await admin.post(action, forged)).status).to.equal(403)
  expect((await owner.send(on, action)).text).to.include('People can no longer')
  expect((await fetch(service.url + signUp)).status).to.equal(404)
})

describe('/sign-up', () => {
  const service = fresh(async () => await startOpen())

  async function ask(login: string, { url } = service()) {
    const person = makePagePerson(url, { login: login.trim(), password: newPassword })
    return { person, sent: await person.submit(signUp, { login }) }
  }
  async function opened(login: string) {
    const { person, sent } = await ask(login)
    const path = await linkTo(service(), login)
    return { person, sent, path, page: await person.visit(path) }
  }

  it('confirms the address in the same browser, or with the code', async () => {
    const { sent } = await ask(` ${ines.login.toUpperCase()} `)
    expect(sent.path).to.equal('/sign-up-sent/northlight')
    expect(sent.text).to.include('on its way to')
    const path = await linkTo(service(), ines.login)
    const phone = makePagePerson(service().url, ines)
    const page = await phone.visit(path)
    const wrong = await phone.send(page, path, { ...both, code: 'BBBB-BBBB' })
    expect(wrong.status).to.equal(422)
    expect(textOf(wrong, 'code-problem')).to.include('The code is incorrect')
    const done = await phone.send(page, path, { ...both, code: textOf(sent, 'code') })
    expect(done.text).to.include('id="joined-page"')
    expect(await rolesOf(service(), ines.login)).to.deep.equal(['Ines Newcomer: student'])
    expect((await phone.visit('/account')).path).to.equal('/account')
  })

  // [204, 255, 256]
  it('shows and stores the same for an address with an account, which can join with the link', async () => {
    const before = await peopleOf(service())
    const unknown = await ask(ines.login)
    const known = await ask('JUNE@openkitchen.example')
    const plain = ({ text }: Seen) =>
      text.replace(/id="code">[^<]*</, '').replaceAll(/[a-z]+@[a-z]+\.example/g, '')
    expect(plain(known.sent)).to.equal(plain(unknown.sent))
    const links = await rowsOf(service().kysely, 'one_time_link')
    const stored = links.map(({ kind, person_id }) => [kind, person_id])
    expect(stored).to.deep.equal(Array(2).fill(['address', null]))
    const path = await linkTo(service(), june.login)
    expect(mailsTo(service(), june.login).join()).to.include('You already have one')
    const person = makePagePerson(service().url, june)
    const page = await person.visit(path)
    expect(page.text).to.include('id="join-page"')
    await person.send(page, path, { answer: 'accept' })
    expect(await rolesOf(service(), june.login)).to.deep.equal(['June Okafor: student'])
    expect(await peopleOf(service())).to.equal(before)
    // The canonical form of the Kelvin sign is k. The mail must go to the canonical address, not to the typed one.
    await ask('\u212aate@new.example')
    expect(await linkTo(service(), 'kate@new.example')).to.include(signUp)
  })

  it('leads back to the app only in the browser that asked [457]', async () => {
    const asker = makePagePerson(service().url, june)
    for (const [count, opener, next] of [
      [1, makePagePerson(service().url, june), '/account'],
      [2, asker, '/interaction/abc-123/login'],
    ] as const) {
      await asker.submit(`${signUp}?from=abc-123`, { login: june.login }, signUp)
      const link = await linkTo(service(), june.login, count)
      expect(linkOf(await opener.submit(link, { answer: 'accept' }), 'continue')).to.equal(next)
    }
  })

  it('treats the spellings of an international domain as one mailbox', async () => {
    const [typed, ascii] = ['ines@Müller.example', 'ines@xn--mller-kva.example']
    await (await ask(typed)).person.submit(await linkTo(service(), ascii), both)
    for (const login of [typed, ascii]) {
      const each = makePagePerson(service().url, { login, password: newPassword })
      expect((await each.visit('/account')).path).to.equal('/account')
      await ask(login)
    }
    await linkTo(service(), ascii, 3)
    const later = mailsTo(service(), ascii).filter((mail) => mail.includes('You already have one'))
    expect(later).to.have.length(2)
    const record = { type: 'person', name: 'Ines', createdAt: '2020-01-01T00:00:00Z' }
    const again = [{ ...record, id: 'per_ines', email: typed }]
    const { rejected } = await importRecords(service().service.stores.database, again)
    expect(rejected).to.have.length(1)
  })

  it('treats an address that only looks like another as a different one [254]', async () => {
    // The escaped letter is a Cyrillic `a`. The domain is in ASCII, as mail requires.
    const look = 's\u0430m@northlight.example'
    const { person, sent, path, page } = await opened(look)
    expect(sent.text).to.include(look)
    expect(page.text).to.include(look)
    expect((await person.send(page, path, both)).text).to.include('id="joined-page"')
    expect(await rolesOf(service(), look)).to.deep.equal(['Ines Newcomer: student'])
    expect(await rolesOf(service(), sam.login)).to.deep.equal(['Sam Student: student'])
  })

  // [257]
  it('limits mails to an address silently, and requests of a network and a site', async () => {
    await using strict = await startOpen({ signIn: { signUpsPerAccountMax: 1 } })
    for (const _ of [1, 2]) expect((await ask(ines.login, strict)).sent.status).to.equal(200)
    await mailsHandled(strict)
    expect(mailsTo(strict, ines.login)).to.have.length(1)
    for (const limits of [
      { signIn: { signUpsPerAddressMax: 1 } },
      { mail: { signUpsPerSiteMax: 1 } },
    ]) {
      await using limited = await startOpen(limits)
      await ask('a@new.example', limited)
      const { sent } = await ask('b@new.example', limited)
      expect(sent.status).to.equal(429)
      expect(sent.text).to.include('Please wait').and.include('value="b@new.example"')
    }
  })

  it('ends when the site switches it off, and its links do not work on any other page [252, 259]', async () => {
    const { operator, path: invitation } = await invited(service(), june.login)
    const { person, path, page } = await opened(ines.login)
    for (const wrong of [
      ...[path.replace(signUp, '/invitation'), path.replace(signUp, '/recover')],
      ...[invitation.replace('/invitation', signUp), invitation.replace('/invitation', '/recover')],
    ])
      expect((await person.visit(wrong)).status, wrong).to.equal(410)
    const form = await person.visit(signUp)
    await operator.run('mutation { setSelfSignUp(isEnabled: false) { id } }')
    expect((await person.send(page, path, both)).status).to.equal(410)
    expect((await person.visit(path)).status).to.equal(410)
    expect((await person.send(form, signUp, { login: ines.login })).status).to.equal(404)
    expect((await person.visit('/sign-up-sent/northlight')).status).to.equal(404)
    await operator.run('mutation { setSelfSignUp(isEnabled: true) { id } }')
    expect((await person.visit(path.replace('northlight', 'open-kitchen'))).status).to.equal(410)
  })
})
