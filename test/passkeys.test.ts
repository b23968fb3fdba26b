import { type Lies, makeAuthenticator, optionsOf } from './support/authenticator.ts'
import { openAuthorization } from './support/client.ts'
import { change, insert, rowOf, rowsOf } from './support/database.ts'
import {
  amir,
  flushingSoon,
  june,
  marco,
  noor,
  olivia,
  policyWith,
  sam,
  startService,
} from './support/gatehouse.ts'
import { mailsWith } from './support/mail-folder.ts'
import { hiddenField, makePagePerson, type PagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { forEachDatabase, sharedService } from './support/storages.ts'
import { answerOf, encode, expectAnswer, type Fields } from './support/wire.ts'

const [list, add] = ['/account/passkeys', '/account/passkeys/add']

type Device = ReturnType<typeof makeAuthenticator>
type Browser = PagePerson['browser']

describe('passkeys', () => {
  let aheadMs = 0
  const now = () => Date.now() + aheadMs
  const service = sharedService({ host: 'localhost', policy: flushingSoon, now })
  afterEach(() => {
    aheadMs = 0
  })
  const here = () => service().url

  /** Adds a passkey with the options on a person's page. `lies` are false values in the response. */
  const enrol = async (answers: typeof sam, given: { device?: Device; lies?: Lies } = {}) => {
    const { device = makeAuthenticator(here()), lies } = given
    const person = makePagePerson(here(), answers)
    const page = await person.visit(add)
    const credential = device.create(optionsOf(page.text), lies)
    return { device, person, seen: await person.send(page, add, { credential, name: 'Phone' }) }
  }

  const openAt = async (browser: Browser, to: string | null, init?: RequestInit) =>
    await answerOf(await browser.open(new URL(to ?? '', here()), init))
  const post = async (browser: Browser, path: string, fields: Fields) => {
    const form = { method: 'POST', body: encode(fields) }
    const { status, headers, text } = await openAt(browser, path, form)
    return { status, location: headers.get('location'), text }
  }

  const arrive = async (asked: Fields = {}) => {
    const { browser } = makePagePerson(here(), sam)
    const at = await openAuthorization(browser, here(), asked)
    const { text, headers } = await openAt(browser, at.href)
    const csrf = hiddenField(text)
    const send = async (credential: string, form = { at, csrf }) =>
      await post(browser, `${form.at.pathname}/passkey`, { credential, csrf: form.csrf })
    return { browser, at, headers, text, csrf, options: optionsOf(text), send }
  }

  /** Opens the sign-in page in a new browser and sends the device's response. */
  const signInWith = async (device: Device, lies?: Lies) => {
    const { browser, options, send } = await arrive()
    return { ...(await send(device.use(options, lies))), browser }
  }

  const arriveWithPassword = async ({ login, password }: typeof sam, asked?: Fields) => {
    const { browser, at, csrf } = await arrive(asked)
    const { text, location } = await post(browser, at.pathname, { csrf, login, password })
    const send = async (credential: string) =>
      await post(browser, `${at.pathname}/second-step`, { csrf, credential })
    return { browser, text, location, options: location ? {} : optionsOf(text), send }
  }

  const acrsOf = async (person_id: string) =>
    (await rowsOf(service().kysely, 'browser_session', { person_id })).map(({ acr }) => acr)
  const rowOfDevice = async (id: string) => await rowOf(service().kysely, 'passkey', { id })
  const eventOf = async (action: string, reason: string | null = null) =>
    await eventually(5000, () => rowOf(service().kysely, 'audit_event', { action, reason }))

  it('are added after a fresh sign-in, and sign in without a password', async () => {
    const { device, seen } = await enrol(sam)
    expect(seen).to.include({ status: 200, path: `${list}?done=added` })
    expect(seen.text).to.include('Phone').and.include('On one device only')
    expect((await eventOf('passkey.add')).after).to.equal('{"passkey":"Phone"}')
    const { browser, status, location } = await signInWith(device)
    expect(status).to.equal(303)
    expect((await openAt(browser, location)).headers.get('location')).to.match(/consent$|\?code=/)
    expect((await rowOfDevice(device.id)).last_used_at).to.be.above(0)
    expect(await acrsOf('per_sam')).to.include('urn:gatehouse:mfa')
    await mailsWith(service(), 'A passkey for', sam.login)
  })

  it('count as one factor, if the authenticator did not verify its user', async () => {
    const { device } = await enrol(olivia, { lies: { flags: 1 | 64 } })
    const { browser, location } = await signInWith(device, { flags: 1 })
    await openAt(browser, location)
    const acrs = await acrsOf('per_olivia')
    expect(acrs).to.include('urn:gatehouse:passkey').and.not.include('urn:gatehouse:mfa')
  })

  const useApp = async (person_id: string) => {
    const app = { person_id, sealed_secret: '', confirmed_at: 1, last_step: 0 }
    await insert(service().kysely, 'totp', [app])
  }

  // [315]
  it('need to verify the user of an account with an authenticator app', async () => {
    const { device } = await enrol(june)
    await useApp('per_june')
    const { send, options } = await arrive()
    const refused = await send(device.use(options, { flags: 1 }))
    expect(refused).to.include({ status: 401, location: null })
    expect(refused.text).to.include('needs a passkey that asks for your PIN')
    await eventOf('sign_in.failure', 'unverified passkey')
    expect((await send(device.use(options))).status).to.equal(303)
  })

  for (const [what, lies] of [
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['another port of the host', { origin: 'http://localhost:1' }],
    ['another host', { rpId: 'evil.example' }],
    ['another challenge', { challenge: 'x'.repeat(43) }],
    ['adding one', { type: 'webauthn.create' }],
    ['an absent user', { flags: 0 }],
  ] as const) {
    // [291, 292, 293]
    it(`reject a response for ${what}, and one to add a passkey`, async () => {
      const { device } = await enrol(noor)
      const answer = await signInWith(device, lies)
      expect(answer).to.include({ status: 401, location: null })
      expect(answer.text).to.include('This passkey is not valid here.')
      await eventOf('sign_in.failure', 'invalid passkey response')
      expect((await rowOfDevice(device.id)).last_used_at).to.equal(null)
      const other = 'type' in lies ? { type: 'webauthn.get' } : lies
      const { seen, device: second } = await enrol(noor, { lies: other })
      expect(seen).to.include({ status: 422, path: add })
      expect(await rowOfDevice(second.id).catch(() => undefined)).to.equal(undefined)
    })
  }

  // [294, 295]
  it('reject a response for another interaction, session or browser, and a forged form', async () => {
    const { device, person } = await enrol(noor)
    const [one, other] = [await arrive(), await arrive()]
    expect((await other.send(device.use(one.options))).status).to.equal(401)
    expect((await other.send(device.use(one.options), one)).status).to.equal(400)
    expect((await one.send(device.use(one.options), { ...one, csrf: '' })).status).to.equal(403)
    const elsewhere = optionsOf((await makePagePerson(here(), noor).visit(add)).text)
    const credential = makeAuthenticator(here()).create(elsewhere)
    expect((await person.submit(add, { credential, name: 'x' })).status).to.equal(422)
  })

  // [296]
  it('accept a response once: after the sign-in, the interaction is over', async () => {
    const { device } = await enrol(noor)
    const { send, options, browser, at } = await arrive()
    const response = device.use(options)
    await openAt(browser, (await send(response)).location)
    browser.keep(at, [`gatehouse=${at.pathname.split('/')[2]}; path=${at.pathname}`])
    expect((await send(response)).status).to.equal(400)
  })

  // [297]
  it('reject both copies of a cloned passkey, tell the person, and change nothing else', async () => {
    const { device } = await enrol(noor, { lies: { counter: 5 } })
    const clone = device.copy()
    expect((await signInWith(device)).status).to.equal(303)
    expectAnswer(await signInWith(clone), 401, 'a copy of it was used')
    const event = await eventOf('passkey.clone')
    expect(event).to.include({ person_id: 'per_noor', actor_person_id: null })
    expect((await signInWith(device)).status).to.equal(401)
    expect(await mailsWith(service(), 'was locked', noor.login)).to.have.length(1)
    expect((await makePagePerson(here(), noor).visit(list)).text).to.include('copy of this passkey')
  })

  // [298]
  it('do not mark a passkey as copied because of a forged response, or one that was sent twice', async () => {
    const { device } = await enrol(noor, { lies: { counter: 5 } })
    const { send, options } = await arrive()
    const foreign = JSON.parse(makeAuthenticator(here()).use(options, { counter: 1 }))
    const forged = JSON.stringify({ ...foreign, id: device.id, rawId: device.id })
    expect((await send(forged)).status).to.equal(401)
    const response = device.use(options)
    expect((await send(response)).status).to.equal(303)
    expect((await send(response)).status).to.equal(401)
    expect((await rowOfDevice(device.id)).cloned_at).to.equal(null)
    expect((await send(device.use(options))).status).to.equal(303)
  })

  // [299]
  it('reject a certificate of a manufacturer, which the library would look up elsewhere', async () => {
    for (const format of ['packed', 'fido-u2f', 'apple', 'tpm', 'android-key', 'x']) {
      const { seen, device } = await enrol(noor, { lies: { format } })
      expect(seen, format).to.include({ status: 422, path: add })
      expect(await rowsOf(service().kysely, 'passkey', { id: device.id })).to.deep.equal([])
    }
  })

  // [300]
  it('belong to one person: another person cannot add, see or remove them', async () => {
    const { device } = await enrol(sam)
    const { seen, person } = await enrol(noor, { device })
    expectAnswer(seen, 422, 'was added before')
    const page = await person.visit(list)
    expect(page.text).not.to.include(device.id)
    const fields = { csrf: hiddenField(page.text), passkey: device.id }
    expect((await person.post(`${list}/remove`, fields)).status).to.equal(200)
    expect(await rowOfDevice(device.id)).to.include({ name: 'Phone' })
  })

  it('are added and removed only shortly after a sign-in', async () => {
    const { device, person } = await enrol(sam)
    const csrf = hiddenField((await person.visit(list)).text)
    const fields = { csrf, passkey: device.id }
    aheadMs = 11 * 60_000
    for (const path of [add, `${list}/remove`])
      expect((await post(person.browser, path, fields)).location).to.include('prompt=login')
    expect((await person.open(add)).headers.get('location')).to.include('prompt=login')
    aheadMs = 0
    const removed = await post(person.browser, `${list}/remove`, fields)
    expect(removed.location).to.equal(`${list}?done=removed`)
  })

  // [301]
  it('do not sign in after they were removed, or when the account is disabled', async () => {
    const { device, person } = await enrol(olivia)
    const { device: other } = await enrol(olivia)
    const fields = { csrf: hiddenField((await person.visit(list)).text), passkey: device.id }
    expect((await person.post(`${list}/remove`, fields)).path).to.equal(`${list}?done=removed`)
    await eventOf('passkey.remove')
    expect((await signInWith(device)).status).to.equal(401)
    await eventOf('sign_in.failure', 'unknown passkey')
    await change(service().kysely, 'person', { id: 'per_olivia' }, { disabled_at: 1 })
    expect((await signInWith(other)).status).to.equal(401)
    await change(service().kysely, 'person', { id: 'per_olivia' }, { disabled_at: null })
    expect((await signInWith(other)).status).to.equal(303)
  })

  // [302]
  it('reject text that is not a response, ids that are too long, and NUL', async () => {
    const { send } = await arrive()
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '"x"',
      '{"id":1}',
      '{"id":"__proto__"}',
      JSON.stringify({ id: 'x'.repeat(2000) }),
      JSON.stringify({ id: 'x\0' }),
    ])
      expect((await send(text)).status, text).to.equal(401)
    const { device, person } = await enrol(sam)
    for (const credential of ['', '{', '{"id":"x"}', device.use({ challenge: 'x' })])
      expect((await person.submit(add, { credential, name: '' })).status, credential).to.equal(422)
  })

  it('allow their script by its hash, only on the pages that use it', async () => {
    const { headers, text } = await arrive()
    expect(headers.get('content-security-policy')).to.match(/script-src( 'sha256-[\w+/=]+'){2};/)
    expect(text.match(/<script/g)).to.have.length(2)
    const person = makePagePerson(here(), sam)
    await person.visit(add)
    const policyOf = async (path: string) =>
      (await person.open(path)).headers.get('content-security-policy')
    expect(await policyOf(add)).to.match(/script-src 'sha256-/)
    expect(await policyOf(list)).to.include("script-src 'none'")
  })

  // [RFC 8176 §2]
  it('are a second factor after the password where a request needs two, verified or not', async () => {
    const { device } = await enrol(noor, { lies: { flags: 1 | 64 } })
    expect((await arriveWithPassword(noor)).location, 'needs one').to.match(/authorize/)
    const asked = { acr_values: 'urn:gatehouse:mfa' }
    const alone = await arrive(asked)
    expect(alone.text).to.include('href="/account/second-factor"')
    expect(alone.options.userVerification).to.equal('required')
    expect((await alone.send(device.use(alone.options, { flags: 1 }))).status).to.equal(401)
    const { text, options, send, browser } = await arriveWithPassword(noor, asked)
    expect(text).to.include('id="second-step-page"').and.not.include('name="code"')
    expect(options.allowCredentials).to.deep.include({ type: 'public-key', id: device.id })
    const { status, location } = await send(device.use(options, { flags: 1 }))
    expect(status).to.equal(303)
    await openAt(browser, location)
    expect(await acrsOf('per_noor')).to.include('urn:gatehouse:mfa')
    expect((await arriveWithPassword(amir, asked)).location, 'has none').to.match(/authorize/)
  })

  // [316, 360]
  it('of another person are not a second factor, and count as wrong codes', async () => {
    const [{ device }, { device: foreign }] = [await enrol(marco), await enrol(sam)]
    await useApp('per_marco')
    const own = await arriveWithPassword(marco)
    expect((await own.send(device.use(own.options, { flags: 1 }))).status).to.equal(303)
    const { send, options, text } = await arriveWithPassword(marco)
    expect(text).to.include('id="code"').and.include('id="passkey"')
    const forged = () => device.use(options, { challenge: 'x'.repeat(43) })
    for (const response of [() => foreign.use(options), forged, forged, forged, () => '{}'])
      expect(await send(response())).to.include({ status: 401, location: null })
    expect((await send(device.use(options))).status).to.equal(429)
    expect((await rowOfDevice(foreign.id)).last_used_at).to.equal(null)
    expect(await mailsWith(service(), 'Wrong codes', marco.login)).to.have.length(1)
  })
})

forEachDatabase('passkeys of one person or network', (start) => {
  // [361]
  it('are limited to twenty, also if they are added at the same time', async () => {
    await using service = await start({ host: 'localhost' })
    const values = { person_id: 'per_noor', name: 'A', public_key: '', counter: 0, created_at: 1 }
    const full = Array.from({ length: 19 }, (_, at) => ({ ...values, id: `full-${at}` }))
    await insert(service.kysely, 'passkey', full)
    const person = makePagePerson(service.url, noor)
    const page = await person.visit(add)
    const added = [1, 2, 3, 4, 5].map(async () => {
      const credential = makeAuthenticator(service.url).create(optionsOf(page.text))
      return (await person.send(page, add, { credential, name: 'Phone' })).status
    })
    expect((await Promise.all(added)).sort()).to.deep.equal([200, 422, 422, 422, 422])
    expect(await rowsOf(service.kysely, 'passkey', { person_id: 'per_noor' })).to.have.length(20)
  })

  // [362]
  it('allow a limited number of failures per network', async () => {
    const policy = policyWith({ signIn: { failuresPerAddressMax: 2 } })
    await using service = await start({ host: 'localhost', policy })
    const { browser } = makePagePerson(service.url, sam)
    const at = await openAuthorization(browser, service.url)
    const csrf = hiddenField(await (await browser.open(at)).text())
    const form = { method: 'POST', body: encode({ csrf, credential: '{}' }) }
    const send = async () => (await browser.open(new URL(`${at}/passkey`), form)).status
    expect([await send(), await send(), await send()]).to.deep.equal([401, 401, 429])
  })
})

it('passkeys are not offered at an IP address, because browsers do not support them there', async () => {
  await using service = await startService()
  const person = makePagePerson(service.url, sam)
  const { text } = await person.visit(list)
  expect(text).to.include('no-host').and.not.include(add)
  expect((await person.visit(add)).status).to.equal(404)
  const { browser } = makePagePerson(service.url, sam)
  const page = await browser.open(await openAuthorization(browser, service.url))
  expect(page.headers.get('content-security-policy')).to.match(/script-src 'sha256-[\w+/=]+';/)
  expect(await page.text()).not.to.include('webauthn')
})
