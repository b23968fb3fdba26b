import { setTimeout as delay } from 'node:timers/promises'

import fc from 'fast-check'
import { Redis } from 'ioredis'

import { readConfig, type ServicePolicy } from '../src/config/config.ts'
import { addressOf, enginePages, forwardAuthFor, pages, paths } from '../src/platform/http/paths.ts'
import { limitsInForce, limitTable } from '../src/platform/limits/limit-table.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import { WindowCounts } from '../src/platform/limits/window-counts.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { openSharedCounts, type SharedCounts } from '../src/platform/store/shared-counts.ts'
import { startOperator } from './support/admin-api.ts'
import { asPortal, authorizeUrl, introspect, refresh, userinfo } from './support/client.ts'
import { patiently } from './support/database.ts'
import {
  configFolder,
  policyWith,
  portal,
  resourceServer,
  sam,
  startService,
  startWith,
} from './support/gatehouse.ts'
import { callTool } from './support/mcp.ts'
import { askMember, memberToken } from './support/member-api.ts'
import { makePagePerson } from './support/page-person.ts'
import { byAssertion, giveKey, makeClientKey, signAssertion } from './support/proofs.ts'
import { startRedis } from './support/redis.ts'
import { limitRows } from './support/reference-data.ts'
import { getTokens } from './support/relying-party.ts'
import { shared } from './support/shared.ts'
import { describeOnServers, requireProgram } from './support/skipped.ts'
import { postgresWithDemo, sharedService } from './support/storages.ts'
import { basic, FORM, get, postForm, send, sendBytes } from './support/wire.ts'

const { service: configured } = readConfig({}, configFolder)
const address = '192.0.2.1'

const withLimits = (limits: Partial<ServicePolicy['limits']>) => policyWith({ limits })

const statusesOf = async (length: number, ask: (turn: number) => Promise<{ status: number }>) =>
  await Array.fromAsync({ length }, async (_, turn) => (await ask(turn)).status)

describe('limits: counts in one process', () => {
  it('end with their window, which starts with the first count of a key', () => {
    let nowMs = 1_000_000
    const counts = new WindowCounts(60_000, () => nowMs)
    counts.add('one', 3)
    nowMs += 30_000
    counts.add('two', 1)
    counts.add('one', 2)
    nowMs += 29_999
    expect(counts.find('one')?.points).to.equal(5)
    nowMs += 1
    expect(counts.find('one')).to.equal(undefined)
    expect(counts.find('two')?.points).to.equal(1)
    nowMs += 30_000
    expect(counts.find('two')).to.equal(undefined)
  })

  it('are never below the real count of a key, whatever other keys do', () => {
    const action = fc.record({
      key: fc.integer({ min: 0, max: 30 }).map(String),
      points: fc.integer({ min: 1, max: 5 }),
      waitMs: fc.integer({ min: 0, max: 400 }),
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
        let nowMs = 0
        const counts = new WindowCounts(1000, () => nowMs, 4)
        const windows = new Map<string, { endsAtMs: number; points: number }>()
        for (const { key, points, waitMs } of actions) {
          nowMs += waitMs
          const known = windows.get(key) ?? { endsAtMs: 0, points: 0 }
          const open = known.endsAtMs > nowMs ? known : { endsAtMs: nowMs + 1000, points: 0 }
          const did = { ...open, points: open.points + points }
          windows.set(key, did)
          counts.add(key, points)
          expect(Number(counts.find(key)?.points)).to.be.at.least(did.points)
        }
        expect(counts.size).to.be.at.most(8)
      }),
    )
  })

  it('are not evicted by the counts of a hundred thousand other keys', () => {
    const counts = new WindowCounts(60_000, () => 1)
    counts.add('own', 7)
    for (let turn = 0; turn < 100_000; turn += 1) counts.add(`other ${turn}`, 1)
    expect(counts.find('own')?.points).to.equal(7)
    expect(counts.size).to.equal(10_000)
    expect(counts.find('never seen')?.points ?? 0, 'cells are shared').to.be.below(20)
  })

  it('decrease by the points that are given back, also in shared cells [186]', async () => {
    const limits = makeLimits({ policy: configured, shared: undefined, now: () => 1 })
    // An attacker with many networks can start many attempts. A service that is too busy gives back their points.
    for (let attempt = 0; attempt < 300_000; attempt += 1) {
      await limits.takeTogether('attemptsOfPair', `attacker ${attempt}`)
      await limits.giveBack('attemptsOfPair', `attacker ${attempt}`)
    }
    for (let person = 0; person < 100; person += 1)
      expect(await limits.takeTogether('attemptsOfPair', `person ${person}`)).to.equal(undefined)
  })

  it('start at zero when points of the previous window are given back', async () => {
    let nowMs = 1
    const sent: number[] = []
    const shared: SharedCounts = {
      add: async (counts) => {
        sent.push(...counts.map(({ points }) => points))
        return counts.map(({ windowSeconds }) => ({ points: 1, msLeft: windowSeconds * 1000 }))
      },
    }
    const limits = makeLimits({ policy: configured, shared, now: () => nowMs })
    await limits.takeTogether('attemptsOfAddress', address)
    nowMs += configured.signIn.failureWindowSeconds * 1000
    await limits.giveBack('attemptsOfAddress', address)
    expect(sent).to.deep.equal([1])
  })
})

type SharedStore = AsyncDisposable & { readonly counts: SharedCounts | undefined }

function processesSuite(open: (this: Mocha.Context) => Promise<SharedStore>): void {
  const store = shared(open)
  const policy = withLimits({ userinfoPerPersonMax: 32 })(configured)
  const make = (changed = policy) =>
    makeLimits({ policy: changed, shared: store().counts, now: Date.now })

  it('share their counts in one exchange', async () => {
    const [one, two] = [make(), make()]
    for (const limits of [one, two]) {
      for (let turn = 0; turn < 16; turn += 1)
        expect(limits.take('userinfo', 'p')).to.equal(undefined)
    }
    await one.exchange()
    await two.exchange()
    expect(two.exceeded('userinfo', 'p')?.waitSeconds).to.be.within(1, 60)
    expect(one.exceeded('userinfo', 'p'), 'before its next exchange').to.equal(undefined)
    one.count('userinfo', 'p')
    await one.exchange()
    expect(one.exceeded('userinfo', 'p')?.limit.name).to.equal('userinfo')
    expect(two.exceeded('userinfo', 'q')).to.equal(undefined)
  })

  it('count expensive actions together at once, and admit exactly the maximum', async () => {
    const processes = [make(), make()]
    const max = configured.registration.registrationsPerAddressMax
    const asked = Array.from({ length: max + 20 }, (_, turn) =>
      processes[turn % 2]?.takeTogether('registrations', address),
    )
    const free = (await Promise.all(asked)).filter((exceeded) => exceeded === undefined)
    expect(free).to.have.length(max)
  })

  it('start again when the window of the store has ended', async () => {
    const registration = { registrationsPerAddressMax: 1, registrationWindowSeconds: 1 }
    const limits = make(policyWith({ registration })(policy))
    expect(await limits.takeTogether('registrations', 'x')).to.equal(undefined)
    expect((await limits.takeTogether('registrations', 'x'))?.waitSeconds).to.equal(1)
    await delay(1100)
    expect(await limits.takeTogether('registrations', 'x')).to.equal(undefined)
  })
}

describeOnServers('limits: two processes with Redis', () =>
  processesSuite(async function () {
    const server = await startRedis(requireProgram(this, 'redis-server'))
    const redis = new Redis(server.port, '127.0.0.1')
    return {
      counts: openSharedCounts({ database: { engine: 'sqlite' } as Database, redis }, false),
      async [Symbol.asyncDispose]() {
        redis.disconnect()
        await server[Symbol.asyncDispose]()
      },
    }
  }),
)

describeOnServers('limits: two processes with PostgreSQL', () =>
  processesSuite(async function () {
    const { DATABASE_URL: url } = await postgresWithDemo(requireProgram(this, 'postgres'))
    const database = await openDatabase({ kind: 'postgres', url, connectionsMax: 4 }, patiently)
    return { ...database, counts: openSharedCounts({ database, redis: undefined }, false) }
  }),
)

it('limits: an unavailable store does not lift limits or delay requests', async () => {
  const shared = { add: async () => await Promise.reject(new Error('out of reach')) }
  const policy = withLimits({ userinfoPerPersonMax: 16 })(configured)
  const limits = makeLimits({ policy, shared, now: Date.now })
  for (let turn = 0; turn < 16; turn += 1) {
    expect(limits.take('userinfo', 'p')).to.equal(undefined)
    await limits.exchange()
  }
  expect(limits.take('userinfo', 'p')?.limit.max).to.equal(16)
  for (let turn = 0; turn < configured.registration.registrationsPerAddressMax; turn += 1)
    expect(await limits.takeTogether('registrations', address)).to.equal(undefined)
  expect(await limits.takeTogether('registrations', address)).to.not.equal(undefined)
})

it('limits: an exchange reports the points of a failed one, and the next reports those added meanwhile', async () => {
  const sent: number[] = []
  let fails = true
  const shared: SharedCounts = {
    add: async (counts) => {
      sent.push(...counts.map(({ points }) => points))
      limits.count('userinfo', 'p', 3)
      if (fails) throw new Error('out of reach')
      return counts.map(() => ({ points: 100, msLeft: 60_000 }))
    },
  }
  const policy = withLimits({ userinfoPerPersonMax: 16 })(configured)
  const limits = makeLimits({ policy, shared, now: Date.now })
  limits.count('userinfo', 'p', 2)
  await limits.exchange()
  fails = false
  for (let turn = 0; turn < 2; turn += 1) await limits.exchange()
  expect(sent).to.deep.equal([2, 5, 3])
})

describe('limits: 429', () => {
  const few = { userinfoPerPersonMax: 2, changesPerPersonMax: 4, downloadsPerAddressMax: 11 }
  const limited = sharedService({ policy: withLimits(few) })

  it('names the limit and the wait, readable by pages of other origins', async () => {
    await using service = await startWith({ limits: { tokenFailurePointsPerAddressMax: 3 } })
    const origin = ['Origin', 'https://app.example', 'Authorization', 'Bearer nothing']
    const ask = async () => await get(service.url + paths.userinfo, origin)
    expect((await ask()).status).to.equal(401)
    const { status, headers } = await ask()
    expect(status).to.equal(429)
    const wait = Number(headers.get('retry-after'))
    expect(wait).to.be.within(1, 60)
    const headersOf = (names: string) => names.split(' ').map((name) => headers.get(name))
    const limit = [`"token-failures";r=0;t=${wait}`, '"token-failures";q=3;w=60']
    expect(headersOf('ratelimit ratelimit-policy www-authenticate')).to.deep.equal([...limit, null])
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(headers.get('access-control-expose-headers')).to.include('RateLimit')
  })

  it('answers OPTIONS too where the endpoint treats it like other methods', async () => {
    await using service = await startWith({ limits: { oauthFailurePointsPerAddressMax: 20 } })
    const { url } = service
    const [, wrong = ''] = basic(resourceServer.clientId, 'guessed')
    const headers = ['X-Forward-Auth-Client', wrong, 'Authorization', 'Bearer x']
    const guess = async (path: string) => await send(url, { method: 'OPTIONS', path, headers })
    const tries = [paths.forwardAuth, `${forwardAuthFor}page`]
    const statuses = await statusesOf(4, async (turn) => await guess(tries[turn % 2] ?? ''))
    expect(statuses).to.deep.equal([400, 400, 429, 429])
    expect((await guess(paths.token)).status, 'a preflight').to.not.equal(429)
  })

  it('is a page at the authorization endpoint, not a redirect', async () => {
    await using service = await startWith({ limits: { authorizationKilobytesPerAddressMax: 2 } })
    const { pathname, search } = authorizeUrl(service.url)
    const ask = (query = search) => send(service.url, { path: pathname + query })
    expect((await ask()).status).to.equal(303)
    expect((await ask(`${search}&state=${'s'.repeat(3000)}`)).status).to.equal(303)
    const { status, headers, text } = await ask()
    expect([status, headers.get('location')]).to.deep.equal([429, null])
    expect(headers.get('content-type')).to.match(/^text\/html/)
    expect(text).to.include('Wait a minute, then reload the page.')
    const signOut = await send(service.url, { path: paths.endSession })
    expect(signOut.status, 'the sign-out').to.equal(429)
  })

  it('comes before the body and any store is read', async () => {
    const limits = { oauthFailurePointsPerAddressMax: 1, verificationPointsPerAddressMax: 1 }
    await using service = await startWith({ limits })
    const wrong = { method: 'POST', path: paths.token, headers: FORM, body: 'a=b' }
    await send(service.url, wrong)
    await send(service.url, wrong)
    const head = `POST ${paths.token} HTTP/1.1\r\nHost: x\r\n${FORM.join(': ')}\r\n`
    const received = await sendBytes(service.url, `${head}Content-Length: 1000\r\n\r\n`)
    expect(received).to.match(/^HTTP\/1\.1 429 /)
  })

  // [RFC 8414 §6.2; RFC 9700 §4.13; threat 37]
  it('counts by client address behind a trusted proxy only, and by IPv6 /64 [212]', async () => {
    const statusesBy = { yes: [401, 429, 401], no: [401, 429, 429] }
    for (const [TRUST_PROXY, expected] of Object.entries(statusesBy)) {
      const limits = { tokenFailurePointsPerAddressMax: 3 }
      await using service = await startWith({ limits }, { environment: { TRUST_PROXY } })
      const addresses = ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1']
      const statuses = await statusesOf(3, async (turn) => {
        return await get(service.url + paths.userinfo, ['X-Forwarded-For', addresses[turn] ?? ''])
      })
      expect(statuses, TRUST_PROXY).to.deep.equal(expected)
    }
  })

  it('counts people by client, at any address', async () => {
    const { url } = limited()
    const token = await memberToken(url)
    const statuses = await statusesOf(3, async () => await userinfo(url, token))
    expect(statuses).to.deep.equal([200, 200, 429])
    const graphql = await askMember({ url, token }, { query: '{ viewer { id } }' })
    expect(graphql.status, 'another limit').to.equal(200)
  })

  // Preparing a document costs points unless it is cached. Invalid and long documents are not cached.
  for (const [what, max, query, expected] of [
    ['operations by their cost', 4, () => '{ viewer { id name email } }', [200, 429]],
    ['operations that cost almost nothing', 800, () => '{ __typename }', [200, 200, 200, 429]],
    ['unknown fields', 1500, (turn: number) => `{ nothing${turn} }`, [200, 200, 200, 429]],
    ['new documents', 1500, (turn: number) => `{ viewer { id } } # ${turn}`, [200, 200, 200, 429]],
    ['long documents', 1500, () => `{ ${'viewer { id } '.repeat(300)} }`, [400, 400, 400, 429]],
    ['cached documents, at little cost', 1500, () => '{ viewer { id } }', [200, 200, 200, 200]],
  ] as const) {
    it(`counts the cost of GraphQL: ${what}`, async () => {
      await using service = await startWith({ limits: { memberApiCostPerPersonMax: max } })
      const token = await memberToken(service.url)
      const address = { url: service.url, token }
      for (const [turn, wanted] of expected.entries()) {
        const { status, body } = await askMember(address, { query: query(turn) })
        expect(status, `request ${turn}`).to.equal(wanted)
        if (status === 429) expect(body.errors[0].extensions.code).to.equal('TOO_MANY_REQUESTS')
      }
    })
  }

  it('counts each mutation of a document, from any client, but no queries', async () => {
    const [one, other] = [await startOperator(limited()), await startOperator(limited())]
    const change = (place: number) => `a${place}: updateSite(input: { name: "N${place}" }) { id }`
    const three = `mutation { ${change(1)} ...more } fragment more on Mutation { ${change(2)} ${change(3)} }`
    const query = '{ site { name } }'
    for (const ask of [() => one.ask(three), () => one.ask(query), () => other.ask(three)])
      expect((await ask()).status).to.equal(200)
    const { status, headers, body } = await one.ask(three)
    const code = body.errors?.[0]?.extensions?.['code']
    expect([status, code]).to.deep.equal([429, 'TOO_MANY_REQUESTS'])
    expect(headers.get('ratelimit-policy')).to.equal('"changes";q=4;w=60')
    expect((await other.ask(three)).status).to.equal(429)
    const { url, token } = other
    const values = { name: 'N4' }
    expect((await callTool(url, 'update_site', { token, values })).status).to.equal(429)
    expect((await callTool(url, 'get_site', { token })).status).to.equal(200)
    expect((await other.ask(query)).status).to.equal(200)
  })

  it('covers pages without a sign-in, but not public documents', async () => {
    await using service = await startWith({ limits: { pagesPerAddressMax: 1 } })
    const statusOf = async (path: string) => (await send(service.url, { path })).status
    const { connectHome, account, admin, providerCallback } = pages
    expect(await statusOf(connectHome)).to.equal(200)
    const callback = providerCallback.replace(':provider', 'x')
    for (const path of [connectHome, account, admin, enginePages.signedOut, callback])
      expect(await statusOf(path), path).to.equal(429)
    for (const path of [pages.welcome, paths.openApi, paths.adminSchema, paths.health])
      expect(await statusOf(path), path).to.equal(200)
  })

  it('comes ten times sooner for links that do not exist', async () => {
    const path = pages.download.replace(':token', 'x').replace(':name', 'y')
    const statuses = await statusesOf(3, async () => await send(limited().url, { path }))
    expect(statuses).to.deep.equal([404, 404, 429])
  })
})

describe('limits: clients', () => {
  it('are counted only when they authenticate', async () => {
    await using service = await startWith({ limits: { requestsPerClientMax: 12 } })
    const ask = async (clientSecret: string) =>
      await postForm(service.url + paths.token, {
        ...{ client_id: portal.clientId, client_secret: clientSecret },
        ...{ grant_type: 'refresh_token', refresh_token: 'x', resource: service.url },
      })
    const wrong = await statusesOf(20, async () => await ask('wrong'))
    expect(new Set(wrong)).to.deep.equal(new Set([401]))
    for (let turn = 0; turn < 3; turn += 1)
      expect((await ask(portal.clientSecret)).body.error).to.equal('invalid_grant')
    const { status, body, headers } = await ask(portal.clientSecret)
    expect([status, body.error]).to.deep.equal([429, 'too_many_requests'])
    expect(headers.get('ratelimit-policy')).to.equal('"requests-of-client";q=12;w=60')
    expect((await introspect(service.url, 'x')).status, 'another client').to.equal(200)
  })

  const evil = ['Origin', 'https://evil.example']
  for (const [what, headers, client_secret] of [
    ['by a page', evil, undefined],
    ['by a page, with a wrong secret', evil, 'wrong'],
    ['with a second kind of authentication', ['OAuth-Client-Attestation-PoP', 'x'], undefined],
  ] as const) {
    for (const path of [paths.token, paths.revocation]) {
      it(`are not counted when named ${what}, at ${path} [153]`, async () => {
        const limits = { requestsPerClientMax: 12, oauthFailurePointsPerAddressMax: 25 }
        await using service = await startWith({ limits })
        const { clientId: client_id, clientSecret } = portal
        const form = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x', client_id }
        const post = async (secret?: string) =>
          await postForm(service.url + path, { ...form, client_secret: secret }, headers)
        const statuses = await statusesOf(20, async () => await post(client_secret))
        expect(new Set(statuses)).to.deep.equal(new Set([400]))
        const own = await postForm(service.url + path, { ...form, client_secret: clientSecret })
        expect(own.body.error).to.not.equal('too_many_requests')
        for (let turn = 0; turn < 6; turn += 1) await post()
        expect((await post()).status).to.equal(429)
      })
    }
  }

  it('are counted when they authenticate with a key', async () => {
    const furtherPlans = { privateKeyJwt: true }
    const policy = policyWith({ limits: { requestsPerClientMax: 4 }, furtherPlans })
    await using service = await startService({ policy })
    const key = await giveKey(service, await makeClientKey())
    const statuses = await statusesOf(5, async () => {
      const assertion = byAssertion(await signAssertion(key, service.url))
      return await postForm(service.url + paths.revocation, { token: 'x', ...assertion })
    })
    expect(statuses).to.deep.equal([200, 200, 200, 200, 429])
  })

  it('refresh a grant up to the maximum, and keep the grant', async () => {
    await using service = await startWith({ limits: { refreshesPerPersonMax: 2 } })
    let token = (await getTokens(service.url)).tokens.refresh_token ?? ''
    for (let turn = 0; turn < 2; turn += 1)
      token = (await refresh(service.url, token)).body.refresh_token
    expect((await refresh(service.url, token)).status).to.equal(429)
    expect((await introspect(service.url, token)).body.active).to.equal(true)
  })
})

it('limits: introspection limits random tokens of a client, without counting failed authentication (weakness 16)', async () => {
  await using service = await startWith({ limits: { unknownTokensPerClientMax: 5 } })
  const { url } = service
  const token = await memberToken(url)
  for (let turn = 0; turn < 8; turn += 1)
    expect((await introspect(url, 'x', { client_secret: 'wrong' })).status).to.equal(401)
  for (let turn = 0; turn < 5; turn += 1) {
    expect((await introspect(url, token)).body.active).to.equal(true)
    expect((await introspect(url, `a-random-value-${turn}`)).body.active).to.equal(false)
  }
  const { status, body, headers } = await introspect(url, 'one-more')
  expect([status, body.error]).to.deep.equal([429, 'too_many_requests'])
  expect(headers.get('ratelimit-policy')).to.equal('"unknown-tokens";q=5;w=60')
  expect((await introspect(url, token, asPortal)).status, 'another client').to.equal(200)
})

it('limits: the table has a row for each setting, and a maximum for each row', () => {
  const settings = Object.values(limitTable).map(({ setting }) => setting)
  const figures = Object.keys(configured.limits).map((name) => `limits.${name}`)
  expect(figures.filter((name) => !settings.some((setting) => setting === name))).to.deep.equal([
    'limits.windowSeconds',
    // This limit is counted in the database (test/invitations.test.ts).
    'limits.invitationsPerSiteAndDayMax',
  ])
  for (const { max } of Object.values(limitsInForce(configured))) expect(max).to.be.at.least(1)
})

/** The documented size limits for form bodies, in bytes: at endpoints, at sign-in pages, and for signed-in people. */
const [atEndpoint = 0, atSignIn = 0, whenSignedIn = 0] =
  limitRows
    .find(([what = '']) => what.startsWith('Form body'))?.[1]
    ?.match(/\d+/g)
    ?.map((figure) => Number(figure) * 1024) ?? []

describe('the documented limits of forms', () => {
  const service = sharedService()

  const form = (bytes: number) => ({
    method: 'POST',
    body: `x=${'x'.repeat(bytes - 2)}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })

  it('apply to an OAuth endpoint', async () => {
    const answerTo = async (bytes: number) =>
      await send(service().url, { path: paths.authorization, ...form(bytes) })
    expect((await answerTo(atEndpoint)).status).to.equal(303)
    expect((await answerTo(atEndpoint + 1)).status).to.equal(413)
  })

  for (const [where, address, limit] of [
    ['a page of a sign-in', addressOf(pages.login, { uid: 'x' }), atSignIn],
    ['a page for signed-in people', pages.removeApp, whenSignedIn],
  ] as const) {
    it(`apply to ${where}`, async () => {
      const person = makePagePerson(service().url, sam)
      await person.visit(pages.account)
      expect((await person.open(address, form(limit))).status).to.equal(403)
      expect((await person.open(address, form(limit + 1))).status).to.equal(413)
    })
  }
})
