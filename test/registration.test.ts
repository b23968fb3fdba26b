import fc from 'fast-check'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { register } from './support/client.ts'
import { insert } from './support/database.ts'
import { olivia, startWith } from './support/gatehouse.ts'
import { withoutLimits } from './support/limits.ts'
import { type Asking, getTokens, signIn } from './support/relying-party.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { postJson, refusalOf } from './support/wire.ts'

const loopback = 'http://127.0.0.1:49152/callback'
const plain = { redirect_uris: [loopback] }
const claudeCode = {
  client_name: 'Claude Code (gatehouse)',
  redirect_uris: ['http://localhost:54212/callback'],
  token_endpoint_auth_method: 'none',
  application_type: 'native',
}
const codex = { client_name: 'Codex', redirect_uris: ['http://127.0.0.1:1455/callback/7Hk2'] }

describe('registration', () => {
  const service = sharedService({ policy: withoutLimits })

  // [Client registration 1.1; class identifier; threat 23; 93]
  it('does not match a name that only resembles a platform’s', async () => {
    for (const client_name of ['claude', 'CLAUDE', 'Сlaude', 'Ｃlaude', 'Claude.', 'ChatGPТ']) {
      const { body } = await register(service().url, { client_name })
      expect(body.error, client_name).to.equal('invalid_client_metadata')
    }
  })

  // [Client registration 0.1]
  it('accepts a charset, refuses a body that is not UTF-8, and answers pages of any origin (design 28)', async () => {
    const charset = ['Content-Type', 'application/json; charset=utf-8']
    for (const [body, status] of [[plain, 201] as const, [{}, 400] as const]) {
      const page = ['Origin', 'http://localhost:6274', ...charset]
      const answer = await register(service().url, body, page)
      expect(answer.status).to.equal(status)
      expect(answer.headers.get('access-control-allow-origin')).to.equal('*')
    }
    // test/hostile/registration-cases.ts and registration-replayed.test.ts test more rejected requests.
    const latin = Buffer.from('{"client_name":"\xe9"}', 'latin1')
    const refused = await postJson(service().url + paths.registration, latin)
    expect(refusalOf(refused)).to.equal('400 invalid_client_metadata')
  })

  it('never answers with 5xx, and registers only permitted redirect URIs [95]', async () => {
    const { url } = service()
    const uri = fc.oneof(
      fc.constantFrom(loopback, 'http://localhost:1/', 'https://claude.ai/api/mcp/auth_callback'),
      fc.webUrl({ withFragments: true }),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.tuple(fc.ipV4Extended(), fc.nat(70_000)).map(([host, port]) => `http://${host}:${port}/`),
      fc.ipV6().map((host) => `http://[${host}]:8000/cb`),
    )
    const name = fc.oneof(fc.constantFrom('Claude', 'Cursor'), fc.string({ unit: 'binary' }))
    const grant = fc.constantFrom('authorization_code', 'implicit', '')
    const members = {
      client_name: fc.oneof(name, fc.jsonValue()),
      redirect_uris: fc.oneof(fc.array(uri, { maxLength: 12 }), fc.jsonValue()),
      grant_types: fc.oneof(fc.array(grant), fc.jsonValue()),
      scope: fc.oneof(fc.constantFrom('openid account:read', ''), fc.jsonValue()),
    }
    const body = fc.oneof(fc.record(members, { requiredKeys: [] }), fc.jsonValue())
    const listed =
      /^(cursor:\/\/anysphere\.cursor-mcp\/oauth\/callback|http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?\/[^?#]*|https:\/\/(claude\.ai|claude\.com|www\.cursor\.com|chatgpt\.com)\/.*)$/
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const answer = await register(url, JSON.stringify(value))
        if (answer.status === 400) {
          return ['invalid_client_metadata', 'invalid_redirect_uri'].includes(answer.body.error)
        }
        const uris = answer.body.redirect_uris
        return answer.status === 201 && Array.isArray(uris) && uris.every((u) => listed.test(u))
      }),
      { numRuns: 400 },
    )
    const raw = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.json())
    const isRefused = async (text: string) => (await register(url, text)).status === 400
    await fc.assert(fc.asyncProperty(raw, isRefused), { numRuns: 200 })
  })
})

forEachStorage('a registered loopback client', (start) => {
  // [RFC 8252 §7.3; Authentication 6.3]
  it('goes through the flow on another port, with operator scopes (Authentication 6)', async () => {
    await using service = await start()
    const { body } = await register(service.url, claudeCode)
    const scope = 'openid profile courses:read courses:write'
    const redirectUri = 'http://localhost:61000/callback'
    const asking = { clientId: body.client_id, redirectUri, scope, person: olivia }
    const { tokens, configuration } = await getTokens(service.url, asking)
    expect(tokens.scope?.split(' ')).to.have.members(scope.split(' '))
    expect(tokens.claims()?.['org_id']).to.be.a('string')
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    expect(refreshed.access_token).to.be.a('string').and.not.equal(tokens.access_token)
  })
})

describe('a registered loopback client', () => {
  const service = sharedService({ policy: withoutLimits })
  const registered = async (body: object = claudeCode) =>
    String((await register(service().url, body)).body.client_id)

  it('gets a narrowed scope instead of a refusal, and may then request all scopes of its origin (design 6)', async () => {
    const { url } = service()
    const narrow = async (scope: string) => (await register(url, { ...plain, scope })).body
    const asked = 'openid account:read coupons:read offline_access'
    const { client_id: clientId, scope } = await narrow(asked)
    expect(scope).to.equal('openid coupons:read')
    expect((await narrow('account:read')).scope)
      .to.include('openid')
      .and.not.include('account:')
    const asking = { clientId, redirectUri: loopback, person: olivia }
    const { tokens } = await getTokens(url, { ...asking, scope: 'openid coupons:write' })
    expect(tokens.scope).to.include('coupons:write')
  })

  it('gets no refresh token when its grant types have none [RFC 9700 §4.14.2]', async () => {
    const clientId = await registered({ ...plain, grant_types: ['authorization_code', 'implicit'] })
    const asking = { clientId, redirectUri: loopback, scope: 'openid' }
    const { tokens } = await getTokens(service().url, { ...asking, resource: false })
    expect(tokens.refresh_token).to.equal(undefined)
  })

  // [RFC 8252 §8.6; RFC 6749 §10.2; RFC 7591 §5; class silent re-consent; threat 6]
  it('needs consent each time, because any program can claim to be it (design 17)', async () => {
    const asking = { clientId: await registered(), redirectUri: claudeCode.redirect_uris[0] ?? '' }
    const onlyIdentity: Asking = { ...asking, scope: 'openid', resource: false }
    const { person, start } = await signIn(service().url, onlyIdentity)
    const again = await person.open(start)
    expect(again.status).to.equal(303)
    expect(again.headers.get('location')).to.match(/\/consent$/)
  })
})

describe('registration that is limited or switched off', () => {
  // [RFC 7591 §5; Not shown 12; threat 24]
  it('answers 429 with Retry-After when one network registers too often [95]', async () => {
    await using service = await startWith({ registration: { registrationsPerAddressMax: 3 } })
    const asked = Array.from({ length: 8 }, async () => await register(service.url, claudeCode))
    const answers = await Promise.all(asked)
    expect(answers.filter(({ status }) => status === 201)).to.have.length(3)
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(refusalOf(answer)).to.equal('429 too_many_requests')
      expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 600)
    }
  })

  it('refuses disabled loopback hosts (design 7) and platforms, and recommends metadata documents only where admitted', async () => {
    await using service = await startWith({
      loopbackHosts: ['127.0.0.1', '[::1]'],
      metadataDocuments: { sources: [], openRegistration: false },
    })
    const { body } = await register(service.url, { client_name: 'Nobody' })
    expect(body.error_description).to.include(`${service.url}/connect`)
    expect(body.error_description).not.to.include('metadata document')
    expect(refusalOf(await register(service.url, claudeCode))).to.equal('400 invalid_redirect_uri')
    expect((await register(service.url, codex)).status).to.equal(201)
    const disabled = { client_id: 'integration-claude', disabled_at: 1, updated_at: 1 }
    await insert(service.kysely, 'integration_override', disabled)
    const redirect_uris = ['https://claude.ai/api/mcp/auth_callback']
    const answer = await register(service.url, { client_name: 'Claude', redirect_uris })
    expect(refusalOf(answer)).to.equal('400 invalid_client_metadata')
  })
})
