import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { expect } from 'chai'
import fc from 'fast-check'
import { Redis } from 'ioredis'

import { readConfig, type ServicePolicy } from '../src/config/config.ts'
import { makeAttemptLimits } from '../src/directory/people/attempt-limits.ts'
import { enginePages, forwardAuthFor, pages, paths } from '../src/platform/http/paths.ts'
import { limitsInForce, limitTable } from '../src/platform/limits/limit-table.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import { WindowCounts } from '../src/platform/limits/window-counts.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { openSharedCounts, type SharedCounts } from '../src/platform/store/shared-counts.ts'
import { startOperator } from './support/admin-api.ts'
import { authorizeUrl, introspect, refresh, userinfo } from './support/client.ts'
import { patiently } from './support/database.ts'
import { configFolder, portal, resourceServer, startService } from './support/gatehouse.ts'
import { callTool } from './support/mcp.ts'
import { askMember, memberToken } from './support/member-api.ts'
import { byAssertion, giveKeys, makeClientKey, signAssertion, withPlans } from './support/proofs.ts'
import { startRedis } from './support/redis.ts'
import { getTokens } from './support/relying-party.ts'
import { requireProgram } from './support/skipped.ts'
import { postgresWithDemo } from './support/storages.ts'
import { describeOnServers } from './support/stores-of-run.ts'
import { basic, FORM, get, postForm, send } from './support/wire.ts'

const { service: configured } = readConfig({}, configFolder)
const address = '192.0.2.1'

/** A policy in which some limits are others. */
const withLimits =
  (limits: Partial<ServicePolicy['limits']>) =>
  (policy: ServicePolicy): ServicePolicy => ({ ...policy, limits: { ...policy.limits, ...limits } })

describe('limits: counts in one process', () => {
  it('end with their window, which begins with the first count of a key', () => {
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

  it('are never less than what a key did within a window, whatever others do', () => {
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

  it('of one key are not forgotten for a hundred thousand others', () => {
    const counts = new WindowCounts(60_000, () => 1)
    counts.add('own', 7)
    for (let turn = 0; turn < 100_000; turn += 1) counts.add(`other ${turn}`, 1)
    expect(counts.find('own')?.points).to.equal(7)
    expect(counts.size).to.equal(10_000)
    expect(counts.find('never seen')?.points ?? 0, 'cells are shared').to.be.below(20)
  })

  it('forget what was given back, where very many keys share their counts too [186]', async () => {
    const limits = makeLimits({ policy: configured, shared: undefined, now: () => 1 })
    // Whoever has many networks has very many attempts begin of which no password is checked (busy).
    for (let attempt = 0; attempt < 300_000; attempt += 1) {
      await limits.takeTogether('attemptsOfPair', `of a stranger ${attempt}`)
      await limits.giveBack('attemptsOfPair', `of a stranger ${attempt}`)
    }
    for (let person = 0; person < 100; person += 1) {
      const exceeded = await limits.takeTogether('attemptsOfPair', `of a person ${person}`)
      expect(exceeded).to.equal(undefined)
    }
  })

  it('begin the next window at nothing, when what was taken in one is given back in the next', async () => {
    let nowMs = 1
    const told: number[] = []
    const shared: SharedCounts = {
      add: async (counts) => {
        told.push(...counts.map(({ points }) => points))
        return counts.map(({ windowSeconds }) => ({ points: 1, msLeft: windowSeconds * 1000 }))
      },
    }
    const limits = makeLimits({ policy: configured, shared, now: () => nowMs })
    await limits.takeTogether('attemptsOfAddress', address)
    nowMs += configured.signIn.failureWindowSeconds * 1000
    await limits.giveBack('attemptsOfAddress', address)
    expect(told).to.deep.equal([1])
  })

  it('of 50,000 refused sign-ins take less than five mebibytes (weakness 4)', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const limits = makeLimits({ policy: configured, shared: undefined, now: Date.now })
    const attempts = makeAttemptLimits(limits)
    collect()
    const before = process.memoryUsage().heapUsed
    for (let turn = 0; turn < 50_000; turn += 1) {
      await attempts.begin({ login: `${turn}@nowhere.example`, address })
    }
    collect()
    const mebibytes = (process.memoryUsage().heapUsed - before) / 2 ** 20
    expect(mebibytes).to.be.below(5)
    expect(limits.size()).to.be.below(1000)
  })

  it('cost a request microseconds and no wait', () => {
    const limits = makeLimits({ policy: configured, shared: undefined, now: Date.now })
    const turn = () => {
      limits.exceeded('tokenFailures', address)
      limits.count('memberApi', 'a person', 0)
      limits.take('userinfo', 'somebody else', 0)
    }
    for (let warm = 0; warm < 20_000; warm += 1) turn()
    const startedAt = performance.now()
    for (let asked = 0; asked < 100_000; asked += 1) turn()
    const microseconds = ((performance.now() - startedAt) * 1000) / 100_000
    expect(microseconds).to.be.below(20)
  })
})

/** Two processes that count together. */
function processesSuite(open: (context: Mocha.Context) => Promise<SharedStore>): void {
  const policy = withLimits({ userinfoPerPersonMax: 32 })(configured)
  const make = (shared: SharedCounts) => makeLimits({ policy, shared, now: Date.now })

  it('tell each other what they counted, in one trip', async function () {
    await using store = await open(this)
    const [one, two] = [make(store.shared), make(store.shared)]
    for (const limits of [one, two]) {
      for (let turn = 0; turn < 16; turn += 1)
        expect(limits.take('userinfo', 'p')).to.equal(undefined)
    }
    await one.exchange()
    await two.exchange()
    expect(two.exceeded('userinfo', 'p')?.waitSeconds).to.be.within(1, 60)
    expect(one.exceeded('userinfo', 'p'), 'it has not heard of it yet').to.equal(undefined)
    one.count('userinfo', 'p')
    await one.exchange()
    expect(one.exceeded('userinfo', 'p')?.limit.name).to.equal('userinfo')
    expect(two.exceeded('userinfo', 'q')).to.equal(undefined)
  })

  it('ask at once where an action is expensive, and let exactly as many through', async function () {
    await using store = await open(this)
    const processes = [make(store.shared), make(store.shared)]
    const max = configured.registration.registrationsPerAddressMax
    const asked = Array.from({ length: max + 20 }, (_, turn) =>
      processes[turn % 2]?.takeTogether('registrations', address),
    )
    const free = (await Promise.all(asked)).filter((exceeded) => exceeded === undefined)
    expect(free).to.have.length(max)
  })

  it('begin again when the window of the store has ended', async function () {
    await using store = await open(this)
    const short = { ...policy, registration: { ...policy.registration } }
    Object.assign(short.registration, {
      registrationsPerAddressMax: 1,
      registrationWindowSeconds: 1,
    })
    const limits = makeLimits({ policy: short, shared: store.shared, now: Date.now })
    expect(await limits.takeTogether('registrations', 'x')).to.equal(undefined)
    const exceeded = await limits.takeTogether('registrations', 'x')
    expect(exceeded?.waitSeconds).to.equal(1)
    const until = Date.now() + 1100
    while (Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await limits.takeTogether('registrations', 'x')).to.equal(undefined)
  })
}

interface SharedStore extends AsyncDisposable {
  readonly shared: SharedCounts
}

const sharedIn = (stores: { database: Database; redis?: Redis }): SharedCounts => {
  const shared = openSharedCounts({ redis: undefined, ...stores }, false)
  if (!shared) throw new Error('they share nothing')
  return shared
}

describeOnServers('limits: two processes with Redis', () => {
  processesSuite(async (context) => {
    const server = await startRedis(requireProgram(context, 'redis-server'))
    const redis = new Redis(server.port, '127.0.0.1')
    return {
      shared: sharedIn({ database: { engine: 'sqlite' } as Database, redis }),
      async [Symbol.asyncDispose]() {
        redis.disconnect()
        await server[Symbol.asyncDispose]()
      },
    }
  })
})

describeOnServers('limits: two processes with PostgreSQL', () => {
  processesSuite(async (context) => {
    const { DATABASE_URL: url } = await postgresWithDemo(requireProgram(context, 'postgres'))
    const database = await openDatabase({ kind: 'postgres', url, connectionsMax: 4 }, patiently)
    return {
      shared: sharedIn({ database }),
      [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
    }
  })
})

describe('limits: a store that is away', () => {
  const away: SharedCounts = {
    add: async () => {
      throw new Error('out of reach')
    },
  }

  it('lifts none of them, and holds nobody up', async () => {
    const policy = withLimits({ userinfoPerPersonMax: 16 })(configured)
    const limits = makeLimits({ policy, shared: away, now: Date.now })
    for (let turn = 0; turn < 16; turn += 1) {
      expect(limits.take('userinfo', 'p')).to.equal(undefined)
      await limits.exchange()
    }
    expect(limits.take('userinfo', 'p')?.limit.max).to.equal(16)
    const max = configured.registration.registrationsPerAddressMax
    for (let turn = 0; turn < max; turn += 1) {
      expect(await limits.takeTogether('registrations', address)).to.equal(undefined)
    }
    expect(await limits.takeTogether('registrations', address)).to.not.equal(undefined)
  })
})

describe('limits: 429', () => {
  it('says when to come back, and what was used up', async () => {
    await using service = await startService({
      policy: withLimits({ tokenFailurePointsPerAddressMax: 3 }),
    })
    expect((await userinfo(service.url, 'nothing')).status).to.equal(401)
    const { status, headers } = await userinfo(service.url, 'nothing')
    expect(status).to.equal(429)
    const wait = Number(headers.get('retry-after'))
    expect(wait).to.be.within(1, 60)
    expect(headers.get('ratelimit')).to.equal(`"token-failures";r=0;t=${wait}`)
    expect(headers.get('ratelimit-policy')).to.equal('"token-failures";q=3;w=60')
    expect(headers.get('www-authenticate')).to.equal(null)
  })

  it('can be read by a page of another origin', async () => {
    await using service = await startService({
      policy: withLimits({ tokenFailurePointsPerAddressMax: 1 }),
    })
    const origin = ['Origin', 'https://app.example']
    await get(service.url + paths.userinfo, origin)
    const { status, headers } = await get(service.url + paths.userinfo, origin)
    expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([429, '*'])
    expect(headers.get('access-control-expose-headers')).to.include('RateLimit')
  })

  it('comes for OPTIONS too where it is answered as every other method', async () => {
    await using service = await startService({
      policy: withLimits({ oauthFailurePointsPerAddressMax: 20 }),
    })
    const { url } = service
    const [, wrong = ''] = basic(resourceServer.clientId, 'guessed')
    const headers = ['X-Forward-Auth-Client', wrong, 'Authorization', 'Bearer x']
    const guess = async (path: string) =>
      (await send(url, { method: 'OPTIONS', path, headers })).status
    expect([
      await guess(paths.forwardAuth),
      await guess(`${forwardAuthFor}page`),
      await guess(paths.forwardAuth),
      await guess(`${forwardAuthFor}page`),
    ]).to.deep.equal([400, 400, 429, 429])
    expect(await guess(paths.token), 'the question of a browser').to.not.equal(429)
  })

  it('is a page for people at the authorization endpoint, and no redirect', async () => {
    await using service = await startService({
      policy: withLimits({ authorizationKilobytesPerAddressMax: 2 }),
    })
    const { pathname, search } = authorizeUrl(service.url)
    const ask = (query = search) => send(service.url, { path: pathname + query })
    expect((await ask()).status).to.equal(303)
    expect((await ask(`${search}&state=${'s'.repeat(3000)}`)).status).to.equal(303)
    const { status, headers, text } = await ask()
    expect([status, headers.get('location')]).to.deep.equal([429, null])
    expect(headers.get('content-type')).to.match(/^text\/html/)
    expect(text).to.include('Please wait a minute, then load the page again.')
    const signOut = await send(service.url, { path: paths.endSession })
    expect(signOut.status, 'of which as much is kept').to.equal(429)
  })

  it('comes before the body is read and any store is asked', async () => {
    await using service = await startService({
      policy: withLimits({ oauthFailurePointsPerAddressMax: 1 }),
    })
    await send(service.url, { method: 'POST', path: paths.token, headers: FORM, body: 'a=b' })
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    // A body is announced and never sent.
    socket.write(
      `POST ${paths.token} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n`,
    )
    const { promise, resolve } = Promise.withResolvers<string>()
    socket.once('data', (data) => resolve(String(data)))
    expect(await promise).to.match(/^HTTP\/1\.1 429 /)
    socket.destroy()
  })

  it('counts an address behind a trusted proxy only, and an IPv6 /64 as one', async () => {
    for (const [TRUST_PROXY, expected] of [
      ['yes', [401, 429, 401]],
      ['no', [401, 429, 429]],
    ] as const) {
      await using service = await startService({
        environment: { TRUST_PROXY },
        policy: withLimits({ tokenFailurePointsPerAddressMax: 3 }),
      })
      const statuses = []
      for (const from of ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '2001:db8:1:3::1']) {
        const { status } = await get(service.url + paths.userinfo, ['X-Forwarded-For', from])
        statuses.push(status)
      }
      expect(statuses, TRUST_PROXY).to.deep.equal(expected)
    }
  })

  it('of a person is counted by client, whatever address they come from', async () => {
    await using service = await startService({ policy: withLimits({ userinfoPerPersonMax: 2 }) })
    const { url } = service
    const token = await memberToken(url)
    const statuses = []
    for (let turn = 0; turn < 3; turn += 1) statuses.push((await userinfo(url, token)).status)
    expect(statuses).to.deep.equal([200, 200, 429])
    const graphql = await askMember({ url, token }, { query: '{ viewer { id } }' })
    expect(graphql.status, 'another limit').to.equal(200)
  })

  it('of GraphQL counts what operations cost', async () => {
    await using service = await startService({
      policy: withLimits({ memberApiCostPerPersonMax: 4 }),
    })
    const { url } = service
    const token = await memberToken(url)
    const ask = () => askMember({ url, token }, { query: '{ viewer { id name email } }' })
    expect((await ask()).status).to.equal(200)
    const { status, body } = await ask()
    expect(status).to.equal(429)
    expect(body.errors?.[0]?.extensions?.['code']).to.equal('TOO_MANY_REQUESTS')
  })

  it('of GraphQL counts operations that cost next to nothing, too', async () => {
    await using service = await startService({
      policy: withLimits({ memberApiCostPerPersonMax: 800 }),
    })
    const { url } = service
    const token = await memberToken(url)
    const statuses = []
    for (let turn = 0; turn < 4; turn += 1) {
      statuses.push((await askMember({ url, token }, { query: '{ __typename }' })).status)
    }
    // The first one counts its document as well.
    expect(statuses).to.deep.equal([200, 200, 200, 429])
  })

  it('of GraphQL counts documents that are read anew, and those that are not valid', async () => {
    for (const [query, expected] of [
      [(turn: number) => `{ nothing${turn} }`, [200, 200, 200, 429]],
      [(turn: number) => `{ viewer { id } } # ${turn}`, [200, 200, 200, 429]],
      [() => `{ ${'viewer { id } '.repeat(300)} }`, [400, 400, 400, 429]],
      [() => '{ viewer { id } }', [200, 200, 200, 200]],
    ] as const) {
      await using service = await startService({
        policy: withLimits({ memberApiCostPerPersonMax: 1500 }),
      })
      const { url } = service
      const token = await memberToken(url)
      const statuses = []
      for (let turn = 0; turn < 4; turn += 1) {
        statuses.push((await askMember({ url, token }, { query: query(turn) })).status)
      }
      expect(statuses, query(0).slice(0, 40)).to.deep.equal(expected)
    }
  })

  it('of changes counts each of a document, by whichever client, and none that is only asked about', async () => {
    await using service = await startService({ policy: withLimits({ changesPerPersonMax: 4 }) })
    const [one, other] = [await startOperator(service), await startOperator(service)]
    const change = (place: number) => `a${place}: updateSite(input: { name: "N${place}" }) { id }`
    const three = `mutation { ${change(1)} ...more } fragment more on Mutation { ${change(2)} ${change(3)} }`
    expect((await one.ask(three)).status).to.equal(200)
    expect((await one.ask('{ site { name } }')).status).to.equal(200)
    expect((await other.ask(three)).status).to.equal(200)
    const { status, headers, body } = await one.ask(three)
    expect([status, body.errors?.[0]?.extensions?.['code']]).to.deep.equal([
      429,
      'TOO_MANY_REQUESTS',
    ])
    expect(headers.get('ratelimit-policy')).to.equal('"changes";q=4;w=60')
    expect((await other.ask(three)).status).to.equal(429)
    const { url } = service
    const { token } = other
    const values = { name: 'N4' }
    expect((await callTool(url, 'update_site', { token, values })).status).to.equal(429)
    expect((await callTool(url, 'get_site', { token })).status).to.equal(200)
    expect((await other.ask('{ site { name } }')).status).to.equal(200)
  })

  it('is for pages of people who are not signed in too, and not for the stylesheet', async () => {
    await using service = await startService({ policy: withLimits({ pagesPerAddressMax: 1 }) })
    const statusOf = async (path: string) => (await send(service.url, { path })).status
    expect(await statusOf(pages.connectHome)).to.equal(200)
    for (const path of [pages.connectHome, pages.account, pages.admin, enginePages.signedOut]) {
      expect(await statusOf(path), path).to.equal(429)
    }
    for (const path of [pages.welcome, paths.openApi, paths.adminSchema, paths.health]) {
      expect(await statusOf(path), path).to.equal(200)
    }
  })

  it('of links that lead nowhere comes ten times as soon', async () => {
    await using service = await startService({ policy: withLimits({ downloadsPerAddressMax: 11 }) })
    const path = pages.download.replace(':token', 'x').replace(':name', 'y')
    const statuses = []
    for (let turn = 0; turn < 3; turn += 1)
      statuses.push((await send(service.url, { path })).status)
    expect(statuses).to.deep.equal([404, 404, 429])
  })
})

describe('limits: clients', () => {
  it('are counted once they have authenticated, at the token endpoint as at introspection', async () => {
    await using service = await startService({ policy: withLimits({ requestsPerClientMax: 12 }) })
    const ask = async (clientSecret: string) =>
      await postForm(service.url + paths.token, {
        ...{ client_id: portal.clientId, client_secret: clientSecret },
        ...{ grant_type: 'refresh_token', refresh_token: 'x', resource: service.url },
      })
    const statuses = []
    for (let turn = 0; turn < 20; turn += 1) statuses.push((await ask('a stranger')).status)
    expect(new Set(statuses)).to.deep.equal(new Set([401]))
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await ask(portal.clientSecret)).body.error).to.equal('invalid_grant')
    }
    const { status, body, headers } = await ask(portal.clientSecret)
    expect([status, body.error]).to.deep.equal([429, 'too_many_requests'])
    expect(headers.get('ratelimit-policy')).to.equal('"requests-of-client";q=12;w=60')
    expect((await introspect(service.url, 'x')).status, 'another client').to.equal(200)
  })

  const strange: readonly (readonly [what: string, headers: readonly string[], secret?: string])[] =
    [
      ['by a page', ['Origin', 'https://evil.example']],
      ['by a page, with a wrong secret', ['Origin', 'https://evil.example'], 'wrong'],
      ['with a second kind of authentication', ['OAuth-Client-Attestation-PoP', 'x']],
    ]
  for (const [what, headers, client_secret] of strange) {
    for (const path of [paths.token, paths.revocation]) {
      it(`are not counted where they are only named ${what}, at ${path} [153]`, async () => {
        await using service = await startService({
          policy: withLimits({ requestsPerClientMax: 12, oauthFailurePointsPerAddressMax: 25 }),
        })
        const { clientId: client_id, clientSecret } = portal
        const form = { grant_type: 'refresh_token', refresh_token: 'x', token: 'x', client_id }
        const statuses = []
        for (let turn = 0; turn < 20; turn += 1) {
          const named = { ...form, client_secret }
          statuses.push((await postForm(service.url + path, named, headers)).status)
        }
        expect(new Set(statuses)).to.deep.equal(new Set([400]))
        const own = { ...form, client_secret: clientSecret }
        expect((await postForm(service.url + path, own)).body.error).to.not.equal(
          'too_many_requests',
        )
        // It counts for whoever sent it.
        for (let turn = 0; turn < 6; turn += 1) await postForm(service.url + path, form, headers)
        expect((await postForm(service.url + path, form, headers)).status).to.equal(429)
      })
    }
  }

  it('are counted where they have shown who they are by a key', async () => {
    const plans = withPlans({ privateKeyJwt: true })
    const limited = withLimits({ requestsPerClientMax: 4 })
    await using service = await startService({
      policy: (policy) => limited(plans.policy?.(policy) ?? policy),
    })
    const key = await makeClientKey()
    await giveKeys(service, [key])
    const revoke = async () =>
      await postForm(service.url + paths.revocation, {
        ...{ token: 'x' },
        ...byAssertion(await signAssertion(key, service.url)),
      })
    for (let turn = 0; turn < 4; turn += 1) expect((await revoke()).status).to.equal(200)
    expect((await revoke()).status).to.equal(429)
  })

  it('refresh a grant so often and no oftener, and the grant goes on', async () => {
    await using service = await startService({ policy: withLimits({ refreshesPerPersonMax: 2 }) })
    const { tokens } = await getTokens(service.url)
    let token = tokens.refresh_token ?? ''
    for (let turn = 0; turn < 2; turn += 1) {
      token = (await refresh(service.url, token)).body.refresh_token
    }
    expect((await refresh(service.url, token)).status).to.equal(429)
    expect((await introspect(service.url, token)).body.active).to.equal(true)
  })
})

describe('limits: introspection', () => {
  it('of random values is refused, and a client that does not authenticate uses up nothing of another (weakness 16)', async () => {
    await using service = await startService({
      policy: withLimits({ unknownTokensPerClientMax: 5 }),
    })
    const { url } = service
    const token = await memberToken(url)
    const form = (secret: string) => ({
      ...{ method: 'POST', path: paths.introspection },
      headers: [...FORM, ...basic(resourceServer.clientId, secret)],
      body: 'token=a-random-value',
    })
    for (let turn = 0; turn < 8; turn += 1) {
      expect((await send(url, form('wrong'))).status, 'a stranger').to.equal(401)
    }
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await introspect(url, token)).body.active).to.equal(true)
      expect((await introspect(url, `a-random-value-${turn}`)).body.active).to.equal(false)
    }
    const { status, body, headers } = await introspect(url, 'one-more')
    expect([status, body.error]).to.deep.equal([429, 'too_many_requests'])
    expect(headers.get('ratelimit-policy')).to.equal('"unknown-tokens";q=5;w=60')
    const other = await introspect(url, token, {
      client_id: portal.clientId,
      client_secret: portal.clientSecret,
    })
    expect(other.status, 'another client').to.equal(200)
  })

  it('three thousand random values meet the limit as it is configured', () => {
    expect(limitsInForce(configured).unknownTokens.max).to.be.below(3000)
  })
})

describe('limits: their table', () => {
  it('has a figure of the configuration for each, and each figure has a row', () => {
    const settings = Object.values(limitTable).map(({ setting }) => setting)
    const figures = Object.keys(configured.limits).map((name) => `limits.${name}`)
    expect(figures.filter((name) => !settings.some((setting) => setting === name))).to.deep.equal([
      'limits.windowSeconds',
    ])
    for (const { max } of Object.values(limitsInForce(configured))) expect(max).to.be.at.least(1)
  })
})
