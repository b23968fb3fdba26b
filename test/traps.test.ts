import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Adapter } from 'oidc-provider'

import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type BareEngine, startBareEngine } from './support/bare-engine.ts'
import {
  authorizeUrl,
  introspect,
  makePkce,
  obtainCode,
  obtainTokens,
  refresh,
  userinfo,
} from './support/client.ts'
import { notes, olivia, portal, type RunningService, startService } from './support/gatehouse.ts'
import { startRedis } from './support/redis.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { requireProgram } from './support/skipped.ts'
import { describeOnServers } from './support/stores-of-run.ts'
import { type Answer, bearer, FORM, postForm, refusalOf, send } from './support/wire.ts'

/**
 * Each trap twice: on the engine without our repairs, where it must be seen to be there, and on the
 * service, where it must not. When a new version of the engine repairs one by itself, the first half
 * fails and says that ours can go. Only the races have their second half in races.test.ts, where they
 * are run between two processes.
 */
let bare: BareEngine
let service: RunningService

before(async () => {
  bare = await startBareEngine()
  service = await startService()
})

after(async () => {
  await bare[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

const PARALLEL = 20
const DAY_MS = 86_400_000

const readDiscovery = async (url: string, headers: readonly string[] = []) =>
  (await send(url, { path: paths.openidConfiguration, headers })).body

const asPortal = { client_id: portal.clientId, client_secret: portal.clientSecret }

const parallel = async (task: () => Promise<Answer>) =>
  await Promise.all(Array.from({ length: PARALLEL }, task))

/** Runs work as if the clock stood later; both servers are in this process and read the same one. */
async function later<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const clock = Date.now
  Date.now = () => clock() + ms
  try {
    return await work()
  } finally {
    Date.now = clock
  }
}

describe('traps: a code or refresh token works once however many use it at the same time (design 10, 11)', () => {
  it('engine: many parallel exchanges of one code succeed', async () => {
    const { form } = await obtainCode(bare.url)
    const answers = await parallel(() => postForm(bare.url + paths.token, form))
    expect(answers.filter(({ status }) => status === 200)).to.have.length.greaterThan(1)
  })

  it('engine: parallel uses of one refresh token make several families', async () => {
    const { refreshToken } = await obtainTokens(bare.url)
    const answers = await parallel(() => refresh(bare.url, refreshToken))
    expect(familiesIn(answers).size).to.be.greaterThan(1)
  })

  function familiesIn(answers: readonly Answer[]) {
    const good = answers.filter(({ status }) => status === 200)
    return new Set(good.map((answer) => answer.body['refresh_token']))
  }
})

describe('traps: a refused resource uses nothing up (design 3)', () => {
  const foreign = { resource: 'https://other.example' }

  it('engine: a refused refresh has used the refresh token up', async () => {
    const { refreshToken } = await obtainTokens(bare.url)
    expect(refusalOf(await refresh(bare.url, refreshToken, foreign))).to.equal('400 invalid_target')
    expect(refusalOf(await refresh(bare.url, refreshToken))).to.equal('400 invalid_grant')
  })

  it('service: the refresh token works afterwards', async () => {
    const { refreshToken } = await obtainTokens(service.url)
    const refused = await refresh(service.url, refreshToken, foreign)
    expect(refusalOf(refused)).to.equal('400 invalid_target')
    expect((await refresh(service.url, refreshToken)).status).to.equal(200)
  })

  it('engine: a refused exchange has used the code up', async () => {
    const { form } = await obtainCode(bare.url)
    const refused = await postForm(bare.url + paths.token, { ...form, ...foreign })
    expect(refusalOf(refused)).to.equal('400 invalid_target')
    expect(refusalOf(await postForm(bare.url + paths.token, form))).to.equal('400 invalid_grant')
  })

  for (const [how, resource] of [
    ['foreign', 'https://other.example'],
    ['missing', undefined],
    ['with a foreign second one', ['https://other.example', 'https://second.example']],
  ] as const) {
    it(`service: the code works after a resource that was ${how}`, async () => {
      const { form } = await obtainCode(service.url)
      const refused = await postForm(service.url + paths.token, { ...form, resource })
      expect(refusalOf(refused)).to.equal('400 invalid_target')
      expect((await postForm(service.url + paths.token, form)).status).to.equal(200)
    })
  }
})

describe('traps: the address of the service comes from its configuration alone (design 1)', () => {
  const evil = 'evil.example'
  const spoofs: readonly [how: string, path: string, headers: readonly string[]][] = [
    ['Host', paths.openidConfiguration, ['Host', evil]],
    ['a target that is a whole URL', `http://${evil}${paths.openidConfiguration}`, []],
  ]
  for (const [how, path, headers] of spoofs) {
    it(`engine: ${how} decides what discovery advertises`, async () => {
      const document = (await send(bare.url, { path, headers })).body
      expect(document['token_endpoint']).to.equal(`http://${evil}${paths.token}`)
    })
  }

  const more: typeof spoofs = [
    ...spoofs,
    ['X-Forwarded-Host', paths.openidConfiguration, ['X-Forwarded-Host', evil]],
    ['X-Forwarded-Proto', paths.openidConfiguration, ['X-Forwarded-Proto', 'https']],
    ['two Hosts', paths.openidConfiguration, ['Host', '127.0.0.1', 'Host', evil]],
    ['Forwarded', paths.openidConfiguration, ['Forwarded', `host=${evil};proto=https`]],
  ]
  for (const [how, path, headers] of more) {
    it(`service: ${how} changes nothing in discovery, cookies or redirects`, async () => {
      const document = (await send(service.url, { path, headers })).body
      expect(document).to.deep.equal(await readDiscovery(service.url))
      const { pathname, search } = authorizeUrl(service.url)
      const target = path.startsWith('http:') ? `http://${evil}` : ''
      const answer = await send(service.url, { path: `${target}${pathname}${search}`, headers })
      expect(answer.status).to.equal(303)
      expect(answer.headers.get('location')).to.match(/^\/interaction\//)
      expect(String(answer.headers.get('set-cookie'))).to.not.match(/secure|evil/i)
    })
  }
})

describe('traps: a grant outlives the refresh tokens that are made of it (design 9)', () => {
  // The person agrees on day 0 and comes back on day 10, and the client refreshes on day 15.
  const story = async (url: string) => {
    const { person, form } = await obtainTokens(url)
    const { verifier, challenge } = makePkce()
    const again = await later(10 * DAY_MS, async () => {
      const start = authorizeUrl(url, { prompt: 'consent', code_challenge: challenge })
      const { searchParams } = await person.authorize(start, notes.redirectUri)
      const code = searchParams.get('code') ?? ''
      return await postForm(url + paths.token, { ...form, code, code_verifier: verifier })
    })
    expect(again.status, again.text).to.equal(200)
    return await later(15 * DAY_MS, () => refresh(url, String(again.body['refresh_token'])))
  }

  it('engine: a refresh fails although its token is alive', async () => {
    expect(refusalOf(await story(bare.url))).to.equal('400 invalid_grant')
  })

  it('service: the refresh succeeds', async () => {
    // The grant then lives 14 days from its last use, as it does at the engine from its first.
    const lifetime = { refreshTokenSeconds: 12 * 86_400, refreshTokenAbsoluteSeconds: 12 * 86_400 }
    await using short = await startService({
      now: () => Date.now(),
      policy: (policy) => ({ ...policy, lifetimes: { ...policy.lifetimes, ...lifetime } }),
    })
    const answer = await story(short.url)
    expect(answer.status, answer.text).to.equal(200)
  })
})

describe('traps: a token whose client is gone is inactive (design 13, 15)', () => {
  it('engine: introspection of it fails', async () => {
    await using engine = await startBareEngine()
    const { accessToken } = await obtainTokens(engine.url)
    engine.records.delete(`Client:${notes.clientId}`)
    expect((await introspect(engine.url, accessToken)).status).to.equal(500)
  })

  for (const [how, remove] of [
    ['marked as deleted', markDeleted],
    ['removed altogether', removeRows],
  ] as const) {
    it(`service: after the client was ${how}, its tokens are inactive, refused, and not renewed`, async () => {
      await using own = await startService()
      const { accessToken, refreshToken } = await obtainTokens(own.url)
      await remove(own)
      const answer = await introspect(own.url, accessToken)
      expect([answer.status, answer.body]).to.deep.equal([200, { active: false }])
      expect((await userinfo(own.url, accessToken)).status).to.equal(401)
      const asked = await send(own.url, {
        ...{ method: 'POST', path: paths.graphql, body: '{"query":"{viewer{id}}"}' },
        headers: [...bearer(accessToken), 'Content-Type', 'application/json'],
      })
      expect(asked.status, 'Member API').to.equal(401)
      expect((await refresh(own.url, refreshToken)).status).to.be.oneOf([400, 401])
    })
  }

  async function markDeleted({ service: { stores } }: RunningService) {
    await stores.database.kysely
      .updateTable('oauth_application')
      .set({ deleted_at: Date.now() })
      .where('client_id', '=', notes.clientId)
      .execute()
  }

  async function removeRows({ service: { stores } }: RunningService) {
    const { kysely } = stores.database
    for (const table of [
      'oauth_application_redirect_uri',
      'oauth_application_post_logout_uri',
      'oauth_application_scope',
      'client_secret',
      'oauth_application',
    ] as const) {
      await kysely.deleteFrom(table).where('client_id', '=', notes.clientId).execute()
    }
  }
})

describe('traps: registration never hands a public client a secret (Client registration)', () => {
  const registration = async (url: string) =>
    await send(url, {
      method: 'POST',
      path: paths.registration,
      headers: ['Content-Type', 'application/json'],
      body: JSON.stringify({
        client_name: 'A tool',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1:4711/callback'],
      }),
    })

  it('engine: a request without token_endpoint_auth_method gets a secret', async () => {
    const answer = await registration(bare.url)
    expect(answer.status).to.equal(201)
    expect(answer.body).to.have.property('client_secret')
  })

  // [RFC 7591 §3.2.1]
  it('service: no answer of the address holds a secret or a registration access token', async () => {
    const { text } = await registration(service.url)
    expect(text).to.not.match(/client_secret"|registration_access_token|registration_client_uri/)
    const management = await send(service.url, { path: `${paths.registration}/${notes.clientId}` })
    expect(management.status).to.equal(404)
  })
})

// [Errors 3]
describe('traps: account scopes of a vendor platform are invalid_scope, whatever else is wrong (Errors 3)', () => {
  const asked = {
    client_id: 'integration-claude',
    redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
    scope: 'openid account:read',
    resource: undefined,
  }
  const errorAt = async (url: string, fields = {}) => {
    const { pathname, search } = authorizeUrl(url, { ...asked, ...fields })
    const { headers } = await send(url, { path: pathname + search })
    return new URL(headers.get('location') ?? '', url).searchParams.get('error')
  }

  it('engine: the missing resource is answered first', async () => {
    expect(await errorAt(bare.url)).to.equal('invalid_target')
  })

  it('service: invalid_scope without a resource, with one, and with a foreign one', async () => {
    expect(await errorAt(service.url)).to.equal('invalid_scope')
    expect(await errorAt(service.url, { resource: service.url })).to.equal('invalid_scope')
    expect(await errorAt(service.url, { resource: 'https://other.example' })).to.equal(
      'invalid_scope',
    )
  })

  it('service: a member client that asks for operator scopes too is refused as a whole [21]', async () => {
    for (const scope of scopeNames('operator')) {
      const mixed = { ...notesRequest, scope: `${MEMBER_SCOPE} ${scope}`, resource: service.url }
      expect(await errorAt(service.url, mixed), scope).to.equal('invalid_scope')
    }
  })

  const notesRequest = { client_id: notes.clientId, redirect_uri: notes.redirectUri }
})

describe('traps: an address has one spelling', () => {
  const spellings = [
    '/API/OAuth/Token',
    '/api/oauth/token/',
    '/API/OAUTH/TOKEN/',
    '/api/oauth/Token',
  ]
  const others = [
    '//api/oauth/token',
    '/api//oauth/token',
    '/api/oauth/token//',
    '/api/oauth/%74oken',
    '/api/oauth/./token',
    '/api/oauth/x/../token',
    '/api/oauth/%2e/token',
    '/api/oauth/token%2f',
    '/api/oauth/token;x=1',
    '/api/oauth/token%00',
    '/api\\oauth\\token',
  ]

  it('engine: letter case and a last slash do not matter', async () => {
    for (const path of spellings) {
      expect((await postForm(bare.url + path, {})).status, path).to.equal(400)
    }
  })

  for (const path of [...spellings, ...others]) {
    it(`service: POST ${path} is not found`, async () => {
      expect((await postForm(service.url + path, {})).status).to.equal(404)
    })
  }

  it('service: the one spelling answers, with a query too', async () => {
    expect((await postForm(service.url + paths.token, {})).status).to.equal(400)
    expect((await postForm(`${service.url}${paths.token}?x=1`, {})).status).to.equal(400)
  })
})

describeOnServers('traps: Redis that does not answer is 503 soon (design 24)', () => {
  const WAIT_MS = 2000
  const attempt = async (url: string) =>
    await fetch(url + paths.token, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: 'x'.repeat(43),
        redirect_uri: portal.redirectUri,
        code_verifier: 'v'.repeat(43),
      }),
      headers: { authorization: `Basic ${btoa(`${portal.clientId}:${portal.clientSecret}`)}` },
      signal: AbortSignal.timeout(WAIT_MS),
    })

  it('engine: a request waits as long as a Redis that hangs', async function () {
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    const connection = new Redis(redis.port, '127.0.0.1')
    await using engine = await startBareEngine(() => redisAdapter(connection))
    redis.freeze()
    try {
      const answer = await attempt(engine.url).catch((error: Error) => error.name)
      expect(answer).to.equal('TimeoutError')
    } finally {
      redis.thaw()
      connection.disconnect()
    }
  })

  it('service: it is told to come back within the time limit', async function () {
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    await using own = await startService({
      inTime: true,
      environment: { REDIS_URL: redis.url, SECRET: 'only-for-tests-only-for-tests-only-for-tests' },
    })
    redis.freeze()
    try {
      const answer = await attempt(own.url)
      expect(answer.status).to.equal(503)
      expect(answer.headers.get('retry-after')).to.equal('1')
      expect(answer.headers.has('www-authenticate')).to.equal(false)
      expect(await answer.json()).to.have.property('error', 'temporarily_unavailable')
    } finally {
      redis.thaw()
    }
  })

  function redisAdapter(connection: Redis): Adapter {
    const find = async (id: string) => {
      const stored = await connection.get(id)
      return stored === null ? undefined : JSON.parse(stored)
    }
    const nothing = async () => undefined
    return {
      ...{ find, findByUid: find, findByUserCode: find },
      ...{ upsert: nothing, consume: nothing, destroy: nothing, revokeByGrantId: nothing },
    }
  }
})

describe('traps: the token of a member works at UserInfo (design 4)', () => {
  it('engine: a token bound to the origin is refused there, and the answer names fewer scopes', async () => {
    const { accessToken, answer } = await obtainTokens(bare.url)
    expect((await userinfo(bare.url, accessToken)).status).to.equal(403)
    expect(answer['scope']).to.equal('account:read')
  })

  // [RFC 6749 §3.3]
  it('service: it is accepted, and `scope` names all that was granted', async () => {
    const { accessToken, answer } = await obtainTokens(service.url)
    const claims = await userinfo(service.url, accessToken)
    expect([claims.status, claims.body['sub']]).to.deep.equal([200, 'per_sam'])
    expect(String(answer['scope']).split(' ')).to.have.members(MEMBER_SCOPE.split(' '))
    const active = (await introspect(service.url, accessToken)).body
    expect(active['aud']).to.equal(service.url)
  })
})

// [Token 3.2; 73]
describe('traps: a refresh carries no id_token (Token)', () => {
  it('engine: it does', async () => {
    const { refreshToken } = await obtainTokens(bare.url)
    expect((await refresh(bare.url, refreshToken)).body).to.have.property('id_token')
  })

  // [OpenID Connect Core §12.2]
  it('service: it does not', async () => {
    const { refreshToken } = await obtainTokens(service.url)
    const answer = await refresh(service.url, refreshToken)
    expect(answer.status).to.equal(200)
    expect(answer.body).to.not.have.property('id_token')
  })
})

describe('traps: redirect_uri is required at both endpoints (Authorization; Token; design 19) [55]', () => {
  const asked = {
    client_id: portal.clientId,
    redirect_uri: portal.redirectUri,
    scope: 'openid',
    resource: undefined,
  }
  const authorize = async (url: string) => {
    const { pathname, search } = authorizeUrl(url, { ...asked, redirect_uri: undefined })
    return await send(url, { path: pathname + search })
  }
  const exchange = async (url: string) => {
    const { form } = await obtainCode(url, asked)
    const { clientSecret: client_secret } = portal
    const complete = { ...form, client_secret }
    const without = await postForm(url + paths.token, { ...complete, redirect_uri: undefined })
    return { without, complete }
  }

  it('engine: one registered address may be left out', async () => {
    expect((await authorize(bare.url)).status).to.equal(303)
    await using engine = await startBareEngine()
    // The code must have been asked for without it too.
    const request = { ...asked, redirect_uri: portal.redirectUri }
    const { form } = await obtainCode(engine.url, request)
    const { clientSecret: client_secret } = portal
    const bareForm = { ...form, client_secret, redirect_uri: undefined }
    expect((await postForm(engine.url + paths.token, bareForm)).status).to.equal(200)
  })

  // [RFC 6749 §3.1.2.3; RFC 6749 §4.1.3; Authorization 3]
  it('service: neither endpoint takes a request without it, and the person is sent nowhere', async () => {
    const answer = await authorize(service.url)
    expect(answer.status).to.equal(400)
    expect(answer.headers.get('location')).to.equal(null)
    const { without } = await exchange(service.url)
    expect(refusalOf(without)).to.be.oneOf(['400 invalid_request', '400 invalid_grant'])
  })
})

describe('traps: POST to the authorization endpoint [OpenID Connect Core §3.1.2.1; design 18] [29]', () => {
  it('engine: it is not found', async () => {
    expect((await postForm(bare.url + paths.authorization, {})).status).to.equal(404)
  })

  // [OpenID Connect Core §3.1.2.1]
  it('service: a form is sent on to GET with the same parameters', async () => {
    const start = authorizeUrl(service.url)
    const answer = await send(service.url, {
      ...{ method: 'POST', path: paths.authorization, headers: FORM },
      body: start.searchParams.toString(),
    })
    expect(answer.status).to.equal(303)
    const target = new URL(answer.headers.get('location') ?? '', service.url)
    expect(target.pathname).to.equal(paths.authorization)
    expect([...target.searchParams]).to.deep.equal([...start.searchParams])
  })

  it('service: JSON is refused as the wrong kind of body', async () => {
    const answer = await send(service.url, {
      ...{ method: 'POST', path: paths.authorization, body: '{"response_type":"code"}' },
      headers: ['Content-Type', 'application/json', 'Accept', 'application/json'],
    })
    expect(refusalOf(answer)).to.equal('415 invalid_request')
  })

  it('service: nothing in a form becomes a header of the answer', async () => {
    const answer = await send(service.url, {
      ...{ method: 'POST', path: paths.authorization, headers: FORM },
      body: 'state=a\r\nSet-Cookie: evil=1\r\n\r\n<script>',
    })
    expect(answer.headers.get('set-cookie')).to.equal(null)
    expect(answer.status).to.be.oneOf([303, 400])
    expect(answer.headers.get('location') ?? '').to.not.match(/[\r\n<]/)
  })
})

describe('traps: every spelling of the origin is one resource (design 3) [17]', () => {
  it('engine: a slash at the token endpoint alone makes it another resource', async () => {
    const { form } = await obtainCode(bare.url)
    const answer = await postForm(bare.url + paths.token, { ...form, resource: `${bare.url}/` })
    expect(refusalOf(answer)).to.equal('400 invalid_target')
  })

  it('service: any spelling goes with any other, and the token says the origin without a slash', async () => {
    const { url } = service
    const spellings = [url, `${url}/`, `${url}/mcp`, `${url}/member/graphql`, url.toUpperCase()]
    for (const [position, authorized] of spellings.entries()) {
      const repeated = spellings.at(position - 1) ?? url
      const { form } = await obtainCode(url, { resource: authorized })
      const answer = await postForm(url + paths.token, { ...form, resource: repeated })
      expect(answer.status, `${authorized} then ${repeated}: ${answer.text}`).to.equal(200)
      const active = await introspect(url, String(answer.body['access_token']))
      expect(active.body['aud']).to.equal(url)
    }
  })
})

describe('traps: discovery advertises what is true and nothing else (design 20)', () => {
  const untrue = [
    'pushed_authorization_request_endpoint',
    'dpop_signing_alg_values_supported',
    'device_authorization_endpoint',
    'backchannel_authentication_endpoint',
    'check_session_iframe',
  ]

  it('engine: it advertises pushed requests and DPoP by itself', async () => {
    const document = await readDiscovery(bare.url)
    expect(untrue.filter((name) => name in document)).to.include.members(untrue.slice(0, 2))
  })

  it('service: it does not, and lists every scope', async () => {
    const document = await readDiscovery(service.url)
    expect(untrue.filter((name) => name in document)).to.deep.equal([])
    expect(document['scopes_supported']).to.have.members(scopeNames())
    expect(document['token_endpoint_auth_methods_supported']).to.have.members([
      'none',
      'client_secret_post',
    ])
  })

  it('service: no endpoint that it does not advertise answers (design 25)', async () => {
    const absent = ['/request', '/device/auth', '/backchannel', '/agent/auth', '/agent/identity']
    for (const path of absent) {
      expect((await postForm(service.url + path, {})).status, path).to.equal(404)
    }
  })
})

describe('traps: a browser application may use the token endpoint (design 28) [33, 75]', () => {
  const origin = ['Origin', 'https://inspector.example']

  it('engine: another origin is refused', async () => {
    const { form } = await obtainCode(bare.url)
    const answer = await postForm(bare.url + paths.token, form, origin)
    expect(refusalOf(answer)).to.equal('400 invalid_request')
  })

  it('service: a public client is answered, without credentials', async () => {
    const { form } = await obtainCode(service.url)
    const answer = await postForm(service.url + paths.token, form, origin)
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('access-control-allow-origin')).to.be.oneOf([
      '*',
      'https://inspector.example',
    ])
    expect(answer.headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('service: a confidential client is not', async () => {
    const answer = await postForm(
      service.url + paths.token,
      {
        ...{ grant_type: 'refresh_token', refresh_token: 'x' },
        ...{ client_id: portal.clientId, client_secret: portal.clientSecret },
      },
      origin,
    )
    expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
  })

  // [RFC 9700 §2.6; 33]
  it('service: the authorization endpoint and its pages have no CORS at all', async () => {
    const { pathname, search } = authorizeUrl(service.url)
    const preflight = ['Access-Control-Request-Method', 'GET']
    for (const method of ['GET', 'OPTIONS']) {
      const headers = [...origin, ...preflight]
      const answer = await send(service.url, { method, path: pathname + search, headers })
      const cors = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))
      expect(cors, method).to.deep.equal([])
    }
  })
})

describe('traps: a client sees its own tokens only (design 13) [87]', () => {
  it("engine: any confidential client is told about any client's token", async () => {
    const { accessToken } = await obtainTokens(bare.url)
    expect((await introspect(bare.url, accessToken, asPortal)).body['active']).to.equal(true)
  })

  it('service: a stranger learns that the token is inactive and nothing more', async () => {
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    for (const token of [accessToken, refreshToken]) {
      expect((await introspect(service.url, token, asPortal)).body).to.deep.equal({ active: false })
      expect((await introspect(service.url, token)).body['active']).to.equal(true)
    }
  })

  it('service: a public client is told about its own tokens, and about no others', async () => {
    const own = await obtainTokens(service.url)
    const vendor = await obtainTokens(
      service.url,
      {
        client_id: 'integration-claude',
        redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
        scope: 'openid',
        resource: undefined,
      },
      olivia,
    )
    const asNotes = async (token: string) => {
      const fields = { token, client_id: notes.clientId }
      return (await postForm(service.url + paths.introspection, fields)).body
    }
    expect((await asNotes(own.accessToken))['active']).to.equal(true)
    expect(await asNotes(vendor.accessToken)).to.deep.equal({ active: false })
  })
})
