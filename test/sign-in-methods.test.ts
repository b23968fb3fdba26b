import { decodeJwt } from 'jose'

import { MFA_ACR } from '../src/directory/people/authentication.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { makeAuthenticator, optionsOf } from './support/authenticator.ts'
import {
  asPortal,
  authorizeUrl,
  exchange,
  getCode,
  obtain,
  obtainCode,
  openAuthorization,
  userinfo,
} from './support/client.ts'
import { change } from './support/database.ts'
import { amir, noor, notes, olivia, portal, sam, startService } from './support/gatehouse.ts'
import { linkIdentity, startAtCampus } from './support/identity-provider.ts'
import { later } from './support/later.ts'
import { decode, hiddenField, makePagePerson, submitPage, textOf } from './support/page-person.ts'
import { shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'
import { addApp } from './support/two-factors.ts'
import { encode, type Fields, get } from './support/wire.ts'

const PASSWORD = 'urn:gatehouse:password'
const PROVIDER = 'urn:gatehouse:identity-provider'
const CALLBACK = '/sign-in/callback/campus'
const codeIf = (isMet: boolean) => (isMet ? 'a code' : 'a page')

/** Completes the sign-in page at `login`. Returns the URL of the redirect. */
type SignIn = (person: HeadlessPerson, login: URL) => Promise<URL>
const next = (from: URL, { headers }: Response) => new URL(headers.get('location') ?? 'none:', from)
const essential = (value: string) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, value } } }),
})

describe('the parameters of a request about the sign-in', () => {
  const campus = sharedService()
  const service = shared(async () => await startAtCampus(campus()))

  const byPassword: SignIn = async (person, login) =>
    next(login, await submitPage(person, login, sam))

  const byApp = async (): Promise<SignIn> => {
    const { codeAt } = await addApp(makePagePerson(service().url, amir), Date.now())
    return async (person, login) => {
      const text = await (await submitPage(person, login, amir)).text()
      const body = encode({ csrf: hiddenField(text), code: codeAt(Date.now() + 30_000) })
      const target = new URL(`${login.href}/second-step`)
      return next(login, await person.open(target, { method: 'POST', body }))
    }
  }

  const byPasskey = async (): Promise<SignIn> => {
    const { url } = service()
    const device = makeAuthenticator(url)
    const owner = makePagePerson(url, noor)
    const add = '/account/passkeys/add'
    const page = await owner.visit(add)
    await owner.send(page, add, { credential: device.create(optionsOf(page.text)), name: 'Phone' })
    return async (person, login) => {
      const text = await (await person.open(login)).text()
      const body = encode({ csrf: hiddenField(text), credential: device.use(optionsOf(text)) })
      const target = new URL(`${login.href}/passkey`)
      return next(login, await person.open(target, { method: 'POST', body }))
    }
  }

  const byProvider = async (): Promise<SignIn> => {
    const who = { subject: 'per_olivia', person_id: 'per_olivia' }
    await linkIdentity(service(), { provider_id: 'campus', issuer: campus().url, ...who })
    return async (person, login) => {
      const text = await (await person.open(login)).text()
      const href = decode(/id="provider-campus"[^>]*href="([^"]+)"/.exec(text)?.[1] ?? 'none:')
      const asked = next(login, await person.open(new URL(href, login)))
      const back = await makeHeadlessPerson(olivia).authorize(asked, service().url + CALLBACK)
      return next(login, await person.open(back))
    }
  }

  for (const { what, start, acr, amr } of [
    { what: 'a password', start: async () => byPassword, acr: PASSWORD, amr: ['pwd'] },
    { what: 'a password and an app', start: byApp, acr: MFA_ACR, amr: ['pwd', 'otp', 'mfa'] },
    { what: 'a passkey', start: byPasskey, acr: MFA_ACR, amr: ['pop', 'user', 'mfa'] },
    { what: 'an identity provider', start: byProvider, acr: PROVIDER, amr: undefined },
  ]) {
    // [OpenID Connect Core §2; OpenID Connect Core §3.1.2.1; OpenID Connect Core §3.1.2.3; OpenID Connect Core §5.5.1.1]
    // [OpenID Connect Core §15.1; RFC 9470 §4; 35]
    it(`mean the same after a sign-in with ${what}`, async () => {
      const { url } = service()
      const signIn = await start()
      const person = makeHeadlessPerson(sam)
      const other = acr === MFA_ACR ? PROVIDER : MFA_ACR
      /** Returns the outcome of a request: a code, an error, or the sign-in page. */
      const outcome = async (fields: Fields) => {
        const target = next(new URL(url), await person.open(authorizeUrl(url, fields)))
        if (target.searchParams.has('code')) return 'a code'
        return target.searchParams.get('error') ?? (/\/login$/.test(target.pathname) && 'a page')
      }
      const afterSignIn = async (fields: Fields = {}) => {
        const from = authorizeUrl(url, fields)
        const resumed = await signIn(person, next(from, await person.open(from)))
        return (await person.authorize(resumed, notes.redirectUri)).searchParams
      }
      const claimsOf = async (code: string | null) =>
        decodeJwt(String((await exchange(url, code ?? '')).body.id_token))

      const first = await claimsOf((await afterSignIn()).get('code'))
      expect(first).to.deep.include({ acr, ...(amr && { amr }) })
      for (const [fields, expected] of [
        [{}, 'a code'],
        [{ prompt: 'none' }, 'a code'],
        [{ max_age: '600', prompt: 'none' }, 'a code'],
        [{ acr_values: acr }, 'a code'],
        // A sign-in with two factors also satisfies a preference for a password.
        [{ acr_values: PASSWORD }, codeIf(acr !== PROVIDER)],
        [essential(acr), 'a code'],
        [essential(PASSWORD), codeIf(acr === PASSWORD)],
        [{ login_hint: 'someone@northlight.example' }, 'a code'],
        [{ prompt: 'login' }, 'a page'],
        [{ max_age: '0' }, 'a page'],
        [{ acr_values: other }, 'a page'],
        [{ acr_values: other, prompt: 'none' }, 'login_required'],
        [essential(other), 'a page'],
        [{ ...essential(other), acr_values: acr, prompt: 'none' }, 'login_required'],
      ] as const)
        expect(await outcome(fields), JSON.stringify(fields)).to.equal(expected)
      await later(120_000, async () => {
        expect(await outcome({ max_age: '60' })).to.equal('a page')
        expect(await outcome({ max_age: '60', prompt: 'none' })).to.equal('login_required')
        const again = await afterSignIn({ prompt: 'login', max_age: '60', acr_values: acr })
        const claims = await claimsOf(again.get('code'))
        expect(claims).to.deep.include({ acr, sub: first.sub })
        expect(Number(claims['auth_time']) - Number(first['auth_time'])).to.be.within(119, 130)
      })
      for (const [ms, fields] of [
        [240_000, { acr_values: other }],
        [360_000, essential(other)],
      ] as const) {
        const answer = await later(ms, async () => await afterSignIn(fields))
        expect(answer.get('error')).to.equal('unmet_authentication_requirements')
      }
    })
  }
})

describe('an authorization request', () => {
  const service = sharedService()
  const silently = async (person: HeadlessPerson, fields: Fields) =>
    (await openAuthorization(person, service().url, { prompt: 'none', ...fields })).searchParams

  // [RFC 6749 §3.1; OpenID Connect Core §3.1.2.2; OpenID Connect Core §3.1.2.1; OpenID Connect Core §15.1]
  it('and its token request may have empty and unknown parameters, and unsupported displays and languages [RFC 6749 §3.2]', async () => {
    const { url } = service()
    const odd = { nonsense: 'x', 'x[y]': 'z' }
    const code = await getCode(url, { prompt: '', max_age: '', login_hint: '', ...odd })
    const fields = { scope: '', client_secret: undefined, ...odd }
    expect((await exchange(url, code, fields)).status).to.equal(200)
    for (const display of ['page', 'popup', 'touch', 'wap']) {
      const wishes = { display, ui_locales: 'tlh fr-CA', claims_locales: 'tlh' }
      expect(await getCode(url, wishes), display).to.be.a('string')
    }
  })

  it('for claims in other languages gets each claim once, without a tag [OpenID Connect Core §5.2]', async () => {
    const { url, kysely } = service()
    await change(kysely, 'person', { id: 'per_sam' }, { locale: 'de-AT' })
    const asked = { 'name#ja': { essential: true }, name: null, 'locale#de': null }
    const claims = JSON.stringify({ userinfo: asked, id_token: asked })
    const authorization = { claims, claims_locales: 'ja de fr' }
    const { access_token, id_token } = await obtain(url, { authorization })
    const answer = await userinfo(url, access_token)
    for (const released of [answer.body, decodeJwt(String(id_token))]) {
      expect(released).to.include({ name: 'Sam Student', locale: 'de-AT' })
      expect(Object.keys(released).join(' ')).not.to.include('#')
    }
    const { body: discovery } = await get(url + paths.openidConfiguration)
    expect(discovery).not.to.have.property('claims_locales_supported')
  })

  // [OpenID Connect Core §3.1.2.2; OpenID Connect Core §5.5.1]
  it('for one person is never answered for another', async () => {
    const { person } = await obtainCode(service().url)
    const idToken = (await obtain(service().url, { person: olivia })).id_token ?? ''
    const claims = { id_token: { sub: { value: String(decodeJwt(idToken).sub) } } }
    for (const asked of [{ id_token_hint: idToken }, { claims: JSON.stringify(claims) }]) {
      const answer = await silently(person, asked)
      expect(answer.get('error')).to.equal('login_required')
      expect(answer.has('code')).to.equal(false)
    }
  })

  it('keeps the query of the redirect URI [RFC 6749 §3.1.2; RFC 8252 §7.2]', async () => {
    const { url } = service()
    const operator = makePagePerson(url, olivia)
    const applications = '/admin/northlight/applications'
    const redirect_uri = 'https://planner.example/callback?tenant=a%20b'
    const entry = { name: 'Planner', redirect_uris: redirect_uri, auth_method: 'none' }
    const typed = { ...entry, scope: ['account:read'] }
    const page = await operator.submit(`${applications}/new`, typed, applications)
    const client_id = textOf(page, 'client-id')
    const { callback } = await obtainCode(url, { client_id, redirect_uri, scope: 'openid' })
    expect(callback.href).to.match(/^https:\/\/planner\.example\/callback\?tenant=a(%20|\+)b&/)
  })

  // [OpenID Connect Core §2; OpenID Connect Core §5.7; OpenID Connect Core §8; OpenID Connect
  // Discovery §3]
  it('yields a sub that is the same for every client and unique to the person', async () => {
    const subOf = async (person: typeof sam, client: Partial<typeof asPortal> = {}) => {
      const asked = { person, authorization: client, token: client }
      const { id_token = '' } = await obtain(service().url, asked)
      return String(decodeJwt(id_token).sub)
    }
    const subjects = [await subOf(sam), await subOf(sam, asPortal), await subOf(olivia)]
    expect(subjects[0]).to.equal(subjects[1]).and.not.equal(subjects[2])
    for (const sub of subjects) expect(sub).to.match(/^[\x21-\x7e]{1,255}$/)
  })
})

// [RP-Initiated Logout §2; RP-Initiated Logout §4]
it('a request to sign out accepts a hint that has expired, but not one of another client', async () => {
  await using service = await startService({ now: () => Date.now() })
  const { url } = service
  const { id_token: hint = '' } = await obtain(url)
  await later(3_600_000, async () => {
    const statusOf = async (client_id: string) =>
      (await get(`${url}${paths.endSession}?${encode({ id_token_hint: hint, client_id })}`)).status
    expect(decodeJwt(hint).exp).to.be.below(Date.now() / 1000)
    expect(await statusOf(notes.clientId)).to.equal(200)
    expect(await statusOf(portal.clientId)).to.equal(400)
  })
})
