import { paths, planPaths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { asPortal, authorizeUrl, errorOf, exchange, locationOf } from './support/client.ts'
import { change, editList, rowOf, rowsOf } from './support/database.ts'
import { notes, portal, sam, startService, startWith } from './support/gatehouse.ts'
import { type ClientKey, choose, makeClientKey, signProof, withPlans } from './support/proofs.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { answerOf, encode, type Fields, get, postForm, refusalOf } from './support/wire.ts'

const on = withPlans({ pushedAuthorizationRequests: true })
const elsewhere = 'https://evil.example/'
const URN = 'urn:ietf:params:oauth:request_uri:'
const withoutPkce = { code_challenge: undefined, code_challenge_method: undefined }

async function push(url: string, fields: Fields = {}, headers: readonly string[] = []) {
  const form = Object.fromEntries(authorizeUrl(url, { ...asPortal, ...fields }).searchParams)
  return await postForm(url + planPaths.pushedAuthorization, form, headers)
}

function pushedUrl(url: string, request_uri: string, client_id: string = portal.clientId): URL {
  return new URL(`${paths.authorization}?${encode({ client_id, request_uri })}`, url)
}

async function authorizePushed(address: URL, person = makeHeadlessPerson(sam)) {
  const { searchParams } = await person.authorize(address, portal.redirectUri)
  return { code: searchParams.get('code') ?? '', state: searchParams.get('state'), person }
}

forEachStorage('pushed authorization requests (RFC 9126)', (start) => {
  const running = sharedService(on, start)

  it('work once, also in concurrent requests (§4) [RFC 9126 §4; RFC 9126 §7.3; 133]', async () => {
    const { url } = running()
    const { body } = await push(url)
    expect(body.expires_in).to.equal(60)
    const address = pushedUrl(url, body.request_uri)
    const { person } = await authorizePushed(authorizeUrl(url, asPortal))
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => locationOf(await answerOf(await person.open(address)))),
    )
    expect(answers.filter(({ searchParams }) => searchParams.has('code'))).to.have.lengthOf(1)
    expect((await get(address.href)).status).to.equal(400)
  })

  it('accept nonce, max_age and acr_values without openid, like the authorization endpoint [RFC 9126 §2.1]', async () => {
    const { url } = running()
    const plain = { scope: 'account:read', acr_values: 'urn:gatehouse:password' }
    const { body } = await push(url, { ...plain, nonce: 'the-nonce', max_age: '3600' })
    const { code } = await authorizePushed(pushedUrl(url, body.request_uri))
    expect((await exchange(url, code, asPortal)).body.scope).to.equal('account:read')
    const refused = await push(url, { ...plain, max_age: 'soon' })
    expect(refusalOf(refused)).to.equal('400 invalid_request')
    expect(refused.body.error_description).to.equal('max_age must be a number of seconds')
  })
})

it('pushed authorization requests with a key bind the code to the one key that is named or proven (§10.1) [RFC 9449 §10.1]', async () => {
  const plans = { pushedAuthorizationRequests: true, dpop: true }
  await using service = await startService(withPlans(plans))
  const { url } = service
  const [key, other] = [await makeClientKey(), await makeClientKey()]
  const prove = async (prover: ClientKey, path: string) => [
    ...['DPoP', await signProof(prover, { htm: 'POST', htu: url + path })],
  ]
  const pushWith = async (fields: Fields, prover?: ClientKey) =>
    (await push(url, fields, prover && (await prove(prover, planPaths.pushedAuthorization)))).body
  const named = { dpop_jkt: key.thumbprint }
  for (const [fields, prover] of [
    [named, undefined],
    [{}, key],
    [named, key],
  ] as const) {
    for (const [exchanger, status] of [
      [other, 400],
      [key, 200],
    ] as const) {
      const { request_uri } = await pushWith(fields, prover)
      const { code } = await authorizePushed(pushedUrl(url, request_uri))
      const proof = await prove(exchanger, paths.token)
      expect((await exchange(url, code, asPortal, proof)).status).to.equal(status)
    }
  }
  expect((await pushWith(named, other)).error).to.equal('invalid_request')
})

describe('pushed authorization requests that are refused', () => {
  const running = sharedService(on)

  for (const [what, fields, refusal] of [
    ['without the secret', { client_secret: undefined }, '401 invalid_client'],
    ['with a wrong secret', { client_secret: 'wrong' }, '401 invalid_client'],
    ['to an unregistered address', { redirect_uri: elsewhere }, '400 invalid_request'],
    ['without PKCE', withoutPkce, '400 invalid_request'],
    ['with a plain challenge', { code_challenge_method: 'plain' }, '400 invalid_request'],
    ['with member scopes and no resource', { resource: undefined }, '400 invalid_target'],
    ['for a foreign resource', { resource: elsewhere }, '400 invalid_target'],
    ['for an operator scope', { scope: 'openid courses:read' }, '400 invalid_scope'],
    ['that name another request_uri', { request_uri: `${URN}x` }, '400 request_uri_not_supported'],
    ['with a request object', { request: 'e30.e30.' }, '400 request_not_supported'],
  ] as const) {
    it(`${what}: ${refusal} [RFC 9126 §2.1; RFC 9126 §2.3; RFC 9126 §7.2]`, async () => {
      const answer = await push(running().url, fields)
      expect(refusalOf(answer)).to.equal(refusal)
      const says = /scope/.test(refusal) ? 'this client cannot request' : /\w+ \w+/
      expect(answer.body.error_description).to.match(new RegExp(says))
    })
  }

  // [RFC 9126 §2.2; RFC 9126 §7.1; threat 2; 133]
  it('include those of another client (§2.2), unknown ones and other addresses', async () => {
    const { url } = running()
    const others = ['https://client.example/request.jwt', 'http://127.0.0.1:1/request.jwt']
    for (const address of [
      pushedUrl(url, (await push(url)).body.request_uri, notes.clientId),
      ...[`${URN}unknown`, ...others].map((name) => pushedUrl(url, name)),
    ]) {
      const { status, headers } = await get(address.href)
      expect([status, headers.get('location')], address.search).to.deep.equal([400, null])
    }
  })

  it('ignore parameters beside them (§4) [RFC 9126 §4]', async () => {
    const { url } = running()
    const address = pushedUrl(url, (await push(url, { scope: 'openid' })).body.request_uri)
    const beside = { scope: MEMBER_SCOPE, state: 'other', redirect_uri: elsewhere }
    for (const [name, value] of Object.entries(beside)) address.searchParams.set(name, value)
    const { code, state } = await authorizePushed(address)
    expect(state).to.equal('the-state')
    expect((await exchange(url, code, asPortal)).body.scope).to.equal('openid')
  })

  it('count towards the limit of kilobytes before they are read', async () => {
    await using service = await startWith({
      furtherPlans: { pushedAuthorizationRequests: true },
      limits: { authorizationKilobytesPerAddressMax: 6 },
    })
    const tooLong = { state: 'x'.repeat(4097) }
    const answer = await push(service.url, tooLong)
    expect(await rowsOf(service.kysely, 'oauth_state'), 'nothing is stored').to.deep.equal([])
    expect(refusalOf(answer)).to.equal('400 invalid_request')
    expect(answer.body.error_description).to.include('the state parameter has 4097 bytes')
    // The refused request counts as five kilobytes, the next request as one.
    expect((await push(service.url)).status).to.equal(201)
    const limited = await push(service.url, tooLong)
    expect(refusalOf(limited)).to.equal('429 too_many_requests')
    expect(limited.headers.get('retry-after')).to.match(/^\d+$/)
  })

  it('include expired ones, after a minute [RFC 9126 §2.2]', async () => {
    await using service = await startService(on)
    const { body } = await push(service.url)
    const { kysely } = service
    const record = await rowOf(kysely, 'oauth_state', { model: 'PushedAuthorizationRequest' })
    expect(record.expires_at).to.be.within(Date.now() + 50_000, Date.now() + 60_000)
    expect(body.request_uri).to.not.include(record.id)
    await change(kysely, 'oauth_state', {}, { expires_at: 1 })
    expect((await get(pushedUrl(service.url, body.request_uri).href)).status).to.equal(400)
  })

  // [RFC 9126 §4; RFC 9126 §7.4]
  it('include those for scopes and addresses that the client lost since (§7.4)', async () => {
    await using service = await startService(on)
    const { url, kysely } = service
    const pushed = [(await push(url)).body, (await push(url)).body]
    const use = async () => await get(pushedUrl(url, pushed.pop()?.request_uri).href)
    const withdraw = async (column: 'scopes' | 'redirect_uris', value: string) =>
      await editList(kysely, portal.clientId, column, (list) => list.filter((one) => one !== value))
    await withdraw('scopes', 'account:read')
    expect(errorOf(await use())).to.equal('invalid_scope')
    await withdraw('redirect_uris', portal.redirectUri)
    const { status, headers } = await use()
    expect([status, headers.get('location')]).to.deep.equal([400, null])
  })

  // [RFC 9126 §6]
  it('include requests that were not pushed, where the application demands it (§6)', async () => {
    await using service = await startService(on)
    const { url } = service
    await choose(service, { pushed_requests_required_at: 1 })
    expect(errorOf(await get(authorizeUrl(url, asPortal).href))).to.equal('invalid_request')
    const { person } = await authorizePushed(pushedUrl(url, (await push(url)).body.request_uri))
    // The page's link for using another account cannot repeat a pushed request, so it leads to the sign-out page.
    const { body } = await push(url, { prompt: 'consent' })
    const asked = await person.open(pushedUrl(url, body.request_uri))
    const consent = new URL(asked.headers.get('location') ?? '', url)
    expect(await (await person.open(consent)).text()).to.include(`href="${paths.endSession}"`)
  })

  it('include all while the plan is off, and all requests of applications that demand them', async () => {
    await using service = await startService()
    expect((await push(service.url)).status).to.equal(404)
    await choose(service, { pushed_requests_required_at: 1 })
    const plain = await get(authorizeUrl(service.url, asPortal).href)
    expect(errorOf(plain)).to.equal('unauthorized_client')
  })
})
