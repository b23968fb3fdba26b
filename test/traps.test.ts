import { setTimeout as delay } from 'node:timers/promises'

import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { Adapter } from 'oidc-provider'

import { paths } from '../src/platform/http/paths.ts'
import { startBareEngine } from './support/bare-engine.ts'
import {
  asClaude,
  askToAuthorize,
  asPortal,
  authorizeUrl,
  exchange,
  getCode,
  introspect,
  locationOf,
  makePkce,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  register,
  userinfo,
} from './support/client.ts'
import { notes, startWith } from './support/gatehouse.ts'
import { later } from './support/later.ts'
import { startRedis } from './support/redis.ts'
import { shared } from './support/shared.ts'
import { describeOnServers, requireProgram } from './support/skipped.ts'
import { sharedService } from './support/storages.ts'
import { type Answer, postForm, refusalOf, send } from './support/wire.ts'

const DAY_MS = 86_400_000
const foreign = 'https://other.example'
const evil = 'evil.example'

/** The person consents on day 0 and again on day 10, and the client refreshes on day 15. */
async function refreshAfterSecondConsent(url: string): Promise<Answer> {
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

/** Faults of the engine without our repairs. The comments name the tests of the repair. */
describe('engine traps', () => {
  const bare = shared(async () => await startBareEngine())

  const parallel = async (task: () => Promise<Answer>) => {
    const answers = await Promise.all(Array.from({ length: 20 }, task))
    return answers.filter(({ status }) => status === 200)
  }

  // system/races (design 10, 11)
  it('parallel exchanges of one code all succeed, and parallel refreshes start several families', async () => {
    const code = await obtainCode(bare().url)
    expect(await parallel(() => redeem(bare().url, code))).to.have.length.greaterThan(1)
    const { refreshToken } = await obtainTokens(bare().url)
    const refreshed = await parallel(() => refresh(bare().url, refreshToken))
    expect(new Set(refreshed.map(({ body }) => body.refresh_token)).size).to.be.greaterThan(1)
  })

  // token, hostile/grant (design 3)
  it('a request refused for its resource consumes the code and the refresh token', async () => {
    const { refreshToken } = await obtainTokens(bare().url)
    const refused = await refresh(bare().url, refreshToken, { resource: foreign })
    expect(refusalOf(refused)).to.equal('400 invalid_target')
    expect(refusalOf(await refresh(bare().url, refreshToken))).to.equal('400 invalid_grant')
    const code = await getCode(bare().url)
    const exchanged = await exchange(bare().url, code, { resource: foreign })
    expect(refusalOf(exchanged)).to.equal('400 invalid_target')
    expect(refusalOf(await exchange(bare().url, code))).to.equal('400 invalid_grant')
  })

  // discovery, hostile/connection (design 1)
  it('discovery advertises the host of the request', async () => {
    for (const [path, headers] of [
      [paths.openidConfiguration, ['Host', evil]],
      [`http://${evil}${paths.openidConfiguration}`, []],
    ] as const) {
      const { body } = await send(bare().url, { path, headers })
      expect(body['token_endpoint']).to.equal(`http://${evil}${paths.token}`)
    }
  })

  // below (design 9)
  it('a grant ends before the refresh tokens of a second consent', async () => {
    expect(refusalOf(await refreshAfterSecondConsent(bare().url))).to.equal('400 invalid_grant')
  })

  // access (design 13, 15)
  it('introspection fails for a token of a deleted client', async () => {
    await using engine = await startBareEngine()
    const { accessToken } = await obtainTokens(engine.url)
    engine.records.delete(`Client:${notes.clientId}`)
    expect((await introspect(engine.url, accessToken)).status).to.equal(500)
  })

  // registration-replayed (Client registration)
  it('registration without token_endpoint_auth_method issues a secret', async () => {
    const answer = await register(bare().url, tool)
    expect(answer.status).to.equal(201)
    expect(answer.body).to.have.property('client_secret')
  })

  // authorize (Errors 3)
  it('a missing resource hides that a platform requested account scopes', async () => {
    const fields = { ...asClaude, scope: 'openid account:read', resource: undefined }
    const { searchParams } = locationOf(await askToAuthorize(bare().url, fields))
    expect(searchParams.get('error')).to.equal('invalid_target')
  })

  // addresses, and below
  it('paths ignore letter case and a trailing slash', async () => {
    for (const path of caseAndSlash)
      expect((await postForm(bare().url + path, {})).status, path).to.equal(400)
  })

  // userinfo-answers, token (design 4)
  it('UserInfo refuses a token with an audience, and the response omits granted scopes', async () => {
    const { accessToken, answer } = await obtainTokens(bare().url)
    expect((await userinfo(bare().url, accessToken)).status).to.equal(403)
    expect(answer['scope']).to.equal('account:read')
  })

  // token (Token)
  it('a refresh returns an id_token', async () => {
    const { refreshToken } = await obtainTokens(bare().url)
    expect((await refresh(bare().url, refreshToken)).body).to.have.property('id_token')
  })

  // authorize, token (design 19)
  it('a client with one redirect_uri may omit it', async () => {
    const request = { ...asPortal, scope: 'openid', resource: undefined }
    const omitted = await askToAuthorize(bare().url, { ...request, redirect_uri: undefined })
    expect(omitted.status).to.equal(303)
    const code = await getCode(bare().url, request)
    const exchanged = await exchange(bare().url, code, { ...request, redirect_uri: undefined })
    expect(exchanged.status).to.equal(200)
  })

  // authorize (design 18)
  it('the authorization endpoint does not accept POST', async () => {
    expect((await postForm(bare().url + paths.authorization, {})).status).to.equal(404)
  })

  // authorize (design 3)
  it('a trailing slash makes another resource', async () => {
    const { url } = bare()
    const answer = await exchange(url, await getCode(url), { resource: `${url}/` })
    expect(refusalOf(answer)).to.equal('400 invalid_target')
  })

  // discovery (design 20)
  it('discovery advertises pushed requests and DPoP by default', async () => {
    expect((await send(bare().url, { path: paths.openidConfiguration })).body).to.include.keys(
      'pushed_authorization_request_endpoint',
      'dpop_signing_alg_values_supported',
    )
  })

  // token (design 28)
  it('the token endpoint refuses pages of other origins', async () => {
    const { form } = await obtainCode(bare().url)
    const answer = await postForm(bare().url + paths.token, form, { origin: foreign })
    expect(refusalOf(answer)).to.equal('400 invalid_request')
  })

  // introspection-answers (design 13)
  it('every confidential client may introspect every token', async () => {
    const { accessToken } = await obtainTokens(bare().url)
    const { client_id, client_secret } = asPortal
    const { body } = await introspect(bare().url, accessToken, { client_id, client_secret })
    expect(body['active']).to.equal(true)
  })
})

/** A known program registers as a native client and names no authentication method. */
const tool = {
  ...{ client_name: 'A tool', application_type: 'native' },
  redirect_uris: ['http://127.0.0.1:4711/callback'],
}

const caseAndSlash = ['/API/OAuth/Token', '/api/oauth/token/', '/API/OAUTH/TOKEN/']

describe('engine traps, repaired', () => {
  const service = sharedService()

  it('a grant outlives the refresh tokens of a second consent', async () => {
    // The grant lives 14 days from its last use, as the engine lets it live from its first.
    const lifetimes = { refreshTokenSeconds: 12 * 86_400, refreshTokenAbsoluteSeconds: 12 * 86_400 }
    await using short = await startWith({ lifetimes }, { now: () => Date.now() })
    const answer = await refreshAfterSecondConsent(short.url)
    expect(answer.status, answer.text).to.equal(200)
  })

  for (const headers of [
    ['Host', evil],
    ['Host', '127.0.0.1', 'Host', evil],
    ['X-Forwarded-Host', evil],
    ['X-Forwarded-Proto', 'https'],
    ['Forwarded', `host=${evil};proto=https`],
  ]) {
    // [RFC 8414 §6.2; Endpoints 1]
    it(`${headers.join(' ')} changes nothing in discovery, cookies or redirects`, async () => {
      const { url } = service()
      const plain = await send(url, { path: paths.openidConfiguration })
      const spoofed = await send(url, { path: paths.openidConfiguration, headers })
      expect(spoofed.body).to.deep.equal(plain.body)
      const { pathname, search } = authorizeUrl(url)
      for (const target of ['', `http://${evil}`]) {
        const answer = await send(url, { path: `${target}${pathname}${search}`, headers })
        expect(answer.status).to.equal(303)
        expect(answer.headers.get('location')).to.match(/^\/interaction\//)
        expect(String(answer.headers.get('set-cookie'))).to.not.match(/secure|evil/i)
      }
    })
  }

  it('other spellings of a path are not found', async () => {
    for (const path of [
      ...[...caseAndSlash, '//api/oauth/token', '/api//oauth/token', '/api/oauth/token//'],
      ...['/api/oauth/%74oken', '/api/oauth/./token', '/api/oauth/x/../token'],
      ...['/api/oauth/%2e/token', '/api/oauth/token%2f', '/api/oauth/token;x=1'],
      ...['/api\\oauth\\token', '/api/oauth/token%00'],
    ]) {
      expect((await postForm(service().url + path, {})).status, path).to.equal(404)
    }
    expect((await postForm(`${service().url}${paths.token}?x=1`, {})).status).to.equal(400)
  })
})

// system/outage (design 24)
describeOnServers('engine traps with Redis', () => {
  it('a request waits as long as Redis hangs', async function () {
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    const connection = new Redis(redis.port, '127.0.0.1')
    await using engine = await startBareEngine(() => redisAdapter(connection))
    redis.freeze()
    const code = 'x'.repeat(43)
    try {
      const answer = exchange(engine.url, code, asPortal).then(({ status }) => status)
      expect(await Promise.race([answer, delay(2000)])).to.equal(undefined)
    } finally {
      redis.thaw()
      connection.disconnect()
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
