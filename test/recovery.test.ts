import { rowsOf } from './support/database.ts'
import {
  flushing,
  flushingSoon,
  noor,
  type RunningService,
  sam,
  startService,
  startWith,
} from './support/gatehouse.ts'
import { linkTo, mailsTo, mailsWith } from './support/mail-folder.ts'
import { hiddenField, makePagePerson, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'

const fresh = 'three horses and a tram'
const both = { password: fresh, repeated: fresh }

/** The path in the last of `count` mails with a link. */
const recoveryPath = async (service: RunningService, count = 1) =>
  await linkTo(service, sam.login, count)

const start = async () => await startService({ policy: flushingSoon })

describe('/recover', () => {
  async function ask(service: RunningService, login: string = sam.login) {
    const person = makePagePerson(service.url, { ...sam, password: fresh })
    const form = await person.visit('/recover')
    return { person, sent: await person.send(form, '/recover', { login }) }
  }

  /** Asks for a mail, and opens the link in the last of `count` mails. */
  async function opened(service: RunningService, count?: number) {
    const { person } = await ask(service)
    const path = await recoveryPath(service, count)
    return { person, path, page: await person.visit(path) }
  }

  it('sets a new password with a mail, and signs out other browsers', async () => {
    await using service = await start()
    const other = makePagePerson(service.url, sam)
    await other.visit('/account')
    const { person, sent } = await ask(service)
    expect(sent).to.include({ status: 200, path: '/recover-sent' })
    const path = await recoveryPath(service)
    const page = await person.visit(path)
    expect(page.text).to.include(sam.login).and.not.include('id="code"')
    const set = await person.send(page, path, { ...both, end_apps: 'yes' })
    expect(set.text).to.include('id="password-set-page"')
    expect((await other.open('/account')).status).to.equal(303)
    expect((await person.visit('/account')).path).to.equal('/account')
    expect((await person.visit(path)).status, 'a second use').to.equal(410)
    await mailsWith(service, 'was changed')
  })

  it('responds to an unknown address as to a known one, but sends nothing [242]', async () => {
    await using service = await start()
    const known = await ask(service)
    await recoveryPath(service)
    const unknown = await ask(service, 'nobody@northlight.example')
    const plain = (text: string) =>
      text.replace(/id="code">[^<]*</, '').replaceAll(/[a-z]+@northlight.example/g, '')
    expect(plain(unknown.sent.text)).to.equal(plain(known.sent.text))
    expect(textOf(unknown.sent, 'code')).to.match(/^\w{4}-\w{4}$/)
    const rows = await service.kysely.selectFrom('one_time_link').select('person_id').execute()
    expect(rows.map(({ person_id }) => person_id === null)).to.have.members([true, false])
    expect(mailsTo(service)).to.have.length(1)
    // The letter case of the stored address does not appear, so it reveals no account.
    for (const login of ['SAM@Northlight.example', 'NOBODY@Northlight.example'])
      expect((await ask(service, login)).sent.text).to.include(login)
  })

  // [237, 238]
  it('opens the link in another browser with the code of the first, for five attempts', async () => {
    await using service = await start()
    const { sent } = await ask(service)
    const code = textOf(sent, 'code')
    const path = await recoveryPath(service)
    const phone = makePagePerson(service.url, noor)
    const page = await phone.visit(path)
    expect(page.text).to.include('id="code"')
    const wrong = await phone.send(page, path, { ...both, code: 'BBBB-BBBB' })
    expect(wrong.status).to.equal(422)
    expect(wrong.text).to.include('The code is incorrect')
    await eventually(5000, async () => {
      const failed = await rowsOf(service.kysely, 'audit_event', { action: 'link.failure' })
      expect(failed.map(({ person_id }) => person_id)).to.deep.equal(['per_sam'])
    })
    const set = await phone.send(page, path, { ...both, code: code.toLowerCase() })
    expect(set.text).to.include('id="password-set-page"').and.include('href="/account"')
  })

  it('explains a weak password at the field, and keeps the link', async () => {
    await using service = await start()
    const { person, path, page } = await opened(service)
    const weak = await person.send(page, path, { password: 'sam', repeated: 'sam' })
    expect(weak.status).to.equal(422)
    expect(weak.text).to.include('at least 15 characters')
    expect((await person.send(weak, path, both)).text).to.include('id="password-set-page"')
  })

  it('leads back to the sign-in from which the person came [246]', async () => {
    await using service = await start()
    const person = makePagePerson(service.url, sam)
    await person.send(await person.visit('/recover?from=abc-123'), '/recover', { login: sam.login })
    const path = await recoveryPath(service)
    const set = await person.send(await person.visit(path), path, both)
    expect(set.text).to.include('href="/interaction/abc-123/login"')
    const gone = await person.visit('/interaction/abc-123/login')
    expect(gone.text).to.match(/<a id="account"[^>]* href="\/account">/)
    for (const from of ['https://evil.example', '//evil.example', 'a/../../b', 'x'.repeat(65)]) {
      const page = await person.visit(`/recover?${new URLSearchParams({ from })}`)
      expect(page.text).not.to.include('name="from"')
    }
  })

  it('refuses a form of another site or browser [RFC 6749 §10.12; 247]', async () => {
    await using service = await start()
    const bare = await makePagePerson(service.url, sam).post('/recover', { login: sam.login })
    expect(bare.status).to.equal(403)
    const csrf = hiddenField((await makePagePerson(service.url, sam).visit('/recover')).text)
    const other = makePagePerson(service.url, sam)
    await other.visit('/recover')
    expect((await other.post('/recover', { login: sam.login, csrf })).status).to.equal(403)
  })

  // [243]
  it('sends at most three mails to an address in a quarter of an hour, and says nothing about it', async () => {
    await using service = await start()
    for (let time = 0; time < 5; time += 1) expect((await ask(service)).sent.status).to.equal(200)
    const rows = await service.kysely.selectFrom('one_time_link').select('person_id').execute()
    expect(rows.filter(({ person_id }) => person_id !== null)).to.have.length(3)
  })

  it('ends the other links of the person [239]', async () => {
    await using service = await start()
    const first = await opened(service)
    const second = await opened(service, 2)
    expect((await second.person.send(second.page, second.path, both)).status).to.equal(200)
    expect((await first.person.send(first.page, first.path, both)).status).to.equal(410)
  })

  it('is not used up by programs that open the link [236]', async () => {
    await using service = await start()
    const { person } = await ask(service)
    const path = await recoveryPath(service)
    for (const method of ['GET', 'HEAD', 'GET'])
      expect((await fetch(service.url + path, { method })).status).to.equal(200)
    const set = await person.send(await person.visit(path), path, both)
    expect(set.text).to.include('password-set')
  })

  it('accepts one of several uses at the same time [239]', async () => {
    await using service = await start()
    const { person, path, page } = await opened(service)
    const uses = await Promise.all([1, 2, 3].map(() => person.send(page, path, both)))
    expect(uses.map(({ status }) => status).sort()).to.deep.equal([200, 410, 410])
  })

  // [240]
  it('does not work for another address, a disabled account, or after 20 minutes', async () => {
    const clock = { aheadMs: 0 }
    const now = () => Date.now() + clock.aheadMs
    await using service = await startService({ policy: flushingSoon, now })
    const ofSam = service.kysely.updateTable('person').where('name', '=', 'Sam Student')
    const changes = [{ disabled_at: 1 }, { email_canonical: 'new@x.example' }]
    for (const [done, change] of changes.entries()) {
      const { person, path, page } = await opened(service, done + 1)
      await ofSam.set(change).execute()
      expect((await person.send(page, path, both)).status).to.equal(410)
      await ofSam.set({ disabled_at: null, email_canonical: sam.login }).execute()
      expect((await person.visit(path)).status, 'used up').to.equal(410)
    }
    const { person, path, page } = await opened(service, changes.length + 1)
    expect(page.status).to.equal(200)
    clock.aheadMs = 20 * 60_000
    expect((await person.visit(path)).status).to.equal(410)
  })

  it('limits the requests of a network [244]', async () => {
    await using service = await startWith({ ...flushing, signIn: { recoveriesPerAddressMax: 2 } })
    await ask(service, 'a@x.example')
    await ask(service, 'b@x.example')
    const { sent } = await ask(service, 'c@x.example')
    expect(sent.status).to.equal(429)
    expect(sent.text).to.include('Please wait').and.include('value="c@x.example"')
  })

  it('sends the mail to the stored address only, with the base URL [245, 248]', async () => {
    await using service = await start()
    await ask(service, 's\u0430m@northlight.example')
    const { person, sent } = await ask(service, ` ${sam.login.toUpperCase()} `)
    expect(sent.status).to.equal(200)
    const form = await person.visit('/recover')
    await person.open('/recover', {
      method: 'POST',
      headers: { 'x-forwarded-host': 'evil.example' },
      body: new URLSearchParams({ login: sam.login, csrf: hiddenField(form.text) }),
    })
    await eventually(10_000, async () => expect(mailsTo(service)).to.have.length(2))
    for (const mail of mailsTo(service)) {
      expect(mail).to.include(`To: ${sam.login}`).and.not.include('evil.example')
      expect(mail).to.include(`${service.config.baseUrl}/recover/`)
    }
  })
})
