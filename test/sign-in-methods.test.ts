import { decodeJwt } from 'jose'

import { MFA_ACR } from '../src/directory/people/authentication.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { makeAuthenticator, optionsOf } from './support/authenticator.ts'
import { authorizeUrl, exchange } from './support/client.ts'
import { insert } from './support/database.ts'
import { amir, noor, notes, olivia, sam } from './support/gatehouse.ts'
import { startAtCampus } from './support/identity-provider.ts'
import { later } from './support/later.ts'
import { decode, hiddenField, makePagePerson, submitPage } from './support/page-person.ts'
import { shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'
import { addApp } from './support/two-factors.ts'
import { encode, type Fields } from './support/wire.ts'

const PROVIDER = 'urn:gatehouse:identity-provider'
const CALLBACK = '/sign-in/callback/campus'
const unmet = 'unmet_authentication_requirements'

/** Completes the sign-in page at this URL, and returns where it leads. */
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
    const linked = { provider_id: 'campus', issuer: campus().url, linked_at: 1, last_used_at: 1 }
    const who = { subject: 'per_olivia', person_id: 'per_olivia' }
    await insert(service().kysely, 'linked_identity', { ...linked, ...who })
    return async (person, login) => {
      const text = await (await person.open(login)).text()
      const href = decode(/id="provider-campus"[^>]*href="([^"]+)"/.exec(text)?.[1] ?? 'none:')
      const asked = next(login, await person.open(new URL(href, login)))
      const back = await makeHeadlessPerson(olivia).authorize(asked, service().url + CALLBACK)
      return next(login, await person.open(back))
    }
  }

  const byPasswordOnly = async () => byPassword
  for (const { what, start, acr, amr } of [
    { what: 'a password', start: byPasswordOnly, acr: 'urn:gatehouse:password', amr: ['pwd'] },
    { what: 'a password and an app', start: byApp, acr: MFA_ACR, amr: ['pwd', 'otp', 'mfa'] },
    { what: 'a passkey', start: byPasskey, acr: MFA_ACR, amr: ['pop', 'user', 'mfa'] },
    { what: 'an identity provider', start: byProvider, acr: PROVIDER, amr: undefined },
  ]) {
    // [OpenID Connect Core §3.1.2.1; OpenID Connect Core §3.1.2.3; OpenID Connect Core §5.5.1.1; RFC 9470 §4]
    it(`mean the same after a sign-in with ${what}`, async () => {
      const { url } = service()
      const signIn = await start()
      const person = makeHeadlessPerson(sam)
      const other = acr === MFA_ACR ? PROVIDER : MFA_ACR
      /** What a request leads to: a code, an error, or the sign-in page. */
      const outcome = async (fields: Fields) => {
        const target = next(new URL(url), await person.open(authorizeUrl(url, fields)))
        if (target.searchParams.has('code')) return 'a code'
        const page = /\/login$/.test(target.pathname) ? 'a page' : ''
        return target.searchParams.get('error') ?? page
      }
      /** Signs in for a request, and returns the parameters of the callback. */
      const afterSignIn = async (fields: Fields = {}) => {
        const from = authorizeUrl(url, fields)
        const login = next(from, await person.open(from))
        const resumed = await signIn(person, login)
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
        [essential(acr), 'a code'],
        [{ login_hint: 'someone@northlight.example' }, 'a code'],
        [{ prompt: 'login' }, 'a page'],
        [{ max_age: '0' }, 'a page'],
        [{ acr_values: other }, 'a page'],
        [{ acr_values: other, prompt: 'none' }, 'login_required'],
        [essential(other), 'a page'],
        [{ ...essential(other), acr_values: acr, prompt: 'none' }, 'login_required'],
      ] as const) {
        expect(await outcome(fields), JSON.stringify(fields)).to.equal(expected)
      }
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
        await later(ms, async () => {
          expect((await afterSignIn(fields)).get('error')).to.equal(unmet)
        })
      }
    })
  }
})
