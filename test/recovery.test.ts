import { rowsOf } from './support/database.ts'
import { flushing, flushingSoon, noor, sam, startService, startWith } from './support/gatehouse.ts'
import { linkTo, mailsTo, mailsWith } from './support/mail-folder.ts'
import { hiddenField, makePagePerson, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { fresh } from './support/shared.ts'
import { expectAnswer } from './support/wire.ts'

const password = 'three horses and a tram'
const both = { password, repeated: password }

describe('/recover', () => {
  const clock = { aheadMs: 0 }
  const service = fresh(async () => {
    clock.aheadMs = 0
    return await startService({ policy: flushingSoon, now: () => Date.now() + clock.aheadMs })
  })

  async function ask(login: string = sam.login, { url } = service()) {
    const person = makePagePerson(url, { ...sam, password })
    return { person, sent: await person.submit('/recover', { login }) }
  }
  const pathInMail = async (count = 1) => await linkTo(service(), sam.login, count)

  /** Asks for a mail, and opens the link in the last of `count` mails. */
  async function opened(count?: number) {
    const { person } = await ask()
    const path = await pathInMail(count)
    return { person, path, page: await person.visit(path) }
  }

  // [236]
  it('sets a new password with a mail that programs have opened, and signs out other browsers', async () => {
    const other = makePagePerson(service().url, sam)
    await other.visit('/account')
    const { person, sent } = await ask()
    expect(sent).to.include({ status: 200, path: '/recover-sent' })
    const path = await pathInMail()
    for (const method of ['GET', 'HEAD'])
      expect((await fetch(service().url + path, { method })).status).to.equal(200)
    const page = await person.visit(path)
    expect(page.text).to.include(sam.login).and.not.include('id="code"')
    const weak = await person.send(page, path, { password: 'sam', repeated: 'sam' })
    expectAnswer(weak, 422, 'at least 15 characters')
    const set = await person.send(weak, path, { ...both, end_apps: 'yes' })
    expect(set.text).to.include('id="password-set-page"')
    expect((await other.open('/account')).status).to.equal(303)
    expect((await person.visit('/account')).path).to.equal('/account')
    expect((await person.visit(path)).status, 'a second use').to.equal(410)
    await mailsWith(service(), 'was changed')
  })

  it('responds to an unknown address as to a known one, but sends nothing [242]', async () => {
    const known = await ask()
    await pathInMail()
    const unknown = await ask('nobody@northlight.example')
    const plain = (text: string) =>
      text.replace(/id="code">[^<]*</, '').replaceAll(/[a-z]+@northlight.example/g, '')
    expect(plain(unknown.sent.text)).to.equal(plain(known.sent.text))
    expect(textOf(unknown.sent, 'code')).to.match(/^\w{4}-\w{4}$/)
    const rows = await service().kysely.selectFrom('one_time_link').select('person_id').execute()
    expect(rows.map(({ person_id }) => person_id === null)).to.have.members([true, false])
    expect(mailsTo(service())).to.have.length(1)
    // The page repeats the address as typed, not as stored, so it does not reveal whether an account has the address.
    for (const login of ['SAM@Northlight.example', 'NOBODY@Northlight.example'])
      expect((await ask(login)).sent.text).to.include(login)
  })

  // [237, 238]
  it('opens the link in another browser with the code of the first, for five attempts', async () => {
    const code = textOf((await ask()).sent, 'code')
    const path = await pathInMail()
    const phone = makePagePerson(service().url, noor)
    const page = await phone.visit(path)
    expect(page.text).to.include('id="code"')
    const wrong = await phone.send(page, path, { ...both, code: 'BBBB-BBBB' })
    expectAnswer(wrong, 422, 'The code is incorrect')
    await eventually(5000, async () => {
      const failed = await rowsOf(service().kysely, 'audit_event', { action: 'link.failure' })
      expect(failed.map(({ person_id }) => person_id)).to.deep.equal(['per_sam'])
    })
    const set = await phone.send(page, path, { ...both, code: code.toLowerCase() })
    expect(set.text).to.include('id="password-set-page"').and.include('href="/account"')
    const right = textOf((await ask()).sent, 'code')
    const second = await pathInMail(2)
    const late = await phone.visit(second)
    for (const tried of [...Array(5).fill('BBBB-BBBB'), right])
      expect((await phone.send(late, second, { ...both, code: tried })).status).to.equal(422)
  })

  it('leads back to the sign-in from which the person came [246]', async () => {
    const person = makePagePerson(service().url, sam)
    await person.submit('/recover?from=abc-123', { login: sam.login }, '/recover')
    const set = await person.submit(await pathInMail(), both)
    expect(set.text).to.include('href="/interaction/abc-123/login"')
    const gone = await person.visit('/interaction/abc-123/login')
    expect(gone.text).to.match(/<a id="account"[^>]* href="\/account">/)
    for (const from of ['https://evil.example', '//evil.example', 'a/../../b', 'x'.repeat(65)]) {
      const page = await person.visit(`/recover?${new URLSearchParams({ from })}`)
      expect(page.text).not.to.include('name="from"')
    }
  })

  it('refuses a form of another site or browser [RFC 6749 §10.12; 247]', async () => {
    const bare = await makePagePerson(service().url, sam).post('/recover', { login: sam.login })
    expect(bare.status).to.equal(403)
    const csrf = hiddenField((await makePagePerson(service().url, sam).visit('/recover')).text)
    const other = makePagePerson(service().url, sam)
    await other.visit('/recover')
    expect((await other.post('/recover', { login: sam.login, csrf })).status).to.equal(403)
  })

  // [243]
  it('sends at most three mails to an address in a quarter of an hour, and says nothing about it', async () => {
    for (let time = 0; time < 5; time += 1) expect((await ask()).sent.status).to.equal(200)
    const rows = await service().kysely.selectFrom('one_time_link').select('person_id').execute()
    expect(rows.filter(({ person_id }) => person_id !== null)).to.have.length(3)
  })

  it('accepts one of several uses at the same time, which ends the other links [239]', async () => {
    const first = await opened()
    const { person, path, page } = await opened(2)
    const uses = await Promise.all([1, 2, 3].map(() => person.send(page, path, both)))
    expect(uses.map(({ status }) => status).sort()).to.deep.equal([200, 410, 410])
    expect((await first.person.send(first.page, first.path, both)).status).to.equal(410)
  })

  it('works after a thief has changed the password in a session [456]', async () => {
    const { person, path, page } = await opened()
    const thief = makePagePerson(service().url, sam)
    const security = '/account/security'
    const stolen = 'four boats and a bicycle'
    const typed = { current: sam.password, password: stolen, repeated: stolen }
    const changed = await thief.submit(security, typed)
    expect(changed.path).to.equal(`${security}?done=changed`)
    expect((await person.send(page, path, both)).text).to.include('id="password-set-page"')
    expect((await thief.open('/account')).status, 'the thief').to.equal(303)
    expect((await person.visit('/account')).path).to.equal('/account')
  })

  // [240]
  it('does not work for another address, a disabled account, or after 20 minutes', async () => {
    const ofSam = service().kysely.updateTable('person').where('name', '=', 'Sam Student')
    const changes = [{ disabled_at: 1 }, { email_canonical: 'new@x.example' }]
    for (const [done, change] of changes.entries()) {
      const { person, path, page } = await opened(done + 1)
      await ofSam.set(change).execute()
      expect((await person.send(page, path, both)).status).to.equal(410)
      await ofSam.set({ disabled_at: null, email_canonical: sam.login }).execute()
      expect((await person.visit(path)).status, 'used up').to.equal(410)
    }
    const { person, path, page } = await opened(changes.length + 1)
    expect(page.status).to.equal(200)
    clock.aheadMs = 20 * 60_000
    expect((await person.visit(path)).status).to.equal(410)
  })

  it('limits the requests of a network [244]', async () => {
    await using strict = await startWith({ ...flushing, signIn: { recoveriesPerAddressMax: 2 } })
    await ask('a@x.example', strict)
    await ask('b@x.example', strict)
    const { sent } = await ask('c@x.example', strict)
    expectAnswer(sent, 429, 'Please wait', 'value="c@x.example"')
  })

  it('sends the mail to the stored address only, with the base URL [245, 248]', async () => {
    await ask('s\u0430m@northlight.example')
    const { person, sent } = await ask(` ${sam.login.toUpperCase()} `)
    expect(sent.status).to.equal(200)
    const form = await person.visit('/recover')
    await person.open('/recover', {
      method: 'POST',
      headers: { 'x-forwarded-host': 'evil.example' },
      body: new URLSearchParams({ login: sam.login, csrf: hiddenField(form.text) }),
    })
    await eventually(10_000, async () => expect(mailsTo(service())).to.have.length(2))
    for (const mail of mailsTo(service())) {
      expect(mail).to.include(`To: ${sam.login}`).and.not.include('evil.example')
      expect(mail).to.include(`${service().config.baseUrl}/recover/`)
    }
  })
})
