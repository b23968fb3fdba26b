import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'

import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'

import { catalogue, readScope } from '../src/directory/scopes/catalogue.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { authorizeUrl, introspect, obtain, register, userinfo } from './support/client.ts'
import { insert, remove, rowsOf } from './support/database.ts'
import { amir, marco, notes, olivia, policyWith, startService } from './support/gatehouse.ts'
import { operatorToken } from './support/mcp.ts'
import { makePagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { byAssertion } from './support/proofs.ts'
import { rejection } from './support/rejection.ts'
import { cached } from './support/shared.ts'
import { forEachDatabase, sharedService } from './support/storages.ts'
import { PLATFORM, startWithPlatform } from './support/upstream.ts'
import { answerOf, bearer, get, postForm, preflight, refusalOf, send } from './support/wire.ts'

const READ = readScope('coupons')
const BOTH = 'coupons:read coupons:write'
const COUPONS = '/admin/api/coupons'
const SLOW = '/admin/api/slow'

type Init = RequestInit & { duplex?: 'half' }

async function ask(url: string, token: string, path: string, init: Init = {}) {
  const headers = { authorization: `Bearer ${token}`, ...init.headers }
  return await answerOf(await fetch(url + path, { redirect: 'manual', ...init, headers }))
}

async function forwardedToken({ url }: { url: string }): Promise<string> {
  const { body } = await ask(url, await operatorToken(url, READ), COUPONS)
  const at = body.headers.findIndex((name: string) => name.toLowerCase() === 'authorization')
  return body.headers[at + 1].replace('Bearer ', '')
}

forEachDatabase('a forwarded request', (start) => {
  const running = sharedService({}, (setup) => startWithPlatform(setup, start))

  // [RFC 9068 §2.2; RFC 9068 §2.2.3; RFC 9068 §2.2.3.1]
  it('has a token that the platform verifies by discovery [RFC 9068 §4], with a published key of its own [RFC 9068 §2.1]', async () => {
    const service = running()
    const { url, kysely } = service
    const path = `${COUPONS}/7/uses?from=a%20b&x=/../;`
    const { status, text: said, body } = await ask(url, await operatorToken(url, BOTH), path)
    expect(status, said).to.equal(200)
    expect(body).to.include({ method: 'GET', url: '/api/coupons/7/uses?from=a%20b&x=/../;' })
    const { iat, exp, jti, client_id, ...claims } = body.claims
    expect(claims).to.deep.equal({
      ...{ iss: url, aud: PLATFORM, sub: 'per_olivia', org_id: 'sit_northlight' },
      ...{ roles: ['owner'], scope: BOTH },
    })
    expect(exp - iat).to.equal(60)
    expect(jti).to.match(/^[\w-]{20,}$/)
    expect(client_id).to.match(/^[\w-]{10,}$/)
    const { keys } = (await get(url + paths.jwks)).body
    const rows = await rowsOf(kysely, 'upstream_key')
    const kids = [...(await rowsOf(kysely, 'signing_key')), ...rows].map((row) => row.kid)
    expect(keys.map((key: { kid: string }) => key.kid)).to.have.members(kids)
    for (const key of keys)
      expect(key).to.have.all.keys('alg', 'crv', 'kid', 'kty', 'use', 'x', 'y')
    const kid = rows.find(({ state }) => state === 'current')?.kid
    const header = decodeProtectedHeader(await forwardedToken(service))
    expect(header).to.deep.equal({ typ: 'at+jwt', alg: 'ES256', kid })
    const { id_token = '' } = await obtain(url)
    expect(rows.map((row) => row.kid)).not.to.include(decodeProtectedHeader(id_token).kid)
  })

  // [RFC 9068 §2.2.3; RFC 9068 §2.2.3.1; RFC 9068 §3]
  it('has only the scopes of its mapping, the current roles, and the site of the operator', async () => {
    const { url, kysely, platform } = running()
    const token = await operatorToken(url, `${READ} ${readScope('courses')}`, amir)
    const { claims } = (await ask(url, token, COUPONS)).body
    expect(claims).to.include({ scope: READ, sub: 'per_amir' })
    const added = { person_id: 'per_amir', role: 'lecturer', granted_at: 1 } as const
    await insert(kysely, 'site_role', { ...added, site_id: claims.org_id })
    const later = (await ask(url, token, COUPONS)).body.claims
    expect(later.roles).to.have.members(['admin', 'lecturer'])
    expect(later.jti).not.to.equal(claims.jti)
    await remove(kysely, 'site_role', { person_id: 'per_amir' })
    expect((await ask(url, token, COUPONS)).status).to.equal(401)
    const { seen } = await platform.seen()
    expect(seen.filter(({ claims }) => claims['sub'] === 'per_amir')).to.have.length(2)
    const elsewhere = await ask(url, await operatorToken(url, READ, marco), COUPONS)
    expect(elsewhere.body.claims).to.include({ org_id: 'sit_open_kitchen', sub: 'per_marco' })
  })
})

describe('/admin/api/', () => {
  const service = sharedService({}, startWithPlatform)
  const tokenFor = cached((scope: string) => operatorToken(service().url, scope))
  const asked = async (path: string, init?: Init, scope = BOTH) =>
    await ask(service().url, await tokenFor(scope), path, init)
  const open = async (path: string, method = 'GET') => {
    const headers = { authorization: `Bearer ${await tokenFor(BOTH)}` }
    return httpRequest(service().url + path, { method, headers })
  }

  it('forwards bodies and statuses of every method unchanged, and streams: the response begins before the request ends', async () => {
    const body = 'x'.repeat(300_000)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await asked(`${COUPONS}/echo`, { method, body })
      expect(answer.status).to.equal(201)
      expect(answer.headers.get('content-type')).to.equal('application/x-echo')
      expect(answer.text === body, method).to.equal(true)
    }
    const head = await asked(`${COUPONS}/x`, { method: 'HEAD' })
    expect([head.status, head.text]).to.deep.equal([200, ''])
    for (const status of [204, 304, 404, 409, 422])
      expect((await asked(`${COUPONS}/status/${status}`)).status).to.equal(status)
    const outgoing = await open(`${COUPONS}/echo`, 'POST')
    outgoing.write('first')
    const [incoming] = await once(outgoing, 'response')
    const [chunk] = await once(incoming, 'data')
    expect(String(chunk)).to.equal('first')
    outgoing.end('last')
    expect(await text(incoming)).to.equal('last')
  })

  // [MCP Authorization §Access Token Privilege Restriction]
  it('does not forward cookies, tokens or identity headers of the caller', async () => {
    const { status } = await asked(`${COUPONS}/x`, {
      headers: {
        ...{ cookie: 'session=1', forwarded: 'for=1.2.3.4', 'proxy-authorization': 'Basic x' },
        ...{ 'x-forwarded-for': '1.2.3.4', 'x-forwarded-host': 'elsewhere.example' },
        ...{ 'x-forwarded-prefix': '/x', 'x-http-method-override': 'DELETE' },
        ...{ 'x-original-url': '/admin', 'x-real-ip': '1.2.3.4', 'x-user': 'per_marco' },
        ...{ 'accept-language': 'de', 'if-none-match': '"one"', te: 'trailers', dpop: 'x.y.z' },
      },
    })
    expect(status).to.equal(200)
    const { headers = {} } = (await service().platform.seen()).seen.at(-1) ?? {}
    const expected = {
      'accept-language': 'de',
      'if-none-match': '"one"',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': new URL(service().url).host,
      'x-forwarded-proto': 'http',
      via: '1.1 gatehouse',
    }
    const others = ['accept', 'accept-encoding', 'authorization', 'connection', 'host']
    const names = [...Object.keys(expected), ...others, 'x-request-id']
    expect(headers).to.include(expected).and.have.all.keys(names)
    expect(JSON.stringify(headers)).not.to.include(await tokenFor(BOTH))
  })

  it('does not return headers that a browser or a proxy obeys', async () => {
    const loud = await asked(`${COUPONS}/loud`, { headers: { origin: 'https://app.example' } })
    expect([loud.status, loud.text]).to.deep.equal([200, '<script>1</script>'])
    const kept = {
      ...{ 'content-type': 'text/html', etag: '"one"', 'x-total-count': '3' },
      ...{ 'content-security-policy': 'sandbox', 'x-content-type-options': 'nosniff' },
      ...{ 'cache-control': 'no-store', 'access-control-allow-origin': '*' },
    }
    expect(Object.fromEntries(loud.headers)).to.include(kept)
    for (const name of [
      ...['access-control-allow-credentials', 'strict-transport-security', 'set-cookie'],
      ...['clear-site-data', 'location', 'refresh', 'server', 'x-powered-by', 'x-accel-redirect'],
      'www-authenticate',
    ])
      expect(loud.headers.get(name), name).to.equal(null)
  })

  it('answers 502 to a redirect, a failure and a refused token, without details, and breaks off when the platform does', async () => {
    const statuses = [301, 300, 500, 503, 401].map((status) => `/status/${status}`)
    for (const path of ['/redirect', ...statuses]) {
      const { status, headers, body } = await asked(COUPONS + path)
      expect(status, path).to.equal(502)
      const error_description = 'the platform API behind this path failed; try again later'
      expect(body).to.deep.equal({ error: 'upstream_failed', error_description })
      for (const name of ['location', 'set-cookie', 'www-authenticate'])
        expect(headers.get(name), name).to.equal(null)
      expect(headers.get('content-security-policy')).to.equal('sandbox')
    }
    expect(service().log.join('')).to.include('the upstream responded with 302')
    await rejection(asked(`${COUPONS}/breaks`))
    const said = 'the response was interrupted: aborted'
    await eventually(5000, async () => expect(service().log.join('')).to.include(said))
  })

  it('does not buffer a response that the caller does not read, and ends the request when the caller leaves', async () => {
    const before = process.memoryUsage().arrayBuffers
    const [incoming] = await once((await open(`${COUPONS}/endless`)).end(), 'response')
    // The platform now waits for the caller, but the service still answers other requests.
    for (let count = 0; count < 20; count += 1)
      expect((await asked(`${COUPONS}/x`)).status).to.equal(200)
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(20_000_000)
    incoming.destroy()
    await eventually(5000, async () => {
      expect((await service().platform.seen()).closed).to.include('/api/coupons/endless')
    })
  })

  it('answers 413 to a body above the limit, with or without its length', async () => {
    // The echo reads the body; a route that responds earlier might break the connection first.
    const body = 'x'.repeat(1_000_001)
    expect((await asked(`${COUPONS}/echo`, { method: 'POST', body })).status).to.equal(413)
    const stream = new Blob([body]).stream()
    const chunked = await asked(`${COUPONS}/echo`, { method: 'POST', body: stream, duplex: 'half' })
    expect(chunked.status).to.equal(413)
    expect(chunked.body.error_description).to.include('1000000 bytes')
  })

  it('requires the scope of the method, names it in the challenge, and answers 405 to a method without one', async () => {
    const anonymous = await get(service().url + COUPONS)
    expect(anonymous.status).to.equal(401)
    expect(anonymous.headers.get('www-authenticate')).to.include('scope="coupons:read"')
    const written = await asked(COUPONS, { method: 'POST', body: '{}' }, READ)
    expect(refusalOf(written)).to.equal('403 insufficient_scope')
    expect(written.headers.get('www-authenticate')).to.include('coupons:read coupons:write"')
    for (const scope of ['courses:read', 'coupons:write'])
      expect((await asked(COUPONS, {}, scope)).status, scope).to.equal(403)
    const forms = '/admin/api/shop/forms'
    const { status, headers } = await asked(forms, { method: 'POST' }, 'forms:read')
    expect([status, headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
    expect((await send(service().url, { method: 'TRACE', path: COUPONS })).status).to.equal(405)
    expect((await asked(forms, {}, 'forms:read')).status).to.equal(200)
  })

  it('refuses tokens of members, other values and tokens in the query', async () => {
    const { url } = service()
    const { access_token, id_token = '', refresh_token } = await obtain(url)
    expect((await ask(url, access_token, COUPONS)).status).to.equal(403)
    for (const token of [id_token, refresh_token, 'nonsense'])
      expect((await ask(url, token, COUPONS)).status).to.equal(401)
    const inQuery = await get(`${url}${COUPONS}?access_token=${await tokenFor(BOTH)}`)
    expect(inQuery.status).to.equal(401)
  })

  // [RFC 9068 §5; threat 29]
  it('rejects forwarded tokens, as every endpoint does; clients and upstreams distinguish them from id_tokens', async () => {
    const { url } = service()
    const forwarded = await forwardedToken(service())
    const body = JSON.stringify({ query: '{ __typename }' })
    const query = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    for (const path of [COUPONS, paths.graphql, paths.adminGraphql, paths.mcp])
      expect((await ask(url, forwarded, path, query)).status, path).to.equal(401)
    expect((await introspect(url, forwarded)).body).to.deep.equal({ active: false })
    expect((await userinfo(url, forwarded)).status).to.equal(401)
    const { client_id: _, ...assertion } = byAssertion(forwarded)
    expect((await introspect(url, 'x', assertion)).status).to.equal(401)
    expect((await get(`${url}${paths.endSession}?id_token_hint=${forwarded}`)).status).to.equal(400)
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    const grant = { grant_type, client_id: notes.clientId, assertion: forwarded }
    const granted = await postForm(url + paths.token, grant)
    expect(granted.body.error).to.equal('unsupported_grant_type')

    const keys = createRemoteJWKSet(new URL(url + paths.jwks))
    const { id_token = '' } = await obtain(url)
    const asClient = { issuer: url, audience: notes.clientId }
    expect((await jwtVerify(id_token, keys, asClient)).payload).to.include({ sub: 'per_sam' })
    await rejection(jwtVerify(forwarded, keys, asClient))
    await rejection(jwtVerify(id_token, keys, { issuer: url, audience: PLATFORM, typ: 'at+jwt' }))
  })

  it('forwards only paths in canonical percent-encoding, and any query byte for byte', async () => {
    const headers = bearer(await tokenFor(BOTH))
    const statusOf = async (path: string) => (await send(service().url, { path, headers })).status
    const { seen } = await service().platform.seen()
    for (const rest of ['a.b/c-d_e~f', "a!$&'()*+,=:@b", '%C3%BC/x', 'a%20b'])
      expect(await statusOf(`${COUPONS}/${rest}`), rest).to.equal(200)
    for (const path of ['/admin/api/', ...otherSpellings])
      expect(await statusOf(path), path).to.be.oneOf([400, 404])
    expect((await service().platform.seen()).seen).to.have.length(seen.length + 4)
    const path = `${COUPONS}?a='"<x>&b=%2e%2E/../;&c=%zz`
    const { body } = await send(service().url, { path, headers })
    expect(body.url).to.equal(path.replace('/admin', ''))
  })

  it('serves pages of other origins, without credentials', async () => {
    const sent = { names: 'authorization' }
    const { status, headers } = await preflight(`${service().url}${COUPONS}/7`, 'PATCH', sent)
    expect(status).to.equal(204)
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(headers.get('access-control-allow-methods')).to.include('PATCH')
    expect(headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('logs the person, client and mapping of a request, but not its query', async () => {
    await asked(`${COUPONS}/7?code=secret`, { method: 'DELETE' })
    await eventually(5000, async () => {
      const lines = service().log.filter((each) => each.includes('"DELETE"'))
      const line = JSON.parse(lines.at(-1) ?? '')
      expect(line).to.include({ route: paths.upstream, upstream: 'coupons', person: 'per_olivia' })
      expect(line.client).to.match(/^[\w-]{10,}$/)
      expect(JSON.stringify(line)).not.to.include('secret')
    })
  })
})

const otherSpellings = [
  ...['/', '//', '/./x', '/../coupons', '/x/..', '/..%2fforms', '/%2e%2e/forms', '/x//y', '/x/'],
  ...['/a%2Fb', '/a%2fb', '/a%5Cb', '/a\\b', '/%00', '/a%0Ab', '/;x=1', '/x;/y', '/%3Bx', '/%41'],
  ...['/%252e', '/%', '/%zz', '/%c3%bc', '/%C3', '/%C0%AE', '/a|b', '/a"b', '/%7F', '/%C2%85'],
].map((rest) => COUPONS + rest)

it('every operator scope opens only the methods of its own mapping', async () => {
  const scopes = catalogue.filter(({ audience }) => audience === 'operator')
  const areaOf = (scope: string) => scope.replace(/:.*/, '')
  const areas = Object.groupBy(scopes, ({ name }) => areaOf(name))
  const mappingAt = (port: number) =>
    Object.entries(areas).map(([path, ofArea = []]) => ({
      path,
      readScope: ofArea.find(({ access }) => access === 'read')?.name,
      writeScope: ofArea.find(({ access }) => access === 'write')?.name,
      address: `http://127.0.0.1:${port}/api/${path}`,
      ...{ audience: PLATFORM, answerWithinSeconds: 10, bodyBytesMax: 1000 },
    }))
  const policy = policyWith({ registration: { registrationsPerAddressMax: 1000 } })
  await using service = await startWithPlatform({ policy }, startService, mappingAt)
  const { url, platform } = service
  for (const { name, access } of scopes) {
    const path = `/admin/api/${areaOf(name)}`
    const method = access === 'read' ? 'GET' : 'DELETE'
    const others = scopes.map((each) => each.name).filter((each) => each !== name)
    const opened = await ask(url, await operatorToken(url, name), path, { method })
    expect(opened.status, name).to.equal(200)
    expect(opened.body.claims.scope, name).to.equal(name)
    const refused = await ask(url, await operatorToken(url, others.join(' ')), path, { method })
    expect(refusalOf(refused), name).to.equal('403 insufficient_scope')
  }
  expect((await platform.seen()).seen).to.have.length(scopes.length)
})

it('a slow platform causes 504, an interrupted response is cut short, and a missing one causes 502', async () => {
  await using service = await startWithPlatform()
  const { url } = service
  const token = await operatorToken(url, BOTH)
  const { status, body, headers } = await ask(url, token, `${SLOW}/silent`)
  expect(status).to.equal(504)
  const error_description =
    'the platform API behind this path did not respond in time; check whether a write succeeded'
  expect(body).to.deep.equal({ error: 'upstream_timeout', error_description })
  expect(headers.get('cache-control')).to.equal('no-store')
  await rejection(ask(url, token, `${SLOW}/stops`))
  await service.platform.kill()
  const away = await ask(url, token, COUPONS)
  expect(away.status).to.equal(502)
  expect(JSON.stringify([away.body, [...away.headers]])).not.to.match(/ECONN|127\.0\.0\.1:/)
  expect(service.log.join('')).to.include('ECONNREFUSED')
})

describe('without a mapping', () => {
  const service = sharedService()

  it('/admin/api/ is 404 for every caller, and no key is made', async () => {
    for (const path of ['/admin/api', COUPONS, `${COUPONS}/7`]) {
      const { status, body } = await get(service().url + path)
      expect(status, path).to.equal(404)
      const error_description = 'no platform API has this path; ask the operator of this service'
      expect(body).to.deep.equal({ error: 'not_found', error_description })
    }
    expect((await get(service().url + paths.jwks)).body.keys).to.have.length(2)
  })

  it('the consent page marks a scope without a use, and the guide lists the paths of others', async () => {
    const school = 'the school&#39;s name and settings'
    const unavailable = 'coupons and discounts (this service does not offer that yet)'
    expect(await sentences(service().url)).to.deep.equal([school, unavailable, unavailable])
    await using mapped = await startWithPlatform()
    const offered = 'coupons and discounts'
    expect(await sentences(mapped.url)).to.deep.equal([school, offered, offered])
    const guide = (await get(mapped.url + paths.authMd)).text
    const row = '| `coupons:read` | read | coupons | `/admin/api/coupons` and `/admin/api/slow` |'
    expect(guide).to.include(row)
    expect(guide).to.include('| `school:read` | read | school | `/admin/graphql` |')
  })

  async function sentences(url: string) {
    const redirect_uri = 'http://127.0.0.1:9/operator'
    const { client_id } = (await register(url, { redirect_uris: [redirect_uri] })).body
    const person = makePagePerson(url, olivia)
    await person.visit(pages.account)
    const scope = `${readScope('school')} ${BOTH}`
    const { pathname, search } = authorizeUrl(url, { client_id, redirect_uri, scope })
    const page = await person.visit(pathname + search)
    return [...page.text.matchAll(/<li>(.*?)<\/li>/g)].map(([, sentence]) => sentence)
  }
})
