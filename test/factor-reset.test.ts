import { openAuthorization } from './support/client.ts'
import { change, insert, remove, rowOf, rowsOf } from './support/database.ts'
import { flushing, noor, policyWith, sam } from './support/gatehouse.ts'
import { linkTo, mailsHandled, mailsTo } from './support/mail-folder.ts'
import { hiddenField, makePagePerson, textOf } from './support/page-person.ts'
import { fresh } from './support/shared.ts'
import { forEachDatabase } from './support/storages.ts'
import { addApp } from './support/two-factors.ts'
import { expectAnswer } from './support/wire.ts'

const SAM = { person_id: 'per_sam' }
const RESET = { feature: 'factor_reset' }
const gone = { status: 410 }

forEachDatabase('an authenticator app that a person lost', (start) => {
  const service = fresh(async () => {
    const clock = { aheadMs: 0 }
    const now = () => Date.now() + clock.aheadMs
    const running = await start({ policy: policyWith(flushing), now })
    const person = makePagePerson(running.url, sam)
    const add = async () => await addApp(person, now())
    await add()
    return { ...running, person, clock, add }
  })
  beforeEach(async () => await allow('sit_northlight'))
  const allow = async (site_id: string) =>
    await insert(service().kysely, 'site_feature', { ...RESET, site_id, enabled_at: 1 })
  const forbid = async () => await remove(service().kysely, 'site_feature', RESET)
  const apps = async () => await rowsOf(service().kysely, 'totp', SAM)

  /** Enters the password in a new browser. Returns the page of the second step, and `ask`, which requests the mail. */
  async function firstStep(password = sam.password) {
    const person = makePagePerson(service().url, sam)
    const { pathname: path } = await openAuthorization(person, service().url)
    const page = await person.submit(path, { login: sam.login, password })
    const action = `${path}/second-step/reset`
    // Post the form even if the page has no button for it.
    const ask = async () => await person.post(action, { csrf: hiddenField(page.text) })
    return { person, page, ask }
  }

  /** Asks for the mail, and opens the link in the last of `count` mails. */
  async function opened(count?: number) {
    const { person, ask } = await firstStep()
    const sent = await ask()
    const path = await linkTo(service(), sam.login, count)
    return { person, sent, path, page: await person.visit(path) }
  }

  it('is removed with the password and a mail, in the browser that asked, and every session ends', async () => {
    const { kysely, person: before } = service()
    const { person, sent, path, page } = await opened()
    expect(sent).to.include({ status: 200, path: '/recover-sent/second-factor' })
    expect(sent.text).to.include(`on its way to <bdi>${sam.login}</bdi>`)
    expect(page.text).to.include('id="factor-reset-page"').and.not.include('id="code"')
    expect(await apps(), 'opening the link').to.have.length(1)
    const done = await person.send(page, path)
    expect(done.text).to.match(/id="continue"[^>]*href="\/interaction\/[^"]+\/login"/)
    expect(await apps()).to.deep.equal([])
    expect(await rowsOf(kysely, 'recovery_code', SAM)).to.deep.equal([])
    expect((await before.open('/account')).status, 'an earlier session').to.equal(303)
    expect((await person.visit('/account')).path).to.equal('/account')
    const event = await rowOf(kysely, 'audit_event', { action: 'second_factor.reset' })
    expect(event).to.include({ actor_person_id: 'per_sam', ...SAM })
    await mailsHandled(service())
    expect(mailsTo(service(), sam.login).join()).to.include('password alone is enough')
  })

  // [450]
  it('stays without the agreement of every site, for platform reviewers, and without the password', async () => {
    await forbid()
    const isOffered = async () => {
      const { page, ask } = await firstStep()
      const isShown = page.text.includes('id="reset"')
      expect((await ask()).path.endsWith('/reset')).to.equal(!isShown)
      return isShown
    }
    expect(await isOffered()).to.equal(false)
    await allow('sit_northlight')
    expect(await isOffered()).to.equal(true)
    const second = { ...SAM, site_id: 'sit_open_kitchen', role: 'student', granted_at: 1 } as const
    await insert(service().kysely, 'site_role', second)
    expect(await isOffered(), 'a second site').to.equal(false)
    await allow('sit_open_kitchen')
    expect(await isOffered()).to.equal(true)
    await insert(service().kysely, 'platform_reviewer', [{ ...SAM, granted_at: 1 }])
    expect(await isOffered(), 'a platform reviewer').to.equal(false)
    expect((await (await firstStep('a wrong password')).ask()).path).to.match(/\/login$/)
  })

  // [451]
  it('stays if a site or the account changes between the mail and its use', async () => {
    const changeSam = async (values: Parameters<typeof change<'person'>>[3]) =>
      await change(service().kysely, 'person', { id: 'per_sam' }, values)
    for (const [count, apply, undo] of [
      [1, forbid, async () => await allow('sit_northlight')],
      [2, () => changeSam({ disabled_at: 1 }), () => changeSam({ disabled_at: null })],
      [3, () => changeSam({ email_canonical: 'new@x.example' }), async () => {}],
    ] as const) {
      const { person, path, page } = await opened(count)
      await apply()
      expect(await person.send(page, path), `${count}`).to.include(gone)
      await undo()
    }
    expect(await apps()).to.have.length(1)
  })

  // [452]
  it('stays for a week after a password reset by mail, so that the mailbox alone is not enough', async () => {
    const { person, path, page } = await opened()
    const asking = makePagePerson(service().url, sam)
    await asking.submit('/recover', { login: sam.login })
    const password = 'three horses and a tram'
    await asking.submit(await linkTo(service(), sam.login, 2), { password, repeated: password })
    expect(await person.send(page, path), 'the earlier link').to.include(gone)
    const held = await firstStep(password)
    expect(held.page.text).to.include('you can also remove').and.not.include('id="reset"')
    expect((await held.ask()).text).to.include('id="second-step-page"')
    service().clock.aheadMs = 7 * 86_400_000 + 1000
    expect((await firstStep(password)).page.text).to.include('id="reset"')
    expect(await apps()).to.have.length(1)
  })

  // [453]
  it('needs the code in another browser, for five attempts', async () => {
    const { sent, path } = await opened()
    const other = makePagePerson(service().url, noor)
    const page = await other.visit(path)
    expect(page.text).to.include('id="code"')
    const code = textOf(sent, 'code')
    expect(code).to.match(/^[2-9B-Z]{4}-[2-9B-Z]{4}$/)
    for (const wrong of ['BBBB-BBBB', '', code.slice(1)])
      expectAnswer(await other.send(page, path, { code: wrong }), 422, 'The code is incorrect')
    expect(await apps()).to.have.length(1)
    const done = await other.send(page, path, { code: ` ${code.toLowerCase()}` })
    expect(done.text).to.include('href="/account"')
    expect(await apps()).to.deep.equal([])
    await service().add()
    const second = await opened(2)
    const late = await other.visit(second.path)
    for (const next of [...Array(5).fill('BBBB-BBBB'), textOf(second.sent, 'code')])
      expect((await other.send(late, second.path, { code: next })).status, next).to.equal(422)
    expect(await apps()).to.have.length(1)
  })

  // [454]
  it('is removed only once, and not by an older link or after 20 minutes', async () => {
    const { clock, add } = service()
    const first = await opened()
    const second = await opened(2)
    const uses = [1, 2].map(async () => await second.person.send(second.page, second.path))
    expect((await Promise.all(uses)).map(({ status }) => status).sort()).to.deep.equal([200, 410])
    await add()
    expect(await first.person.send(first.page, first.path)).to.include(gone)
    const late = await opened(3)
    clock.aheadMs += 20 * 60_000
    expect(await late.person.visit(late.path)).to.include(gone)
    expect(await apps()).to.have.length(1)
  })

  // [455]
  it('causes a limited number of mails, and each browser shows its latest code', async () => {
    const [{ person, ask }, { ask: askElsewhere }] = [await firstStep(), await firstStep()]
    const sent = [await ask(), await ask(), await askElsewhere()]
    for (const { path } of sent) expect(path).to.equal('/recover-sent/second-factor')
    const codes = sent.map((each) => textOf(each, 'code'))
    expect(new Set(codes).size).to.equal(3)
    const shown = await person.visit('/recover-sent/second-factor')
    expect(textOf(shown, 'code')).to.equal(codes[1])
    expectAnswer(await ask(), 429, 'Too many attempts', 'id="second-step-page"')
  })
})
