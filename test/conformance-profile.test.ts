import { expect } from 'chai'

import { readConfig } from '../src/config/config.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { configFolder, sam, startService } from './support/gatehouse.ts'
import { getTokens } from './support/relying-party.ts'

const suite = {
  clientId: 'oidf-1',
  clientSecret: 'conformance-client-1-secret-of-32-bytes-or-more',
  redirectUri: 'https://localhost.emobix.co.uk:8443/test/a/gatehouse/callback',
}
const profile = { environment: { CONFORMANCE_PROFILE: 'on' } }

/** The request that the suite makes: HTTP Basic, no PKCE, no resource. */
async function authorizeAsSuite(
  url: string,
  scope: string,
  parameters: Record<string, string> = {},
) {
  const start = new URL(`${url}/oauth/authorize`)
  start.search = new URLSearchParams({
    response_type: 'code',
    client_id: suite.clientId,
    redirect_uri: suite.redirectUri,
    scope,
    nonce: 'n',
    ...parameters,
  }).toString()
  const person = makeHeadlessPerson(sam)
  const callback = await person.authorize(start, suite.redirectUri)
  return { person, start, callback }
}

async function exchangeAsSuite(url: string, callback: URL) {
  const response = await fetch(`${url}/api/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${suite.clientId}:${suite.clientSecret}`)}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      redirect_uri: suite.redirectUri,
    }),
  })
  return (await response.json()) as { access_token: string; id_token: string }
}

const claimsOf = (idToken: string) => partOf(idToken, 1)

function partOf(jwt: string, index: number) {
  return JSON.parse(Buffer.from(jwt.split('.')[index] ?? '', 'base64url').toString())
}

async function discovery(url: string) {
  const response = await fetch(`${url}/.well-known/openid-configuration`)
  return (await response.json()) as Record<string, unknown>
}

describe('the conformance profile [design 26]', () => {
  it('is off by default: its clients are unknown, and RS256 and Basic are not advertised', async () => {
    await using service = await startService()
    const metadata = await discovery(service.url)
    expect(metadata['id_token_signing_alg_values_supported']).to.deep.equal(['ES256'])
    expect(metadata['token_endpoint_auth_methods_supported']).to.not.include('client_secret_basic')
    const refusal = await authorizeAsSuite(service.url, 'openid').catch((error) => error)
    expect(String(refusal)).to.include('invalid_client')
  })

  it("serves the suite's request without PKCE, with Basic and an ES256 id_token of bare identity", async () => {
    await using service = await startService(profile)
    const metadata = await discovery(service.url)
    expect(metadata['id_token_signing_alg_values_supported']).to.include.members(['ES256', 'RS256'])
    expect(metadata['token_endpoint_auth_methods_supported']).to.include('client_secret_basic')

    const scope = 'openid profile email address phone'
    const { callback } = await authorizeAsSuite(service.url, scope)
    const tokens = await exchangeAsSuite(service.url, callback)
    const header = partOf(tokens.id_token, 0)
    expect(header.alg).to.equal('ES256')
    expect(claimsOf(tokens.id_token)).to.not.have.any.keys('name', 'email', 'org_id', 'roles')

    const userinfo = await fetch(`${service.url}/api/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(await userinfo.json()).to.include.keys(
      ...['sub', 'name', 'given_name', 'family_name', 'middle_name', 'nickname', 'website'],
      ...['preferred_username', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
      ...['email', 'email_verified', 'address', 'phone_number', 'phone_number_verified'],
    )
  })

  it('remembers the consent, so that prompt=none succeeds in the same browser', async () => {
    await using service = await startService(profile)
    const { person, start } = await authorizeAsSuite(service.url, 'openid')
    start.searchParams.set('prompt', 'none')
    const again = await person.authorize(start, suite.redirectUri)
    expect(again.searchParams.has('code')).to.equal(true)
  })

  // [OpenID Connect Core §15.1; OpenID Connect Core §5.5.1.1]
  it('answers acr_values and an essential claim as the suite asks', async () => {
    await using service = await startService(profile)
    const { callback } = await authorizeAsSuite(service.url, 'openid', {
      acr_values: 'urn:gatehouse:password',
      claims: JSON.stringify({ userinfo: { name: { essential: true } } }),
    })
    const tokens = await exchangeAsSuite(service.url, callback)
    expect(claimsOf(tokens.id_token).acr).to.equal('urn:gatehouse:password')
    const userinfo = await fetch(`${service.url}/api/oauth/userinfo`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(await userinfo.json()).to.include({ name: 'Sam Student' })
  })

  it('changes nothing for any other client', async () => {
    await using service = await startService(profile)
    const { tokens, start } = await getTokens(service.url)
    expect(tokens.claims()).to.include({ name: 'Sam Student', org_id: 'sit_northlight' })
    expect(tokens.claims()).to.not.have.property('given_name')

    start.searchParams.delete('code_challenge')
    const withoutPkce = await fetch(start, { redirect: 'manual' })
    expect(withoutPkce.headers.get('location')).to.include('error=invalid_request')

    const { tokens: ignoring } = await getTokens(service.url, { scope: 'openid address phone' })
    expect(ignoring.scope).to.equal('openid')
  })

  it('is said by /healthz and in the log', async () => {
    await using service = await startService(profile)
    const health = await fetch(`${service.url}/healthz`)
    expect(await health.json()).to.include({ conformance_profile: 'on' })
    expect(service.log.join('')).to.include('conformance profile is on')
  })

  it('is refused beside production settings, unless it is forced', () => {
    const secret = 'a-secret-of-this-test-and-nothing-else'
    const production = { BASE_URL: 'https://id.example', SECRET: secret }
    const read = (value: string) => () =>
      readConfig({ ...production, CONFORMANCE_PROFILE: value }, configFolder)
    expect(read('on')).to.throw('CONFORMANCE_PROFILE=forced')
    expect(read('forced')().conformance?.clients).to.have.length(3)
  })
})
