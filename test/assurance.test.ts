import { expect } from 'chai'
import { decodeJwt } from 'jose'

import { MFA_ACR } from '../src/directory/people/authentication.ts'
import { paths } from '../src/platform/http/paths.ts'
import type { HeadlessPerson } from '../tools/token/headless-person.ts'
import {
  authorizeUrl,
  codeBy,
  introspect,
  locationOf,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
} from './support/client.ts'
import { notes, sam } from './support/gatehouse.ts'
import { later } from './support/later.ts'
import { sharedService } from './support/storages.ts'
import { useTwoFactors } from './support/two-factors.ts'
import { answerOf, type Fields, get } from './support/wire.ts'

const PASSWORD = 'urn:gatehouse:password'
const PROVIDER = 'urn:gatehouse:identity-provider'

const essential = (acr: object) => ({
  claims: JSON.stringify({ id_token: { acr: { essential: true, ...acr } } }),
})
const unmet = 'unmet_authentication_requirements'

describe('the assurance that an authorization request requires', () => {
  const service = sharedService()
  const signedIn = async () => (await obtainCode(service().url)).person
  /** The outcome of a request in this browser: `a code`, an error, or `a page` for the person. */
  const outcome = async (person: HeadlessPerson, fields: Fields) => {
    const answer = await answerOf(await person.open(authorizeUrl(service().url, fields)))
    const { pathname, searchParams } = locationOf({
      ...answer,
      headers: new Headers({
        location: String(new URL(answer.headers.get('location') ?? '', service().url)),
      }),
    })
    if (searchParams.has('code')) return 'a code'
    return searchParams.get('error') ?? (/\/login$/.test(pathname) ? 'a page' : pathname)
  }
  /** The outcome after the person has given the password again. */
  const afterPassword = async (fields: Fields, person = signedIn()) => {
    const start = authorizeUrl(service().url, fields)
    const { searchParams } = await (await person).authorize(start, notes.redirectUri)
    return searchParams.get('error') ?? 'a code'
  }

  // [RFC 9470 §4; RFC 9470 §5; OpenID Connect Core §5.5.1.1; OpenID Connect Core §15.1]
  it('is asked for with acr_values or an essential acr, and prompts a weaker session', async () => {
    const person = await signedIn()
    const plain = { scope: 'account:read' }
    for (const fields of [
      { acr_values: MFA_ACR },
      essential({ value: MFA_ACR }),
      essential({ values: [MFA_ACR, PROVIDER] }),
      { ...plain, acr_values: MFA_ACR },
    ]) {
      expect(await outcome(person, fields)).to.equal('a page')
      expect(await outcome(person, { ...fields, prompt: 'none' })).to.equal('login_required')
    }
    for (const fields of [
      { acr_values: PASSWORD },
      { acr_values: `${MFA_ACR} ${PASSWORD}` },
      { acr_values: 'urn:example:retina' },
      { ...plain, acr_values: PASSWORD },
      essential({ value: PASSWORD }),
      essential({ values: [PASSWORD, MFA_ACR] }),
      { claims: JSON.stringify({ id_token: { acr: { values: [MFA_ACR] } } }) },
    ]) {
      expect(await outcome(person, fields), JSON.stringify(fields)).to.equal('a code')
    }
  })

  // [RFC 9470 §5; OpenID Connect Core §5.5.1.1; 337]
  it('ends with unmet_authentication_requirements after a sign-in that does not reach it', async () => {
    for (const fields of [
      { acr_values: MFA_ACR },
      { acr_values: MFA_ACR, prompt: 'login' },
      { acr_values: PROVIDER },
      { scope: 'account:read', acr_values: MFA_ACR },
      essential({ value: MFA_ACR }),
      essential({ values: [PROVIDER] }),
    ]) {
      expect(await afterPassword(fields), JSON.stringify(fields)).to.equal(unmet)
    }
    // No person can reach an unknown value, so none is asked.
    const unknown = essential({ value: 'urn:example:retina' })
    expect(await outcome(await signedIn(), unknown)).to.equal(unmet)
    expect(await outcome(await signedIn(), { ...unknown, prompt: 'none' })).to.equal(unmet)
  })

  // [OpenID Connect Core §5.5.1.1; 338]
  it('is not lowered by acr_values beside an essential acr, or by the same name without openid', async () => {
    const person = await signedIn()
    const both = { ...essential({ value: MFA_ACR }), acr_values: PASSWORD }
    expect(await outcome(person, both)).to.equal('a page')
    expect(await afterPassword(both)).to.equal(unmet)
    const plain = { acr_values: MFA_ACR, step_up_acr_values: PASSWORD }
    expect(await outcome(person, plain)).to.equal('a page')
    const twice = `${authorizeUrl(service().url, { scope: 'account:read', acr_values: MFA_ACR })}&acr_values=${PASSWORD}`
    const refused = await answerOf(await person.open(new URL(twice)))
    expect(locationOf(refused).searchParams.get('error')).to.equal('invalid_request')
  })

  it('is met by two factors where a password suffices, but an essential acr matches exactly', async () => {
    const person = await signedIn()
    await useTwoFactors(person, service())
    expect(await outcome(person, { acr_values: MFA_ACR })).to.equal('a code')
    expect(await outcome(person, { acr_values: PASSWORD })).to.equal('a code')
    expect(await outcome(person, essential({ value: MFA_ACR }))).to.equal('a code')
    expect(await outcome(person, essential({ value: PASSWORD }))).to.equal('a page')
    expect(await outcome(person, { acr_values: PROVIDER })).to.equal('a page')
  })

  // [RFC 9470 §4; 339]
  it('accepts acr_values and max_age without openid, and rejects a malformed max_age', async () => {
    const person = await signedIn()
    const plain = { scope: 'account:read' }
    expect(await outcome(person, { ...plain, max_age: '600' })).to.equal('a code')
    expect(await outcome(person, { ...plain, max_age: '0' })).to.equal('a page')
    for (const max_age of ['-1', '1.5', 'x', '1e9']) {
      expect(await outcome(person, { ...plain, max_age }), max_age).to.equal('invalid_request')
    }
    await later(120_000, async () => {
      expect(await outcome(person, { ...plain, max_age: '60' })).to.equal('a page')
      const silent = { ...plain, max_age: '60', prompt: 'none' }
      expect(await outcome(person, silent)).to.equal('login_required')
      expect(await afterPassword({ ...plain, max_age: '60' }, Promise.resolve(person))).to.equal(
        'a code',
      )
    })
  })

  // [OpenID Connect Discovery §3; RFC 9470 §7]
  it('has its values in the metadata', async () => {
    for (const path of [paths.openidConfiguration, paths.authorizationServer]) {
      const { body } = await get(service().url + path)
      expect(body.acr_values_supported).to.include.members([PASSWORD, MFA_ACR, PROVIDER])
      expect(body.claims_supported).to.include.members(['acr', 'amr', 'auth_time'])
    }
  })

  // [RFC 9470 §6.2; OpenID Connect Core §2; OpenID Connect Core §12.2; 340]
  it('reached is in every id_token and at introspection, and a refresh does not renew it', async () => {
    const { url } = service()
    const { accessToken, refreshToken, answer, person } = await obtainTokens(url)
    const { acr, amr, auth_time } = decodeJwt(String(answer.id_token))
    expect({ acr, amr }).to.deep.equal({ acr: PASSWORD, amr: ['pwd'] })
    const said = { acr: PASSWORD, auth_time }
    expect((await introspect(url, accessToken)).body).to.include(said)
    await useTwoFactors(person, service())
    await later(60_000, async () => {
      const { body } = await refresh(url, refreshToken)
      expect((await introspect(url, String(body.access_token))).body).to.include(said)
      expect((await introspect(url, String(body.refresh_token))).body).to.include(said)
      const { form } = await codeBy(person, url, { scope: 'account:read', acr_values: MFA_ACR })
      const stepped = (await redeem(url, { form })).body
      const now = { acr: MFA_ACR, auth_time }
      expect((await introspect(url, String(stepped.access_token))).body).to.include(now)
    })
  })

  it('is the same for a person who signs in for the first time', async () => {
    const start = authorizeUrl(service().url, { acr_values: PASSWORD })
    const { person } = await obtainCode(service().url, {}, sam)
    expect((await person.authorize(start, notes.redirectUri)).searchParams.has('code')).to.equal(
      true,
    )
  })
})
