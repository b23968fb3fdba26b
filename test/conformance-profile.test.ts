import { decodeJwt, decodeProtectedHeader } from 'jose'

import { readConfig } from '../src/config/config.ts'
import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize, authorizeUrl, errorOf, obtainCode, userinfo } from './support/client.ts'
import { configFolder, startService } from './support/gatehouse.ts'
import { getTokens } from './support/relying-party.ts'
import { SECRET, sharedService } from './support/storages.ts'
import { basic, type Fields, get, postForm, refusalOf } from './support/wire.ts'

const client_secret = 'conformance-client-1-secret-of-32-bytes-or-more'
const redirectUri = 'https://localhost.emobix.co.uk:8443/test/a/gatehouse/callback'

/** The authorization request that the suite sends, without PKCE and without resource. */
const asSuite = {
  client_id: 'oidf-1',
  redirect_uri: redirectUri,
  scope: 'openid',
  resource: undefined,
  code_challenge: undefined,
  code_challenge_method: undefined,
}

/** Obtains and exchanges a code as the suite does, with HTTP Basic. Returns the id_token and the UserInfo response. */
async function obtainAsSuite(url: string, fields: Fields = {}) {
  const { code } = await obtainCode(url, { ...asSuite, ...fields })
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
  const { body } = await postForm(url + paths.token, form, basic('oidf-1', client_secret))
  return { idToken: String(body.id_token), personal: (await userinfo(url, body.access_token)).body }
}

describe('the conformance profile [design 26]', () => {
  const service = sharedService({ environment: { CONFORMANCE_PROFILE: 'on' } })

  it('is off by default: no clients of the suite, no RS256', async () => {
    await using usual = await startService()
    const { body: metadata } = await get(usual.url + paths.openidConfiguration)
    expect(metadata.id_token_signing_alg_values_supported).to.deep.equal(['ES256'])
    expect((await askToAuthorize(usual.url, asSuite)).text).to.include('invalid_client')
  })

  // [OpenID Connect Core §15.1; OpenID Connect Core §5.5.1.1]
  it("serves the suite's request without PKCE, with Basic, a bare ES256 id_token, the requested acr and essential claims", async () => {
    expect(service().log.join('')).to.include('conformance profile is on')
    const { body: metadata } = await get(service().url + paths.openidConfiguration)
    expect(metadata.id_token_signing_alg_values_supported).to.include.members(['ES256', 'RS256'])

    const acr = 'urn:gatehouse:password'
    const scope = 'openid profile email address phone'
    const { idToken, personal } = await obtainAsSuite(service().url, { scope, acr_values: acr })
    expect(decodeProtectedHeader(idToken).alg).to.equal('ES256')
    expect(decodeJwt(idToken))
      .to.include({ acr })
      .and.not.have.any.keys('name', 'email', 'org_id', 'roles')
    expect(personal).to.include.keys(
      ...['sub', 'name', 'given_name', 'family_name', 'middle_name', 'nickname', 'website'],
      ...['preferred_username', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
      ...['email', 'email_verified', 'address', 'phone_number', 'phone_number_verified'],
    )
    const claims = JSON.stringify({ userinfo: { name: { essential: true } } })
    const { personal: requested } = await obtainAsSuite(service().url, { claims })
    expect(requested).to.include({ name: 'Sam Student' })
  })

  // [RFC 9700 §2.1.1; RFC 9700 §4.8.2]
  it('remembers consent for prompt=none, and refuses a verifier for a code without a challenge', async () => {
    const { url } = service()
    const { person, form } = await obtainCode(url, asSuite)
    const silent = authorizeUrl(url, { ...asSuite, prompt: 'none' })
    expect((await person.authorize(silent, redirectUri)).searchParams.has('code')).to.equal(true)
    // The form has a code_verifier, although the request had no code_challenge.
    const downgraded = { ...form, client_secret }
    expect(refusalOf(await postForm(url + paths.token, downgraded))).to.equal('400 invalid_grant')
  })

  it('changes nothing for other clients', async () => {
    const { tokens } = await getTokens(service().url)
    expect(tokens.claims()).to.include({ name: 'Sam Student', org_id: 'sit_northlight' })
    expect(tokens.claims()).to.not.have.property('given_name')
    const withoutPkce = await askToAuthorize(service().url, { code_challenge: undefined })
    expect(errorOf(withoutPkce)).to.equal('invalid_request')
    const { tokens: ignoring } = await getTokens(service().url, { scope: 'openid address phone' })
    expect(ignoring.scope).to.equal('openid')
  })

  it('is refused beside production settings, unless it is forced', () => {
    const production = { BASE_URL: 'https://id.example', SECRET }
    const read = (value: string) => () =>
      readConfig({ ...production, CONFORMANCE_PROFILE: value }, configFolder)
    expect(read('on')).to.throw('CONFORMANCE_PROFILE=forced')
    expect(read('forced')().conformance?.clients).to.have.length(3)
  })
})
