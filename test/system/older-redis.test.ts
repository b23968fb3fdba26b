import { pages, paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
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
import { serve } from '../support/serve.ts'
import { shared } from '../support/shared.ts'
import { sharedDemo, sharedRedis } from '../support/storages.ts'
import { get, postForm } from '../support/wire.ts'

/** After kill -9, a Redis that only writes snapshots returns to the state of its last snapshot (docs/security.md). */
describe('a Redis that comes back older', () => {
  const [redis, demo] = [sharedRedis(), sharedDemo()]
  const service = shared(async () => {
    const environment = { ...demo(), REDIS_URL: redis().url }
    return await startService({ ...withPlans({ dpop: true, privateKeyJwt: true }), environment })
  })
  let url = ''
  before(() => {
    url = service().url
  })

  async function forgetting<Result>(use: () => Promise<Result>): Promise<Result> {
    await redis().ask('SAVE')
    const result = await use()
    await redis().restart()
    await eventually(10_000, async () =>
      expect((await get(url + paths.ready)).status).to.equal(200),
    )
    return result
  }

  it('does not revive a session that a person ended, leaves others, and allows a new sign-in', async () => {
    const [{ person }, other] = [await obtainCode(url), await obtainCode(url)]
    const cookie = await cookieOf((address) => person.open(address), paths.authorization)
    expect(await isAskedToSignIn(cookie)).to.equal(false)
    await forgetting(async () => {
      await confirmSignOut(person, new URL(paths.endSession, url))
      expect(await isAskedToSignIn(cookie)).to.equal(true)
    })
    expect(await isAskedToSignIn(cookie)).to.equal(true)
    const silent = authorizeUrl(url, { prompt: 'none' })
    const answer = await fetch(silent, { headers: { cookie }, redirect: 'manual' })
    expect(answer.headers.get('location')).to.include('login_required')
    const others = await cookieOf((address) => other.person.open(address), paths.authorization)
    expect(await isAskedToSignIn(others)).to.equal(false)

    const again = makeHeadlessPerson(sam)
    // A server at another port can set the cookies of this host.
    await using setter = await serve((_request, response) => {
      response
        .setHeader(
          'set-cookie',
          cookie.split('; ').map((pair) => `${pair}; path=/`),
        )
        .end()
    })
    await again.open(new URL(setter.url))
    expect((await openAuthorization(again, url)).pathname).to.match(/\/login$/)
    const callback = await again.authorize(authorizeUrl(url), notes.redirectUri)
    expect(callback.searchParams.get('code')).to.be.a('string')
  })

  it('does not revive a session of our own pages', async () => {
    const person = makePagePerson(url, sam)
    const page = await person.visit(pages.account)
    const cookie = await cookieOf((address) => person.open(address.href), '/')
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
    expect((await postForm(tokenAddress, later, { dpop: exchangeProof })).status).to.equal(400)
    const good = await postForm(tokenAddress, later, { dpop: await proofOf(tokenAddress, 'POST') })
    expect(good.status).to.equal(200)
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
 * Waits for the next second. Proofs and assertions have times in whole seconds, and one from the second in which Redis
 * restarted counts as older than the restart.
 */
async function newSecond(): Promise<void> {
  const begun = Math.floor(Date.now() / 1000)
  await eventually(5_000, async () =>
    expect(Math.floor(Date.now() / 1000)).to.be.greaterThan(begun),
  )
}

/** Returns the cookies that a browser sends to a path. They do not depend on the port. */
async function cookieOf(open: (address: URL) => Promise<unknown>, path: string): Promise<string> {
  let cookie = ''
  await using thief = await serve(({ headers }, response) => {
    cookie = headers.cookie ?? ''
    response.end()
  })
  await open(new URL(path, thief.url))
  return cookie
}
