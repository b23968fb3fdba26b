import { text } from 'node:stream/consumers'

import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { startDocumentHost } from './support/document-host.ts'
import { notes, olivia, portal } from './support/gatehouse.ts'
import { messageOf } from './support/mcp.ts'
import { confirmSignOut, makePagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { choose, everyPlan, giveKey, makeClientKey, withPlans } from './support/proofs.ts'
import { getTokens } from './support/relying-party.ts'
import { forEachStorage } from './support/storages.ts'
import { encode } from './support/wire.ts'

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const tools = JSON.stringify(messageOf('tools/list', '2025-11-25', {}).message)
const surfaces = [
  [paths.graphql, '{"query":"{ viewer { id } }"}'],
  [paths.mcp, tools],
  [paths.mcpMember, tools],
] as const

/** The portal uses PAR, DPoP and `private_key_jwt`, as docs/how-to/operate.md describes for FAPI 2.0. */
forEachStorage('FAPI 2.0 Security Profile', (start) => {
  async function begin() {
    const opening = new AsyncDisposableStack()
    const host = opening.use(await startDocumentHost())
    const notices: string[] = []
    host.serve(async (request, response) => {
      notices.push(new URLSearchParams(await text(request)).get('logout_token') ?? '')
      response.writeHead(200).end()
    })
    const service = opening.use(await start({ ...withPlans(everyPlan), fetch: host.fetch }))
    const key = await giveKey(service, await makeClientKey('PS256'))
    await choose(service, {
      pushed_requests_required_at: 1,
      bound_tokens_required_at: 1,
      backchannel_logout_uri: 'https://client.example/backchannel-logout',
      backchannel_logout_session_required_at: 1,
    })
    const auth = oidc.PrivateKeyJwt({ key: key.privateKey, kid: key.kid })
    return {
      ...{ url: service.url, notices, asking: { ...portal, auth, pushed: true, bound: true } },
      [Symbol.asyncDispose]: () => opening.disposeAsync(),
    }
  }

  it('appears in the settings, and works from the pushed request to the logout token [RFC 9126 §2; RFC 9126 §2.2]', async () => {
    await using walk = await begin()
    const { url, notices } = walk
    const operator = makePagePerson(url, olivia)
    const pageOf = async ({ clientId }: { readonly clientId: string }) =>
      (await operator.visit(`/admin/northlight/applications/${clientId}/set-up`)).text
    expect(await pageOf(portal))
      .to.match(/Pushed requests \(PAR\)<\/dt><dd>required, to <code>http[^<]+\/api\/oauth\/par</)
      .and.include('Bound tokens (DPoP)')
    expect(await pageOf(notes)).to.not.match(/\(PAR\)|\(DPoP\)/)

    const signedIn = await getTokens(url, walk.asking)
    const { configuration, person, start: address, callback, options, tokens } = signedIn
    expect([...address.searchParams.keys()].sort()).to.deep.equal(['client_id', 'request_uri'])
    const metadata = configuration.serverMetadata()
    expect(metadata.pushed_authorization_request_endpoint).to.be.a('string')
    expect(metadata.dpop_signing_alg_values_supported).to.include('PS256')
    expect(metadata.authorization_response_iss_parameter_supported).to.equal(true)
    expect(callback.searchParams.get('iss')).to.equal(url)
    expect(tokens.token_type).to.equal('dpop')
    const refreshToken = tokens.refresh_token ?? ''
    const resource = { resource: url }
    const next = await oidc.refreshTokenGrant(configuration, refreshToken, resource, options)
    expect(next.refresh_token).to.equal(refreshToken)
    for (const { access_token: token } of [tokens, next]) {
      const seen = await oidc.fetchUserInfo(configuration, token, 'per_sam', options)
      expect(seen.sub).to.equal('per_sam')
      for (const [path, body] of surfaces) {
        const address = new URL(url + path)
        const answer = await oidc.fetchProtectedResource(
          ...([configuration, token, address, 'POST', body, new Headers(json), options] as const),
        )
        expect(answer.status, path).to.equal(200)
      }
      const found = await oidc.tokenIntrospection(configuration, token)
      expect(found).to.include({ active: true, token_type: 'DPoP', aud: url })
    }

    const query = encode({ id_token_hint: tokens.id_token })
    await confirmSignOut(person, new URL(`${paths.endSession}?${query}`, url))
    await eventually(10_000, async () => expect(notices).to.have.lengthOf(1))
    const { payload } = await jwtVerify(
      notices[0] ?? '',
      createRemoteJWKSet(new URL(metadata.jwks_uri ?? '')),
      { issuer: url, audience: portal.clientId, typ: 'logout+jwt', algorithms: ['ES256'] },
    )
    expect(payload).to.include({ sub: 'per_sam', sid: tokens.claims()?.['sid'] })

    await oidc.tokenRevocation(configuration, refreshToken)
    const later = await oidc.tokenIntrospection(configuration, next.access_token)
    expect(later).to.deep.equal({ active: false })
  })
})
