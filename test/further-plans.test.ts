import { expect } from 'chai'

import { furtherPlans } from '../src/config/service-policy.ts'
import { lacksPlan } from '../src/oauth/clients/further-plans.ts'
import { paths, planPaths } from '../src/platform/http/paths.ts'
import { authorizeUrl } from './support/client.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import { responseValidator } from './support/openapi.ts'
import { everyPlan, makeClientKey, signProof, withPlans } from './support/proofs.ts'
import { sharedService } from './support/shared-service.ts'
import { postForm } from './support/wire.ts'

type PlanName = Exclude<keyof typeof everyPlan, 'privateHosts'>

const algorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519']

/** What each plan adds to the metadata of the authorization server, and nothing else. */
const added: Readonly<Record<PlanName, (url: string) => Record<string, unknown>>> = {
  backChannelLogout: () => ({
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  }),
  pushedAuthorizationRequests: (url) => ({
    pushed_authorization_request_endpoint: url + planPaths.pushedAuthorization,
  }),
  dpop: () => ({ dpop_signing_alg_values_supported: algorithms }),
  privateKeyJwt: () => ({
    ...each('auth_methods_supported', ['client_secret_post', 'none', 'private_key_jwt']),
    ...each('auth_signing_alg_values_supported', algorithms),
  }),
}

function each(suffix: string, value: unknown) {
  return Object.fromEntries(
    ['token', 'revocation', 'introspection'].map((name) => [`${name}_endpoint_${suffix}`, value]),
  )
}

async function metadataOf(
  { url }: Pick<RunningService, 'url'>,
  path: string = paths.openidConfiguration,
) {
  // Each service has a port of its own.
  const text = (await (await fetch(url + path)).text()).replaceAll(url, 'https://id.example')
  return JSON.parse(text) as Record<string, unknown>
}

describe('further plans', () => {
  const plain = sharedService()

  for (const [plan, members] of Object.entries(added)) {
    // [RFC 9449 §5.1; RFC 9126 §5; Back-Channel Logout §2.1]
    it(`${plan}: the metadata is as ever, and has these members besides`, async () => {
      await using service = await startService(withPlans({ [plan]: true }))
      for (const path of [paths.openidConfiguration, paths.authorizationServer]) {
        expect(await metadataOf(service, path)).to.deep.equal({
          ...(await metadataOf(plain(), path)),
          ...members('https://id.example'),
        })
      }
    })
  }

  it('while none is on, no document has a word of them', async () => {
    const { url } = plain()
    const metadata = await (await fetch(url + paths.openidConfiguration)).text()
    const openapi = await (await fetch(url + paths.openApi)).text()
    const resource = await (await fetch(url + paths.protectedResource)).text()
    const guide = await (await fetch(url + paths.authMd)).text()
    for (const text of [metadata, openapi, resource]) {
      expect(text).to.not.match(/dpop|pushed_authorization|private_key_jwt|backchannel/i)
    }
    expect(guide).to.include('the implicit flow, pushed authorization requests, DPoP.')
    expect(guide).to.not.include('Stricter, where you choose it')
  })

  it('while all are on, every document says so', async () => {
    await using service = await startService(withPlans(everyPlan))
    const { url } = service
    const guide = await (await fetch(url + paths.authMd)).text()
    expect(guide).to.include('the implicit flow.\n')
    for (const word of [
      planPaths.pushedAuthorization,
      'use_dpop_nonce',
      'private_key_jwt',
      'logout_token',
    ]) {
      expect(guide).to.include(word)
    }
    const resource = await metadataOf(service, paths.protectedResource)
    expect(resource['dpop_signing_alg_values_supported']).to.deep.equal(algorithms)
    const document = (await (await fetch(url + paths.openApi)).json()) as object
    const validate = responseValidator(document)
    for (const path of [paths.openidConfiguration, paths.protectedResource]) {
      const body = await (await fetch(url + path)).json()
      expect(validate(path, 'GET', 200, body), path).to.deep.equal([])
    }
    const fields = Object.fromEntries(authorizeUrl(url).searchParams)
    const pushed = await postForm(url + planPaths.pushedAuthorization, fields)
    expect(validate(planPaths.pushedAuthorization, 'POST', 201, pushed.body)).to.deep.equal([])
    const refused = await postForm(url + planPaths.pushedAuthorization, { client_id: 'nobody' })
    expect(
      validate(planPaths.pushedAuthorization, 'POST', refused.status, refused.body),
    ).to.deep.equal([])
    const key = await makeClientKey()
    const proof = await signProof(key, { htm: 'GET', htu: `${url}/elsewhere` })
    const answer = await fetch(url + paths.userinfo, {
      headers: { authorization: 'DPoP x', dpop: proof },
    })
    expect(validate(paths.userinfo, 'GET', answer.status, await answer.json())).to.deep.equal([])
  })

  it('a configuration of an older version has none on', () => {
    expect(furtherPlans.parse(undefined)).to.deep.equal({
      ...Object.fromEntries(Object.keys(everyPlan).map((plan) => [plan, false])),
      privateHosts: [],
    })
    expect(furtherPlans.parse({ dpop: true })).to.include({ dpop: true, privateKeyJwt: false })
    for (const wrong of [
      { dpop: 'yes' },
      { fapi: true },
      { privateHosts: ['https://a.example'] },
    ]) {
      expect(furtherPlans.safeParse(wrong).success, JSON.stringify(wrong)).to.equal(false)
    }
  })

  it('what an application promises needs its plan', () => {
    const off = {
      ...everyPlan,
      dpop: false,
      pushedAuthorizationRequests: false,
      privateKeyJwt: false,
    }
    for (const [promise, lacks] of [
      [{ authMethod: 'client_secret_post' }, false],
      [{ authMethod: 'private_key_jwt' }, true],
      [{ authMethod: 'none', pushesRequests: true }, true],
      [{ authMethod: 'none', bindsTokens: true }, true],
    ] as const) {
      expect(lacksPlan(promise, off)).to.equal(lacks)
      expect(lacksPlan(promise, everyPlan)).to.equal(false)
    }
  })
})
