import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'

import { pages, paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  authorizeUrl,
  exchange,
  introspect,
  obtainCode,
  obtainTokens,
  refresh,
  revoke,
  userinfo,
} from '../support/client.ts'
import { notes, type RunningService, sam, startService } from '../support/gatehouse.ts'
import { makePagePerson } from '../support/page-person.ts'
import { eventually } from '../support/programs.ts'
import {
  ath,
  byAssertion,
  choose,
  giveKeys,
  makeClientKey,
  signAssertion,
  signProof,
  withPlans,
} from '../support/proofs.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'
import { get, postForm } from '../support/wire.ts'

/**
 * A Redis with snapshots only: SAVE, use, kill -9, and it comes back as it was at the SAVE. What was used,
 * revoked or signed out meanwhile is worth nothing all the same (docs/security.md).
 */
describe('a Redis that comes back older', () => {
  const opened = new AsyncDisposableStack()
  let redis: RedisServer
  let service: RunningService
  let url: string

  before(async function () {
    redis = opened.use(await startRedis(requireProgram(this, 'redis-server')))
    const storage = await postgresWithDemo(requireProgram(this, 'postgres'))
    const plans = withPlans({ dpop: true, privateKeyJwt: true })
    service = opened.use(
      await startService({ ...plans, environment: { ...storage, REDIS_URL: redis.url } }),
    )
    url = service.url
  })
  after(() => opened.disposeAsync())

  /** What happens between the snapshot and the crash is forgotten by Redis. */
  async function forgetting(use: () => Promise<void>): Promise<void> {
    await redis.ask('SAVE')
    await use()
    await redis.restart()
    await eventually(10_000, async () => {
      const { status } = await get(`${url}/readyz`)
      if (status !== 200) throw new Error(`readyz answers ${status}`)
    })
  }

  it('does not bring a used code back [design 11]', async () => {
    const { code } = await obtainCode(url)
    let exchanged = { status: 0 }
    await forgetting(async () => {
      exchanged = await exchange(url, code)
    })
    expect(exchanged.status).to.equal(200)
    const again = await exchange(url, code)
    expect([again.status, again.body.error]).to.deep.equal([400, 'invalid_grant'])
  })

  it('does not bring used refresh tokens and revoked tokens back [design 10 and 12]', async () => {
    const [used, revoked, whole] = [
      await obtainTokens(url),
      await obtainTokens(url),
      await obtainTokens(url),
    ]
    let next = ''
    await forgetting(async () => {
      const first = await refresh(url, used.refreshToken)
      next = (await refresh(url, first.body.refresh_token)).body.refresh_token
      await revoke(url, revoked.accessToken)
      await revoke(url, whole.refreshToken)
    })
    expect((await refresh(url, next)).status).to.equal(200)
    expect((await userinfo(url, revoked.accessToken)).status).to.equal(401)
    expect((await introspect(url, revoked.accessToken)).body).to.deep.equal({ active: false })
    expect((await refresh(url, whole.refreshToken)).body.error).to.equal('invalid_grant')
    expect((await userinfo(url, whole.accessToken)).status).to.equal(401)
  })

  it('does not bring a session back that a person signed out of, and leaves the others', async () => {
    const { person } = await obtainCode(url)
    const other = (await obtainCode(url)).person
    const cookie = await cookieOf((address) => person.open(address), paths.authorization)
    expect(await isAskedToSignIn(cookie)).to.equal(false)
    await forgetting(async () => {
      await signOut(person)
      expect(await isAskedToSignIn(cookie)).to.equal(true)
    })
    // Redis has the record again, and the cookie is still right.
    expect(await isAskedToSignIn(cookie)).to.equal(true)
    const silent = authorizeUrl(url, { prompt: 'none' })
    const answer = await fetch(silent, { headers: { cookie }, redirect: 'manual' })
    expect(answer.headers.get('location')).to.include('login_required')
    const others = await cookieOf((address) => other.open(address), paths.authorization)
    expect(await isAskedToSignIn(others)).to.equal(false)
  })

  it('lets a person sign in again in a browser whose session came back', async () => {
    const { person } = await obtainCode(url)
    const cookie = await cookieOf((address) => person.open(address), paths.authorization)
    await forgetting(async () => await signOut(person))
    const again = makeHeadlessPerson(sam)
    await withServer(
      (_request, response) => {
        const lines = cookie.split('; ').map((pair) => `${pair}; path=/`)
        response.setHeader('set-cookie', lines).end()
      },
      async (address) => await again.open(new URL(address)),
    )
    const first = await again.open(authorizeUrl(url))
    expect(first.headers.get('location')).to.match(/\/login$/)
    const callback = await again.authorize(authorizeUrl(url), notes.redirectUri)
    expect(callback.searchParams.get('code')).to.be.a('string')
  })

  it('does not bring a session of our own pages back', async () => {
    const person = makePagePerson(url, sam)
    const page = await person.visit(pages.account)
    const cookie = await cookieOf((address) => person.open(address.href), '/')
    expect(await showsAccount(cookie)).to.equal(true)
    await forgetting(async () => {
      await person.send(page, pages.signOut)
      expect(await showsAccount(cookie)).to.equal(false)
    })
    expect(await showsAccount(cookie)).to.equal(false)
  })

  it('does not take a proof of a key twice (RFC 9449 §11.1)', async () => {
    await newSecond()
    const key = await makeClientKey()
    const { form } = await obtainCode(url)
    const tokenAddress = url + paths.token
    const proofOf = async (htu: string, htm: string, claims = {}) =>
      await signProof(key, { htm, htu, claims })
    const exchangeProof = await proofOf(tokenAddress, 'POST')
    const { body } = await postForm(tokenAddress, form, { dpop: exchangeProof })
    const htu = url + paths.userinfo
    const proof = await proofOf(htu, 'GET', ath(body.access_token))
    const ask = async (shown: string) =>
      await get(htu, { authorization: `DPoP ${body.access_token}`, dpop: shown })
    await forgetting(async () => {
      expect((await ask(proof)).status).to.equal(200)
    })
    const again = await ask(proof)
    expect(again.status).to.equal(401)
    expect(again.headers.get('www-authenticate')).to.include('use_dpop_nonce')
    // The same client makes another one, and goes on.
    await eventually(5_000, async () => {
      const next = await ask(await proofOf(htu, 'GET', ath(body.access_token)))
      if (next.status !== 200) throw new Error(String(next.status))
    })
    // At the token endpoint, where the engine judges.
    const { form: later } = await obtainCode(url)
    const old = await postForm(tokenAddress, later, { dpop: exchangeProof })
    expect(old.status).to.equal(400)
    const good = await postForm(tokenAddress, later, { dpop: await proofOf(tokenAddress, 'POST') })
    expect(good.status).to.equal(200)
  })

  it('does not take an assertion of a client twice (RFC 7523 §3)', async () => {
    await newSecond()
    const key = await makeClientKey()
    await giveKeys(service, [key])
    const { accessToken } = await obtainTokens(url)
    const ask = async (assertion: string) =>
      await postForm(url + paths.introspection, { token: accessToken, ...byAssertion(assertion) })
    const [said, unsaid] = [
      await signAssertion(key, url),
      await signAssertion(key, url, { iat: undefined }),
    ]
    await forgetting(async () => {
      expect((await ask(said)).status).to.equal(200)
    })
    expect((await ask(said)).status).to.equal(401)
    // It does not say when it was made, and may have been used before.
    expect((await ask(unsaid)).status).to.equal(401)
    await eventually(5_000, async () => {
      const { status } = await ask(await signAssertion(key, url))
      if (status !== 200) throw new Error(String(status))
    })
    await choose(service, { auth_method: 'client_secret_post', jwks: null })
  })

  async function isAskedToSignIn(cookie: string): Promise<boolean> {
    const answer = await fetch(authorizeUrl(url), { headers: { cookie }, redirect: 'manual' })
    return /\/login$/.test(answer.headers.get('location') ?? '')
  }

  async function showsAccount(cookie: string): Promise<boolean> {
    const answer = await fetch(url + pages.account, { headers: { cookie }, redirect: 'manual' })
    return answer.status === 200
  }

  async function signOut(person: ReturnType<typeof makeHeadlessPerson>): Promise<void> {
    const text = await (await person.open(new URL(paths.endSession, url))).text()
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
    const body = new URLSearchParams({ xsrf, logout: 'yes' })
    const confirmed = new URL(`${paths.endSession}/confirm`, url)
    expect((await person.open(confirmed, { method: 'POST', body })).status).to.equal(303)
  }
})

/** A proof says its time in whole seconds, and one of the second in which Redis came back counts as older. */
async function newSecond(): Promise<void> {
  const begun = Math.floor(Date.now() / 1000)
  await eventually(5_000, async () => {
    if (Math.floor(Date.now() / 1000) === begun) throw new Error('the same second')
  })
}

/** The cookies that a browser sends below a path, as a thief of them would have them. */
async function cookieOf(open: (address: URL) => Promise<unknown>, path: string): Promise<string> {
  let cookie = ''
  await withServer(
    ({ headers }, response) => {
      cookie = headers.cookie ?? ''
      response.end()
    },
    async (address) => await open(new URL(path, address)),
  )
  return cookie
}

/** A server of another port, which cookies do not tell from the service. */
async function withServer(
  answer: RequestListener,
  visit: (address: string) => Promise<unknown>,
): Promise<void> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  await visit(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  server.close()
  server.closeAllConnections()
}
