import { pages, paths } from '../../src/platform/http/paths.ts'
import { openRedis } from '../../src/platform/store/redis.ts'
import {
  judgeDurability,
  readDurability,
  warnOfLoss,
} from '../../src/platform/store/redis-durability.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, obtainCode, obtainTokens, openAuthorization } from '../support/client.ts'
import { notes, sam, startService } from '../support/gatehouse.ts'
import { confirmSignOut, makePagePerson } from '../support/page-person.ts'
import { eventually } from '../support/programs.ts'
import {
  ath,
  byAssertion,
  choose,
  giveKey,
  makeClientKey,
  signAssertion,
  signProof,
  withPlans,
} from '../support/proofs.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { serve } from '../support/serve.ts'
import { shared } from '../support/shared.ts'
import { sharedProgram } from '../support/skipped.ts'
import { sharedDemo, sharedRedis } from '../support/storages.ts'
import { expectAnswer, get, postForm } from '../support/wire.ts'

const appending = ['--appendonly', 'yes']
const always = [...appending, '--appendfsync', 'always']
const evicting = [...always, '--maxmemory', '50mb', '--maxmemory-policy', 'allkeys-lru']
const withoutConfig = '--user default on nopass ~* &* +@all -config'
const WRITES = 7

describe('what a Redis can lose', () => {
  const redis = sharedProgram('redis-server')

  for (const [options, kind, sentence] of [
    [always, 'ok', /keeps all acknowledged writes, even after a power failure/],
    [appending, 'note', /can lose up to 2 s of acknowledged writes if its machine fails/],
    [[...appending, '--appendfsync', 'no'], 'note', /can lose about 30 s of/],
    [[...appending, ...withoutConfig.split(' ')], 'note', /is unknown \(CONFIG is forbidden\)/],
    [[], 'note', /snapshots only \(appendonly no\).*7 changes/],
    [evicting, 'wrong', /evicts .*maxmemory-policy allkeys-lru/],
  ] as const) {
    it(`is found and judged at a server with ${options.join(' ') || 'the defaults'}`, async () => {
      await using server = await startRedis(redis(), options)
      const client = await openRedis({ url: server.url }, { answerWithinMs: 5_000 })
      for (let write = 0; write < WRITES; write += 1) await client.incr('a')
      const remarks = (await readDurability(client)).flatMap(judgeDurability)
      const lines: unknown[] = []
      await warnOfLoss(client, { warn: (line: unknown) => void lines.push(line) })
      client.disconnect()
      expect(remarks.find((remark) => sentence.test(remark.sentence))?.kind).to.equal(kind)
      const bad = remarks.map((remark) => remark.kind).filter((each) => each !== 'ok')
      expect(bad).to.deep.equal(kind === 'ok' ? [] : [kind])
      expect(lines.join('\n')).to.match(kind === 'ok' ? /^$/ : sentence)
    })
  }

  it('is found at each server of a cluster', async () => {
    await using cluster = await startRedisCluster(redis())
    const location = { clusterNodes: cluster.addresses }
    const client = await openRedis(location, { answerWithinMs: 5_000 })
    const found = await readDurability(client)
    client.disconnect()
    expect(found.map(({ address }) => address)).to.have.members(cluster.addresses)
    expect(found.map(({ appends }) => appends)).to.deep.equal([false, false, false])
  })
})

/** After kill -9, a Redis that only writes snapshots returns to the state of its last snapshot (docs/security.md). */
describe('a Redis that comes back with older data', () => {
  const [redis, demo] = [sharedRedis(), sharedDemo()]
  let url = ''
  const service = shared(async () => {
    const environment = { ...demo(), REDIS_URL: redis().url }
    const plans = withPlans({ dpop: true, privateKeyJwt: true })
    const started = await startService({ ...plans, environment })
    url = started.url
    return started
  })

  async function forgetting<Result>(use: () => Promise<Result>): Promise<Result> {
    await redis().ask('SAVE')
    const result = await use()
    await redis().restart()
    await eventually(10_000, async () => expectAnswer(await get(url + paths.ready), 200))
    return result
  }

  it('does not revive a session that a person ended, leaves others, and allows a new sign-in', async () => {
    const [{ person }, other] = [await obtainCode(url), await obtainCode(url)]
    const cookie = await cookieOf(person, paths.authorization)
    expect(await isAskedToSignIn(cookie)).to.equal(false)
    await forgetting(async () => {
      await confirmSignOut(person, new URL(paths.endSession, url))
      expect(await isAskedToSignIn(cookie)).to.equal(true)
    })
    expect(await isAskedToSignIn(cookie)).to.equal(true)
    const silent = authorizeUrl(url, { prompt: 'none' })
    const answer = await fetch(silent, { headers: { cookie }, redirect: 'manual' })
    expect(answer.headers.get('location')).to.include('login_required')
    const others = await cookieOf(other.person, paths.authorization)
    expect(await isAskedToSignIn(others)).to.equal(false)

    const again = makeHeadlessPerson(sam)
    // A server on another port can set the cookies of this host.
    await using setter = await serve((_request, response) => {
      const lines = cookie.split('; ').map((pair) => `${pair}; path=/`)
      response.setHeader('set-cookie', lines).end()
    })
    await again.open(new URL(setter.url))
    expect((await openAuthorization(again, url)).pathname).to.match(/\/login$/)
    const callback = await again.authorize(authorizeUrl(url), notes.redirectUri)
    expect(callback.searchParams.get('code')).to.be.a('string')
  })

  it('does not revive a session of our own pages', async () => {
    const person = makePagePerson(url, sam)
    const page = await person.visit(pages.account)
    const cookie = await cookieOf(person, '/')
    const status = async () =>
      (await fetch(url + pages.account, { headers: { cookie }, redirect: 'manual' })).status
    expect(await status()).to.equal(200)
    await forgetting(async () => {
      await person.send(page, pages.signOut)
      expect(await status()).to.equal(303)
    })
    expect(await status()).to.equal(303)
  })

  it('does not accept a proof of a key twice (RFC 9449 §11.1)', async () => {
    await newSecond()
    const key = await makeClientKey()
    const { form } = await obtainCode(url)
    const tokenAddress = url + paths.token
    const proofOf = async (htu: string, htm: string, claims = {}) =>
      await signProof(key, { htm, htu, claims })
    const exchangeProof = await proofOf(tokenAddress, 'POST')
    const { body } = await postForm(tokenAddress, form, { dpop: exchangeProof })
    const htu = url + paths.userinfo
    const newProof = async () => await proofOf(htu, 'GET', ath(body.access_token))
    const ask = async (dpop: string) =>
      await get(htu, { authorization: `DPoP ${body.access_token}`, dpop })
    const proof = await newProof()
    expect((await forgetting(() => ask(proof))).status).to.equal(200)
    const again = await ask(proof)
    expect(again.status).to.equal(401)
    expect(again.headers.get('www-authenticate')).to.include('use_dpop_nonce')
    await eventually(5_000, async () => expect((await ask(await newProof())).status).to.equal(200))
    // At the token endpoint, the engine checks the proof.
    const { form: later } = await obtainCode(url)
    const redeemWith = async (dpop: string) =>
      (await postForm(tokenAddress, later, { dpop })).status
    expect(await redeemWith(exchangeProof)).to.equal(400)
    expect(await redeemWith(await proofOf(tokenAddress, 'POST'))).to.equal(200)
  })

  it('does not accept an assertion of a client twice (RFC 7523 §3)', async () => {
    await newSecond()
    const key = await giveKey(service(), await makeClientKey())
    const { accessToken } = await obtainTokens(url)
    const statusOf = async (assertion: string) => {
      const form = { token: accessToken, ...byAssertion(assertion) }
      return (await postForm(url + paths.introspection, form)).status
    }
    const used = await signAssertion(key, url)
    expect(await forgetting(() => statusOf(used))).to.equal(200)
    expect(await statusOf(used)).to.equal(401)
    // Without iat, an assertion may be older than the restart of Redis, and may have been used before.
    expect(await statusOf(await signAssertion(key, url, { iat: undefined }))).to.equal(401)
    await eventually(5_000, async () =>
      expect(await statusOf(await signAssertion(key, url))).to.equal(200),
    )
    await choose(service(), { auth_method: 'client_secret_post', jwks: null })
  })

  async function isAskedToSignIn(cookie: string): Promise<boolean> {
    const answer = await fetch(authorizeUrl(url), { headers: { cookie }, redirect: 'manual' })
    return /\/login$/.test(answer.headers.get('location') ?? '')
  }
})

/**
 * Waits for the next second. Proofs and assertions have times in whole seconds, and one from the same second as the
 * restart of Redis counts as older than the restart.
 */
async function newSecond(): Promise<void> {
  const begun = Math.floor(Date.now() / 1000)
  await eventually(5_000, async () =>
    expect(Math.floor(Date.now() / 1000)).to.be.greaterThan(begun),
  )
}

/** Returns the cookies that a browser sends to a path. They do not depend on the port. */
async function cookieOf(person: Pick<HeadlessPerson, 'open'>, path: string): Promise<string> {
  let cookie = ''
  await using thief = await serve(({ headers }, response) => {
    cookie = headers.cookie ?? ''
    response.end()
  })
  await person.open(new URL(path, thief.url))
  return cookie
}
