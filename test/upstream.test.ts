import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'

import { expect } from 'chai'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'

import { catalogue, readScope, scopeNames } from '../src/directory/scopes/catalogue.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { hasOneSpelling } from '../src/resource/upstream/spelling.ts'
import { authorizeUrl, introspect, obtain, userinfo } from './support/client.ts'
import {
  amir,
  marco,
  olivia,
  type RunningService,
  resourceServer,
  startService,
} from './support/gatehouse.ts'
import { operatorToken } from './support/mcp.ts'
import { makePagePerson } from './support/page-person.ts'
import { eventually, freePort } from './support/programs.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachDatabase } from './support/storages.ts'
import {
  PLATFORM,
  startPlatform,
  startWithPlatform,
  type WithPlatform,
} from './support/upstream.ts'
import { type Answer, answerOf, send } from './support/wire.ts'

const READ = readScope('coupons')
const BOTH = scopeNames('operator')
  .filter((name) => name.startsWith('coupons:'))
  .join(' ')
const COUPONS = '/admin/api/coupons'
const SLOW = '/admin/api/slow'

interface Caller {
  readonly url: string
  readonly token: string
}

type Init = RequestInit & { duplex?: 'half' }

/** Asks the service as a client does that has the token. */
async function ask({ url, token }: Caller, path: string, init: Init = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, ...init.headers }
  return await answerOf(await fetch(url + path, { redirect: 'manual', ...init, headers }))
}

forEachDatabase("the platform's own API", (start) => {
  // [RFC 9068 §2.2; RFC 9068 §2.2.3; RFC 9068 §2.2.3.1]
  it('verifies what is forwarded by discovery alone [RFC 9068 §4]', async () => {
    await using service = await startWithPlatform({}, start)
    const token = await operatorToken(service.url, BOTH)
    const { status, body } = await ask(
      { url: service.url, token },
      `${COUPONS}/7/uses?from=a%20b&x=/../;`,
    )
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ method: 'GET', url: '/api/coupons/7/uses?from=a%20b&x=/../;' })
    const { iat, exp, jti, client_id, ...claims } = body.claims
    expect(claims).to.deep.equal({
      iss: service.url,
      aud: PLATFORM,
      sub: 'per_olivia',
      org_id: 'sit_northlight',
      roles: ['owner'],
      scope: BOTH,
    })
    expect(exp - iat).to.equal(60)
    expect(jti).to.match(/^[\w-]{20,}$/)
    expect(client_id).to.match(/^[\w-]{10,}$/)
  })

  // [RFC 9068 §2.2.3; RFC 9068 §2.2.3.1; RFC 9068 §3]
  it('is told of those scopes only that its mapping names, and of the roles of this moment', async () => {
    await using service = await startWithPlatform({}, start)
    const token = await operatorToken(service.url, `${READ} ${readScope('courses')}`, amir)
    const { body } = await ask({ url: service.url, token }, COUPONS)
    expect(body.claims).to.include({ scope: READ, sub: 'per_amir' })
    const { database } = service.service.stores
    await database.kysely
      .insertInto('site_role')
      .values({
        person_id: 'per_amir',
        site_id: body.claims.org_id,
        role: 'lecturer',
        granted_at: 1,
      })
      .execute()
    const later = await ask({ url: service.url, token }, COUPONS)
    expect(later.body.claims.roles).to.have.members(['admin', 'lecturer'])
    expect(later.body.claims.jti).not.to.equal(body.claims.jti)
    await database.kysely.deleteFrom('site_role').where('person_id', '=', 'per_amir').execute()
    const lost = await ask({ url: service.url, token }, COUPONS)
    expect(lost.status).to.equal(401)
    expect((await service.platform.seen()).seen).to.have.length(2)
  })

  // [RFC 9068 §2.1]
  it('is reached by a key that signs nothing else and stands in the key set beside the others', async () => {
    await using service = await startWithPlatform({}, start)
    const { keys } = (await answerOf(await fetch(service.url + paths.jwks))).body
    const { kysely } = service.service.stores.database
    const rows = await kysely.selectFrom('upstream_key').select(['kid', 'state']).execute()
    const signing = await kysely.selectFrom('signing_key').select('kid').execute()
    expect(keys.map(({ kid }: { kid: string }) => kid)).to.have.members(
      [...signing, ...rows].map(({ kid }) => kid),
    )
    for (const key of keys) {
      expect(Object.keys(key).sort()).to.deep.equal(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    }
    const current = rows.find(({ state }) => state === 'current')
    const header = decodeProtectedHeader(await forwardedToken(service))
    expect(header).to.deep.equal({ typ: 'at+jwt', alg: 'ES256', kid: current?.kid })
    const { id_token = '' } = await obtain(service.url)
    expect(rows.map(({ kid }) => kid)).not.to.include(decodeProtectedHeader(id_token).kid)
  })
})

/** What went to the platform for the last request. */
async function forwardedToken(service: WithPlatform): Promise<string> {
  const token = await operatorToken(service.url, READ)
  const { body } = await ask({ url: service.url, token }, COUPONS)
  const at = body.headers.findIndex((name: string) => name.toLowerCase() === 'authorization')
  return body.headers[at + 1].replace('Bearer ', '')
}

describe('below /admin/api/', () => {
  let platform: WithPlatform['platform']
  const service = sharedService({}, async (setup) => {
    const started = await startWithPlatform(setup)
    platform = started.platform
    return started
  })
  const tokens = new Map<string, string>()
  const tokenFor = async (scope = BOTH) => {
    const token = tokens.get(scope) ?? (await operatorToken(service().url, scope))
    tokens.set(scope, token)
    return token
  }
  const asked = async (path: string, init?: Init, scope?: string) =>
    await ask({ url: service().url, token: await tokenFor(scope) }, path, init)

  it('bodies of any method go in and come out as they are', async () => {
    const body = 'x'.repeat(300_000)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await asked(`${COUPONS}/echo`, { method, body })
      expect(answer.status).to.equal(201)
      expect(answer.headers.get('content-type')).to.equal('application/x-echo')
      expect(answer.text === body, method).to.equal(true)
    }
    const head = await asked(`${COUPONS}/x`, { method: 'HEAD' })
    expect([head.status, head.text]).to.deep.equal([200, ''])
    for (const status of [204, 304, 404, 409, 422]) {
      expect((await asked(`${COUPONS}/status/${status}`)).status).to.equal(status)
    }
  })

  it('bodies are streamed: the beginning of an answer comes while its question is still being asked', async () => {
    const outgoing = httpRequest(`${service().url}${COUPONS}/echo`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await tokenFor()}` },
    })
    outgoing.write('first')
    const [incoming] = await once(outgoing, 'response')
    const [chunk] = await once(incoming, 'data')
    expect(String(chunk)).to.equal('first')
    outgoing.end('last')
    expect(await text(incoming)).to.equal('last')
  })

  // [MCP Authorization §Access Token Privilege Restriction]
  it('no cookie, no token of the caller and no header that says who or where goes in', async () => {
    const { status, body } = await asked(`${COUPONS}/x`, {
      headers: {
        cookie: 'session=1',
        forwarded: 'for=1.2.3.4',
        'proxy-authorization': 'Basic x',
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-host': 'elsewhere.example',
        'x-forwarded-prefix': '/x',
        'x-http-method-override': 'DELETE',
        'x-original-url': '/admin',
        'x-real-ip': '1.2.3.4',
        'x-user': 'per_marco',
        'accept-language': 'de',
        'if-none-match': '"one"',
        te: 'trailers',
      },
    })
    expect(status).to.equal(200)
    const { seen } = await platform.seen()
    const { headers } = seen.at(-1) ?? { headers: {} }
    const { host } = new URL(service().url)
    expect(headers).to.include({
      'accept-language': 'de',
      'if-none-match': '"one"',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': host,
      'x-forwarded-proto': 'http',
      via: '1.1 gatehouse',
    })
    expect(Object.keys(headers).sort()).to.deep.equal(
      [
        'accept',
        'accept-encoding',
        'accept-language',
        'authorization',
        'connection',
        'host',
      ].concat(
        ['if-none-match', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
        ['x-request-id'],
      ),
    )
    expect(JSON.stringify(headers)).not.to.include(await tokenFor())
    expect(body.headers).to.be.an('array')
  })

  it('nothing comes out by which a browser or a proxy would act', async () => {
    const {
      status,
      headers,
      text: page,
    } = await asked(`${COUPONS}/loud`, { headers: { origin: 'https://app.example' } })
    expect([status, page]).to.deep.equal([200, '<script>1</script>'])
    const ours: Record<string, string | null> = {
      'content-type': 'text/html',
      etag: '"one"',
      'x-total-count': '3',
      'content-security-policy': 'sandbox',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': null,
      'strict-transport-security': null,
    }
    for (const [name, value] of Object.entries(ours))
      expect(headers.get(name), name).to.equal(value)
    for (const name of ['set-cookie', 'clear-site-data', 'location', 'refresh', 'server']) {
      expect(headers.get(name), name).to.equal(null)
    }
    for (const name of ['x-powered-by', 'x-accel-redirect', 'www-authenticate']) {
      expect(headers.get(name), name).to.equal(null)
    }
  })

  it('a redirect and a failure of the platform are 502, with nothing that it said', async () => {
    for (const path of ['/redirect', '/status/301', '/status/300', '/status/500', '/status/503']) {
      const { status, headers, body } = await asked(COUPONS + path)
      expect(status, path).to.equal(502)
      expect(body).to.deep.equal({
        error: 'upstream_failed',
        error_description: 'the platform API behind this path failed; try again later',
      })
      expect(headers.get('location')).to.equal(null)
      expect(headers.get('set-cookie')).to.equal(null)
      expect(headers.get('content-security-policy')).to.equal('sandbox')
    }
    expect(service().log.join('')).to.include('the upstream responded with 302')
  })

  it('a platform that refuses our token is no verdict on that of the caller', async () => {
    const { status, headers } = await asked(`${COUPONS}/status/401`)
    expect(status).to.equal(502)
    expect(headers.get('www-authenticate')).to.equal(null)
  })

  it('an answer that breaks off never looks complete', async () => {
    const broken = await asked(`${COUPONS}/breaks`).catch((error: Error) => error)
    expect(broken).to.be.instanceOf(Error)
    await eventually(5000, async () => {
      expect(service().log.join('')).to.include('response interrupted: aborted')
    })
  })

  it('a caller who leaves ends the request at the platform', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${service().url}${COUPONS}/endless`, {
      headers: { authorization: `Bearer ${await tokenFor()}` },
      signal: leaving.signal,
    })
    const reader = response.body?.getReader()
    await reader?.read()
    leaving.abort()
    await reader?.closed.catch(() => {})
    await eventually(5000, async () => {
      expect((await platform.seen()).closed).to.include('/api/coupons/endless')
    })
  })

  it('an answer that nobody takes is not held here', async () => {
    const before = process.memoryUsage().arrayBuffers
    const outgoing = httpRequest(`${service().url}${COUPONS}/endless`, {
      headers: { authorization: `Bearer ${await tokenFor()}` },
    })
    outgoing.end()
    const [incoming] = await once(outgoing, 'response')
    // Both sides wait now; asking something else says that the service does not.
    for (let count = 0; count < 20; count += 1) {
      expect((await asked(`${COUPONS}/x`)).status).to.equal(200)
    }
    expect(process.memoryUsage().arrayBuffers - before).to.be.below(20_000_000)
    incoming.destroy()
  })

  it('a body above the limit of the mapping is 413, also when nobody said how long it is', async () => {
    // To where the body is read: one that answers before it has might break the connection first.
    const body = 'x'.repeat(1_000_001)
    const answer = await asked(`${COUPONS}/echo`, { method: 'POST', body })
    expect(answer.status).to.equal(413)
    const stream = new Blob([body]).stream()
    const unsaid = await asked(`${COUPONS}/echo`, { method: 'POST', body: stream, duplex: 'half' })
    expect(unsaid.status).to.equal(413)
    expect(unsaid.body.error_description).to.include('1000000 bytes')
  })

  it('each method needs its scope, and a challenge names it', async () => {
    const { url } = service()
    const anonymous = await answerOf(await fetch(url + COUPONS))
    expect(anonymous.status).to.equal(401)
    expect(anonymous.headers.get('www-authenticate')).to.include('scope="coupons:read"')
    const written = await asked(COUPONS, { method: 'POST', body: '{}' }, READ)
    expect(written.status).to.equal(403)
    expect(written.body.error).to.equal('insufficient_scope')
    // What the token has, and what the method needs.
    expect(written.headers.get('www-authenticate')).to.include('coupons:read coupons:write"')
    const other = await asked(COUPONS, {}, 'courses:read')
    expect(other.status).to.equal(403)
    const [, write = ''] = BOTH.split(' ')
    expect((await asked(COUPONS, {}, write)).status, 'to write is not to read').to.equal(403)
  })

  it('a method that no scope is mapped for is none of the address', async () => {
    const { status, headers } = await asked(
      '/admin/api/shop/forms',
      { method: 'POST' },
      'forms:read',
    )
    expect(status).to.equal(405)
    expect(headers.get('allow')).to.equal('GET, HEAD')
    const traced = await send(service().url, { method: 'TRACE', path: COUPONS })
    expect(traced.status).to.equal(405)
    expect((await asked('/admin/api/shop/forms', {}, 'forms:read')).status).to.equal(200)
  })

  it('tokens that are none here are refused', async () => {
    const { url } = service()
    const { access_token, id_token = '', refresh_token } = await obtain(url)
    expect((await ask({ url, token: access_token }, COUPONS)).status).to.equal(403)
    for (const token of [id_token, refresh_token, 'nonsense']) {
      expect((await ask({ url, token }, COUPONS)).status).to.equal(401)
    }
    const query = await fetch(`${url}${COUPONS}?access_token=${await tokenFor()}`)
    expect(query.status).to.equal(401)
  })

  it('every site is told of its own operators only', async () => {
    const token = await operatorToken(service().url, READ, marco)
    const { body } = await ask({ url: service().url, token }, COUPONS)
    expect(body.claims).to.include({ org_id: 'sit_open_kitchen', sub: 'per_marco' })
  })

  // [RFC 9068 §5; threat 29]
  it('what goes to the platform is worth nothing here', async () => {
    const { url } = service()
    const forwarded = await forwardedToken({ ...service(), platform })
    for (const path of [COUPONS, paths.userinfo]) {
      expect((await ask({ url, token: forwarded }, path)).status, path).to.equal(401)
    }
    for (const path of [paths.graphql, paths.adminGraphql, paths.mcp]) {
      const body = path === paths.mcp ? mcpList : JSON.stringify({ query: '{ __typename }' })
      const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
      expect((await ask({ url, token: forwarded }, path, init)).status, path).to.equal(401)
    }
    expect((await introspect(url, forwarded)).body).to.deep.equal({ active: false })
    expect((await userinfo(url, forwarded)).status).to.equal(401)
  })

  it('what goes to the platform proves no client, and is no hint of who signed in', async () => {
    const { url } = service()
    const forwarded = await forwardedToken({ ...service(), platform })
    const { clientId } = resourceServer
    const asserted = await answerOf(
      await fetch(url + paths.introspection, {
        method: 'POST',
        body: new URLSearchParams({
          token: 'x',
          client_id: clientId,
          client_assertion: forwarded,
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        }),
      }),
    )
    expect(asserted.status).to.equal(401)
    const hinted = await fetch(`${url}${paths.endSession}?id_token_hint=${forwarded}`)
    expect(hinted.status).to.equal(400)
    const assertion = await answerOf(
      await fetch(url + paths.token, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
          client_id: 'northlight-notes',
          assertion: forwarded,
        }),
      }),
    )
    expect(assertion.body.error).to.equal('unsupported_grant_type')
  })

  // [RFC 9068 §5]
  it('no id_token is taken for what goes to the platform, and none of these for an id_token', async () => {
    const { url } = service()
    const keys = createRemoteJWKSet(new URL(url + paths.jwks))
    const { id_token = '' } = await obtain(url)
    const forwarded = await forwardedToken({ ...service(), platform })
    expect(
      (await jwtVerify(id_token, keys, { issuer: url, audience: 'northlight-notes' })).payload,
    ).to.include({ sub: 'per_sam' })
    for (const [token, expected] of [
      [forwarded, { issuer: url, audience: 'northlight-notes' }],
      [id_token, { issuer: url, audience: PLATFORM, typ: 'at+jwt' }],
    ] as const) {
      const verified = await jwtVerify(token, keys, expected).catch((error: Error) => error)
      expect(verified).to.be.instanceOf(Error)
    }
  })

  it('a path has one spelling, and no other reaches the platform', async () => {
    const { url } = service()
    const authorization = `Bearer ${await tokenFor()}`
    const { seen } = await platform.seen()
    for (const path of otherSpellings) {
      const { status } = await send(url, { path, headers: { authorization } })
      expect(status, path).to.be.oneOf([400, 404])
    }
    expect((await platform.seen()).seen).to.have.length(seen.length)
  })

  it('a query goes on as it is, byte for byte', async () => {
    const path = `${COUPONS}?a='"<x>&b=%2e%2E/../;&c=%zz`
    const authorization = `Bearer ${await tokenFor()}`
    const { body } = await send(service().url, { path, headers: { authorization } })
    expect(body.url).to.equal(path.replace('/admin', ''))
  })

  it('pages of other origins may ask, without credentials', async () => {
    const preflight = await fetch(`${service().url}${COUPONS}/7`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'PATCH',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.status).to.equal(204)
    expect(preflight.headers.get('access-control-allow-origin')).to.equal('*')
    expect(preflight.headers.get('access-control-allow-methods')).to.include('PATCH')
    expect(preflight.headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('the log says who did what at which part, and no more', async () => {
    await asked(`${COUPONS}/7?code=secret`, { method: 'DELETE' })
    await eventually(5000, async () => {
      const line = JSON.parse(
        service()
          .log.filter((each) => each.includes('"DELETE"'))
          .at(-1) ?? '',
      )
      expect(line).to.include({ route: paths.upstream, upstream: 'coupons', person: 'per_olivia' })
      expect(line.client).to.match(/^[\w-]{10,}$/)
      expect(JSON.stringify(line)).not.to.include('secret')
    })
  })
})

const mcpList = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

const otherSpellings = [
  ...['/', '//', '/./x', '/../coupons', '/x/..', '/..%2fforms', '/%2e%2e/forms', '/x//y', '/x/'],
  ...['/a%2Fb', '/a%2fb', '/a%5Cb', '/a\\b', '/%00', '/a%0Ab', '/;x=1', '/x;/y', '/%3Bx', '/%41'],
  ...['/%252e', '/%', '/%zz', '/%c3%bc', '/%C3', '/%C0%AE', '/a|b', '/a"b', '/%7F', '/%C2%85'],
].map((rest) => `${COUPONS}${rest}`)

describe('every scope of operators', () => {
  const operatorScopes = catalogue.filter(({ audience }) => audience === 'operator')
  const areaOf = (scope: string) => scope.replace(/:.*/, '')

  it('opens the methods of its own mapping, and without it they are refused', async () => {
    const port = await freePort()
    const upstreams = Object.entries(
      Object.groupBy(operatorScopes, ({ name }) => areaOf(name)),
    ).map(([path, scopes = []]) => ({
      path,
      readScope: scopes.find(({ access }) => access === 'read')?.name,
      writeScope: scopes.find(({ access }) => access === 'write')?.name,
      address: `http://127.0.0.1:${port}/api/${path}`,
      audience: PLATFORM,
      answerWithinSeconds: 10,
      bodyBytesMax: 1000,
    }))
    await using service = await startWithPlatform({
      policy: (policy) => ({
        ...policy,
        upstreams,
        registration: { ...policy.registration, registrationsPerAddressMax: 1000 },
      }),
    })
    const { url } = service
    const platform = await startPlatform(port, url)
    for (const { name, access } of operatorScopes) {
      const path = `/admin/api/${areaOf(name)}`
      const method = access === 'read' ? 'GET' : 'DELETE'
      const others = operatorScopes.filter((other) => other.name !== name)
      const [own, other] = [
        await operatorToken(url, name),
        await operatorToken(url, others.map((each) => each.name).join(' ')),
      ]
      const opened = await ask({ url, token: own }, path, { method })
      expect(opened.status, name).to.equal(200)
      expect(opened.body.claims.scope, name).to.equal(name)
      const refused = await ask({ url, token: other }, path, { method })
      expect([refused.status, refused.body.error], name).to.deep.equal([403, 'insufficient_scope'])
    }
    expect((await platform.seen()).seen).to.have.length(operatorScopes.length)
    await platform.kill()
  })
})

describe('the spelling of a path', () => {
  it('is plain characters, and whatever has to be encoded', () => {
    for (const path of [
      'coupons',
      'coupons/7',
      'a.b/c-d_e~f',
      "a!$&'()*+,=:@b",
      '%C3%BC/x',
      'a%20b',
    ]) {
      expect(hasOneSpelling(path), path).to.equal(true)
    }
    for (const path of otherSpellings) expect(hasOneSpelling(path.slice(11)), path).to.equal(false)
    expect(hasOneSpelling('')).to.equal(false)
  })
})

describe('a platform that is slow or away', () => {
  it('is 504 when it says nothing, and an answer that stands still is cut short', async () => {
    await using service = await startWithPlatform()
    const token = await operatorToken(service.url, BOTH)
    const { status, body, headers } = await ask({ url: service.url, token }, `${SLOW}/silent`)
    expect(status).to.equal(504)
    expect(body).to.deep.equal({
      error: 'upstream_timeout',
      error_description:
        'the platform API behind this path did not respond in time; check whether a write succeeded',
    })
    expect(headers.get('cache-control')).to.equal('no-store')
    const stopped = await ask({ url: service.url, token }, `${SLOW}/stops`).catch(
      (error: Error) => error,
    )
    expect(stopped).to.be.instanceOf(Error)
    await service.platform.kill()
    const away = await ask({ url: service.url, token }, COUPONS)
    expect(away.status).to.equal(502)
    expect(JSON.stringify([away.body, [...away.headers]])).not.to.match(/ECONN|127\.0\.0\.1:/)
    expect(service.log.join('')).to.include('ECONNREFUSED')
  })
})

describe('without a mapping', () => {
  const service = sharedService()

  it('says that this deployment serves nothing there, to anybody', async () => {
    const { url } = service()
    for (const path of ['/admin/api', COUPONS, `${COUPONS}/7`]) {
      const { status, body } = await answerOf(await fetch(url + path))
      expect(status, path).to.equal(404)
      expect(body).to.deep.equal({
        error: 'not_found',
        error_description: 'this deployment does not map this path to a platform API',
      })
    }
  })

  it('makes no key for it', async () => {
    const { keys } = (await answerOf(await fetch(service().url + paths.jwks))).body
    expect(keys).to.have.length(2)
  })
})

describe('a scope that opens nothing in this deployment', () => {
  const sentences = async ({ url }: Pick<RunningService, 'url'>) => {
    const redirectUri = 'http://127.0.0.1:9/operator'
    const { body } = await answerOf(
      await fetch(url + paths.registration, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ client_name: 'tool', redirect_uris: [redirectUri] }),
      }),
    )
    const scope = `${readScope('school')} ${BOTH}`
    const asking = { client_id: body.client_id, redirect_uri: redirectUri, scope }
    const person = makePagePerson(url, olivia)
    await person.visit(pages.account)
    const { pathname, search } = authorizeUrl(url, asking)
    const page = await person.visit(pathname + search)
    return [...page.text.matchAll(/<li>(.*?)<\/li>/g)].map(([, sentence]) => sentence)
  }

  it('is said to do so where a person allows it, and in the guide for clients', async () => {
    await using without = await startService()
    const said = 'coupons and discounts (this service does not offer that yet)'
    expect(await sentences(without)).to.deep.equal(['name and settings of the site', said, said])
    await using service = await startWithPlatform()
    const offered = 'coupons and discounts'
    expect(await sentences(service)).to.deep.equal([
      'name and settings of the site',
      offered,
      offered,
    ])
    const guide = await (await fetch(service.url + paths.authMd)).text()
    expect(guide).to.include(
      '| `coupons:read` | read | coupons | `/admin/api/coupons` and `/admin/api/slow` |',
    )
    expect(guide).to.include('| `school:read` | read | school | `/admin/graphql` |')
  })

  it('stays in discovery with all 38', async () => {
    await using service = await startService()
    const { body } = await answerOf(await fetch(service.url + paths.openidConfiguration))
    expect(body.scopes_supported).to.have.members(scopeNames())
  })
})
