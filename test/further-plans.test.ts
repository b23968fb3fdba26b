import { furtherPlans } from '../src/config/service-policy.ts'
import { lacksProtocol } from '../src/oauth/clients/optional-protocols.ts'
import { paths, planPaths } from '../src/platform/http/paths.ts'
import { authorizeUrl } from './support/client.ts'
import { startService } from './support/gatehouse.ts'
import { responseValidator } from './support/openapi.ts'
import { everyPlan, makeClientKey, signProof, withPlans } from './support/proofs.ts'
import { sharedService } from './support/storages.ts'
import { expectAnswer, type Fields, get, postForm } from './support/wire.ts'

const algorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519']
const methods = ['client_secret_post', 'none', 'private_key_jwt', 'client_secret_basic']
const each = (suffix: string, value: unknown) =>
  Object.fromEntries(
    ['token', 'revocation', 'introspection'].map((name) => [`${name}_endpoint_${suffix}`, value]),
  )

const added = {
  backChannelLogout: {
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
  },
  pushedAuthorizationRequests: {
    pushed_authorization_request_endpoint: `https://id.example${planPaths.pushedAuthorization}`,
  },
  dpop: { dpop_signing_alg_values_supported: algorithms },
  privateKeyJwt: {
    ...each('auth_methods_supported', methods),
    ...each('auth_signing_alg_values_supported', algorithms),
  },
} satisfies Record<Exclude<keyof typeof everyPlan, 'privateHosts'>, object>

/** Reads metadata, and replaces the URL of the service, because its port differs between services. */
const metadataOf = async (url: string, path: string) =>
  JSON.parse((await get(url + path)).text.replaceAll(url, 'https://id.example'))

describe('further plans', () => {
  const plain = sharedService()

  for (const [plan, members] of Object.entries(added)) {
    // [RFC 9449 §5.1; RFC 9126 §5; Back-Channel Logout §2.1]
    it(`${plan} adds ${Object.keys(members).join(', ')} to the metadata`, async () => {
      await using service = await startService(withPlans({ [plan]: true }))
      for (const path of [paths.openidConfiguration, paths.authorizationServer]) {
        const without = await metadataOf(plain().url, path)
        expect(await metadataOf(service.url, path)).to.deep.equal({ ...without, ...members })
      }
    })
  }

  it('are not in any document while all are off', async () => {
    for (const path of [paths.openidConfiguration, paths.openApi, paths.protectedResource]) {
      const { text } = await get(plain().url + path)
      expect(text).to.not.match(/dpop|pushed_authorization|private_key_jwt|backchannel/i)
    }
    expect((await get(plain().url + paths.authMd)).text)
      .to.include('the implicit flow, pushed authorization requests, DPoP.')
      .and.not.include('Optional protocols')
  })

  it('are in every document while all are on', async () => {
    await using service = await startService(withPlans(everyPlan))
    const { url } = service
    const { pushedAuthorization } = planPaths
    const named = [pushedAuthorization, 'use_dpop_nonce', 'private_key_jwt', 'logout_token']
    expectAnswer(await get(url + paths.authMd), 200, 'the implicit flow.\n', ...named)
    const resource = await metadataOf(url, paths.protectedResource)
    expect(resource['dpop_signing_alg_values_supported']).to.deep.equal(algorithms)
    const push = async (fields: Fields) => await postForm(url + pushedAuthorization, fields)
    const dpop = await signProof(await makeClientKey(), { htm: 'GET', htu: `${url}/elsewhere` })
    const validate = responseValidator((await get(url + paths.openApi)).body)
    for (const [path, method, answer] of [
      [paths.openidConfiguration, 'GET', await get(url + paths.openidConfiguration)],
      [paths.protectedResource, 'GET', await get(url + paths.protectedResource)],
      [pushedAuthorization, 'POST', await push(Object.fromEntries(authorizeUrl(url).searchParams))],
      [pushedAuthorization, 'POST', await push({ client_id: 'nobody' })],
      [paths.userinfo, 'GET', await get(url + paths.userinfo, { authorization: 'DPoP x', dpop })],
    ] as const)
      expect(validate(path, method, answer), path).to.deep.equal([])
  })

  it('are off in the configuration of an older version', () => {
    expect(furtherPlans.parse(undefined)).to.deep.equal({
      ...Object.fromEntries(Object.keys(everyPlan).map((plan) => [plan, false])),
      privateHosts: [],
    })
    expect(furtherPlans.parse({ dpop: true })).to.include({ dpop: true, privateKeyJwt: false })
    for (const wrong of [{ dpop: 'yes' }, { fapi: true }, { privateHosts: ['https://a.test'] }])
      expect(furtherPlans.safeParse(wrong).success, JSON.stringify(wrong)).to.equal(false)
  })

  it('are required by applications that push requests, bind tokens or authenticate with a key', () => {
    const off = { dpop: false, pushedAuthorizationRequests: false, privateKeyJwt: false }
    for (const [promise, lacks] of [
      [{ authMethod: 'client_secret_post' }, false],
      [{ authMethod: 'private_key_jwt' }, true],
      [{ authMethod: 'none', pushesRequests: true }, true],
      [{ authMethod: 'none', bindsTokens: true }, true],
    ] as const) {
      expect(lacksProtocol(promise, { ...everyPlan, ...off })).to.equal(lacks)
      expect(lacksProtocol(promise, everyPlan)).to.equal(false)
    }
  })
})
