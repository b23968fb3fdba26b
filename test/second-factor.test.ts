import { generateSync } from 'otplib'

import { endSessions } from '../src/oauth/grants/end-access.ts'
import { endEverything } from '../src/oauth/grants/end-grants.ts'
import { type Answers, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { openAuthorization } from './support/client.ts'
import { change, insert, rowOf, rowsOf } from './support/database.ts'
import { flushing, noor, policyWith, sam } from './support/gatehouse.ts'
import { mailsWith } from './support/mail-folder.ts'
import { hiddenField, makePagePerson, submitPage, targetOf, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { fresh } from './support/shared.ts'
import { forEachDatabase } from './support/storages.ts'
import { addApp } from './support/two-factors.ts'
import { encode } from './support/wire.ts'

const NOOR = 'per_noor'
const page = '/account/second-factor'
const STEP_MS = 30_000

forEachDatabase('a second factor', (start) => {
  const account = fresh(async () => {
    const ahead = { ms: 0 }
    const now = () => Date.now() + ahead.ms
    const policy = policyWith({ ...flushing, signIn: { freshSeconds: 60 } })
    const service = await start({ policy, now })
    const person = makePagePerson(service.url, sam)
    const addedMs = now()
    const { form, done, codeAt } = await addApp(person, addedMs)
    /** Moves the clock to the next TOTP period. Returns the app's code for it. */
    const next = () => {
      ahead.ms += STEP_MS
      return codeAt(now())
    }
    const answers: Answers = { ...sam, code: next }
    return {
      ...{ service, url: service.url, person, form, now, addedMs, ahead, codeAt, next, answers },
      recovery: listed(done),
      [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
    }
  })
  const listed = ({ text }: { text: string }) =>
    /<code>([A-Z2-7\n-]+)<\/code>/.exec(text)?.[1]?.split('\n') ?? []

  /** Sends the right password. The returned `send` sends the code of the second step. */
  const firstStep = async (url: string) => {
    const person = makeHeadlessPerson(sam)
    const login = await openAuthorization(person, url)
    const answer = await submitPage(person, login, sam)
    const text = await answer.text()
    const csrf = hiddenField(text)
    const target = new URL(`${login.href}/second-step`)
    const send = async (code: string, more: object = {}) =>
      await person.open(target, { method: 'POST', body: encode({ csrf, code, ...more }) })
    const step = /gatehouse_step=([^;]*)/.exec(person.cookiesFor(target))?.[1] ?? ''
    return { person, answer, text, step, send, target }
  }
  const sendCode = async (url: string, code: string) => await (await firstStep(url)).send(code)
  const isDone = (response: Response) =>
    /\/oauth\/authorize\//.test(response.headers.get('location') ?? '')

  // [303]
  it('is needed before the password has any effect: no session, cookie, notice or success', async () => {
    const { service, url, next } = account()
    const leaving = () => rowOf(service.kysely, 'person', { id: 'per_sam' })
    await change(service.kysely, 'person', { id: 'per_sam' }, { deletion_due_at: 9e15 })
    const { answer, text, person, send, target } = await firstStep(url)
    expect((await leaving()).deletion_due_at).to.equal(9e15)
    expect(answer.status).to.equal(200)
    expect(text).to.include('id="second-step-page"')
    expect(answer.headers.getSetCookie().join()).not.to.match(/gatehouse_browser|session/)
    expect(await (await person.open(target)).text()).to.include('id="second-step-page"')
    expect((await openAuthorization(person, url)).pathname).to.match(/\/login$/)
    expect((await send('000000')).status).to.equal(401)
    const events = async (action: string) => await rowsOf(service.kysely, 'audit_event', { action })
    await eventually(5000, async () => expect(await events('sign_in.failure')).to.have.length(1))
    expect(await events('sign_in.success'), 'for the set-up').to.have.length(1)
    const done = await send(next())
    expect(isDone(done)).to.equal(true)
    await person.open(targetOf(done, url))
    expect((await leaving()).deletion_due_at).to.equal(null)
    await mailsWith(service, 'An authenticator app was added to your account')
  })

  // [304]
  it('accepts a code once, in any interaction, and also if two requests send it together', async () => {
    const { url, form, next, codeAt, addedMs } = account()
    expect(form.text).to.include('data:image/svg+xml,')
    const sent = codeAt(addedMs)
    expect((await sendCode(url, sent)).status, 'the code of the set-up').to.equal(401)
    const [one, other] = await Promise.all([firstStep(url), firstStep(url)])
    const code = next()
    const both = await Promise.all([one.send(code), other.send(code)])
    expect(both.filter(isDone).length).to.equal(1)
    expect((await sendCode(url, code)).status).to.equal(401)
  })

  // [305]
  it('accepts the steps before and after the current one, and no others', async () => {
    const { url, ahead, codeAt, now } = account()
    const statuses: boolean[] = []
    for (const steps of [-2, 2, -1, 1]) {
      ahead.ms += 5 * STEP_MS
      statuses.push(isDone(await sendCode(url, codeAt(now() + steps * STEP_MS))))
    }
    expect(statuses).to.deep.equal([false, false, true, true])
  })

  // [306]
  it('rejects the right code after five wrong ones, in every browser, with one mail, but only for this person', async () => {
    const { service, url, next } = account()
    const browsers = await Promise.all([1, 2, 3, 4, 5].map(() => firstStep(url)))
    const wrong = await Promise.all(browsers.map(({ send }) => send('000000')))
    expect(wrong.map(({ status }) => status)).to.deep.equal([401, 401, 401, 401, 401])
    expect((await sendCode(url, next())).status).to.equal(429)
    expect(await mailsWith(service, 'Wrong codes', sam.login)).to.have.length(1)
    expect((await makePagePerson(url, noor).visit('/account')).status).to.equal(200)
    await eventually(5000, async () => {
      const events = await rowsOf(service.kysely, 'audit_event', { action: 'sign_in.failure' })
      const found = events.map(({ person_id, reason }) => `${person_id} ${reason}`)
      expect(found).to.include.members(['per_sam wrong second factor', 'per_sam too many attempts'])
    })
  })

  // [307, 308]
  it('accepts each recovery code once, in any spelling, also in parallel, but no other person’s codes or replaced ones', async () => {
    const { service, url, person, recovery } = account()
    const [first = '', second = '', third = ''] = recovery
    expect(new Set(recovery).size).to.equal(10)
    const steps = await Promise.all([firstStep(url), firstStep(url)])
    const both = await Promise.all(steps.map(({ send }) => send(first)))
    expect(both.filter(isDone).length).to.equal(1)
    expect((await sendCode(url, first)).status).to.equal(401)
    const typed = second.toLowerCase().replaceAll('-', ' ')
    expect(isDone(await sendCode(url, typed))).to.equal(true)
    await mailsWith(service, 'You have 8 unused recovery codes')
    const rows = recovery.map((_code, at) => ({ digest: `${at}`, created_at: 1, person_id: NOOR }))
    await insert(service.kysely, 'recovery_code', rows)
    const renewed = listed(await person.submit(page, {}, `${page}/codes`))
    expect(renewed).to.have.length(10)
    expect(isDone(await sendCode(url, third))).to.equal(false)
    expect(isDone(await sendCode(url, renewed[0] ?? ''))).to.equal(true)
    expect(await rowsOf(service.kysely, 'recovery_code', { person_id: NOOR })).to.have.length(10)
  })

  // [309, 310]
  it('starts over if the first step is altered, of another sign-in, over ten minutes old, or before an end of all sessions', async () => {
    const { service, url, now, ahead, next } = account()
    const other = await firstStep(url)
    const { person, send, step, target } = await firstStep(url)
    expect(step).to.not.equal('')
    for (const foreign of [other.step, `A${step}`, '']) {
      const path = target.pathname.replace('/second-step', '')
      person.keep(target, [`gatehouse_step=${foreign}; Path=${path}`])
      expect((await send(next())).headers.get('location'), foreign.slice(0, 9)).to.match(/\/login$/)
    }
    const late = await firstStep(url)
    ahead.ms += 600_001
    expect((await late.send(next())).headers.get('location')).to.match(/\/login$/)
    expect((await other.send(next(), { csrf: 'wrong' })).status).to.equal(403)
    const ended = await firstStep(url)
    await endSessions(service.kysely, ['per_sam'], now())
    const resumed = await ended.person.open(targetOf(await ended.send(next()), url))
    expect(resumed.headers.get('location')).to.match(/\/login$/)
  })

  // [311]
  it('asks for the second step again before it removes the app', async () => {
    const { service, url, answers, ahead } = account()
    const person = makePagePerson(url, answers)
    await person.visit('/account')
    ahead.ms += 61_000
    const csrf = hiddenField((await person.visit(page)).text)
    const again = await person.open(`${page}/remove`, { method: 'POST', body: encode({ csrf }) })
    const login = await person.open(again.headers.get('location') ?? '')
    expect(login.headers.get('location')).to.match(/\/login$/)
    expect(await rowsOf(service.kysely, 'totp', {})).to.have.length(1)
    const removed = await person.submit(page, {}, `${page}/remove`)
    expect(removed.path).to.equal(`${page}?done=repeat`)
    await person.send(removed, `${page}/remove`)
    expect(await rowsOf(service.kysely, 'totp', {})).to.have.length(0)
    expect(await rowsOf(service.kysely, 'recovery_code', {})).to.have.length(0)
    expect((await makePagePerson(url, sam).visit('/account')).status).to.equal(200)
  })

  // [363]
  it('stays in the session after a new password, which then needs a fresh sign-in', async () => {
    const { url, answers, ahead } = account()
    const security = '/account/security'
    const person = makePagePerson(url, answers)
    const password = 'three horses and a tram'
    const typed = { current: sam.password, password, repeated: password }
    const page = await person.visit(security)
    ahead.ms += 61_000
    const init = { method: 'POST', body: encode({ csrf: hiddenField(page.text), ...typed }) }
    expect((await person.open(security, init)).headers.get('location')).to.include('prompt=login')
    expect((await person.submit(security, typed)).path).to.match(/changed$/)
    const query = { scope: 'openid', acr_values: 'urn:gatehouse:mfa', prompt: 'none' }
    const { searchParams } = await openAuthorization(person, url, query)
    expect(searchParams.get('error')).to.equal('consent_required')
  })

  // [312, 313]
  it('keeps the app that was set up first, rejects a secret of another session or without its code, and encrypts secrets', async () => {
    const { service, url, form, recovery } = account()
    const person = makePagePerson(url, noor)
    const own = await person.submit(page, {}, `${page}/app`)
    const confirm = `${page}/app/confirm`
    const sealed = /name="sealed" value="([^"]+)"/.exec(form.text)?.[1] ?? ''
    expect((await person.send(own, confirm, { code: '000000' })).status).to.equal(422)
    const code = generateSync({ secret: textOf(own, 'key').replaceAll(' ', '') })
    expect((await person.send(own, confirm, { code, sealed })).status).to.equal(422)
    expect(await rowsOf(service.kysely, 'totp', {})).to.have.length(1)
    const second = await person.submit(page, {}, `${page}/app`)
    expect(listed(await person.send(own, confirm, { code }))).to.have.length(10)
    const later = generateSync({ secret: textOf(second, 'key').replaceAll(' ', '') })
    expect(listed(await person.send(second, confirm, { code: later }))).to.have.length(0)
    const secret = textOf(form, 'key').replaceAll(' ', '')
    const tables = ['totp', 'recovery_code', 'outbox', 'audit_event'] as const
    const rows = await Promise.all(tables.map((table) => rowsOf(service.kysely, table)))
    const stored = JSON.stringify([rows, service.log])
    const plain = recovery.map((code) => code.replaceAll('-', ''))
    for (const value of [secret, ...recovery, ...plain]) expect(stored).not.to.include(value)
  })

  // [314]
  it('rejects codes that were valid before a restore', async () => {
    const { service, url, recovery, codeAt, now, ahead, next } = account()
    ahead.ms += STEP_MS
    const before = codeAt(now())
    await endEverything(service.service.stores.database, now())
    ahead.ms += 1000
    for (const code of [before, recovery[0] ?? ''])
      expect(isDone(await sendCode(url, code)), code).to.equal(false)
    ahead.ms += STEP_MS
    expect(isDone(await sendCode(url, next()))).to.equal(true)
  })
})
