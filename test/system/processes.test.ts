import { expect } from 'chai'
import { sql } from 'kysely'
import * as oidc from 'openid-client'

import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, exchange, introspect, refresh, revoke, userinfo } from '../support/client.ts'
import { patiently } from '../support/database.ts'
import { notes, sam } from '../support/gatehouse.ts'
import {
  type Balancer,
  configWith,
  patientService,
  type ServiceProcess,
  startBalancer,
  startProcess,
} from '../support/process.ts'
import { startRedis, startRedisCluster } from '../support/redis.ts'
import { getTokens } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'

const FAILURES_MAX = 4

describe('several processes on one PostgreSQL and one Redis', () => {
  const opened = new AsyncDisposableStack()
  let databaseUrl: string
  let balancer: Balancer
  let first: ServiceProcess
  let second: ServiceProcess

  before(async function () {
    const redis = opened.use(await startRedis(requireProgram(this, 'redis-server')))
    const storage = await postgresWithDemo(requireProgram(this, 'postgres'))
    databaseUrl = storage.DATABASE_URL
    balancer = opened.use(await startBalancer())
    const variables = {
      ...storage,
      REDIS_URL: redis.url,
      BASE_URL: balancer.url,
      CONFIG_DIR: configWith((policy) => ({
        ...policy,
        signIn: { ...policy.signIn, failuresPerAccountAndAddressMax: FAILURES_MAX },
      })),
    }
    first = opened.use(await startProcess(variables, patientService))
    second = opened.use(await startProcess(variables, patientService))
    balancer.serve([first.url, second.url])
  })
  after(() => opened.disposeAsync())

  /** The same request at a process that the caller chooses. */
  function at(process: ServiceProcess, url: URL | string): URL {
    const { pathname, search } = new URL(url, process.url)
    return new URL(pathname + search, process.url)
  }

  it('are one service to a client whose every request meets another process', async () => {
    const { configuration, tokens } = await getTokens(balancer.url)
    const { sub } = await oidc.fetchUserInfo(
      configuration,
      tokens.access_token,
      tokens.claims()?.sub ?? '',
    )
    expect(sub).to.equal('per_sam')
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    await oidc.tokenRevocation(configuration, refreshed.refresh_token ?? '')
    for (const { url } of [first, second]) expect(balancer.sent.get(url)).to.be.greaterThan(3)
  })

  it('share an interaction: authorize at A, sign in at B, consent at A, exchange at B, refresh at A', async () => {
    const person = makeHeadlessPerson(sam)
    const url = authorizeUrl(balancer.url)
    const login = await follow(person, at(first, url))
    const signedIn = await send(person, at(second, login), sam)
    const consent = await follow(person, at(first, signedIn))
    expect(consent).to.match(/\/consent$/)
    const consented = await send(person, at(first, consent))
    const callback = new URL(await follow(person, at(second, consented)))
    const code = callback.searchParams.get('code') ?? ''
    const exchanged = await exchange(second.url, code, { resource: balancer.url })
    expect(exchanged.status).to.equal(200)
    const refreshed = await refresh(first.url, exchanged.body.refresh_token)
    expect(refreshed.status).to.equal(200)
  })

  it('share the session: who signed in at A is known at B', async () => {
    const { person } = await getTokens(balancer.url)
    const url = authorizeUrl(balancer.url)
    for (const process of [first, second]) {
      expect(await follow(person, at(process, url))).not.to.match(/\/login$/)
    }
  })

  // [threat 13; 85]
  it('refuse at A at once what was revoked at B [design 12]', async () => {
    const { tokens } = await getTokens(balancer.url)
    const { access_token, refresh_token = '' } = tokens
    expect((await userinfo(first.url, access_token)).status).to.equal(200)
    expect((await revoke(second.url, refresh_token)).status).to.equal(200)
    expect((await userinfo(first.url, access_token)).status).to.equal(401)
    expect((await introspect(first.url, access_token)).body).to.deep.equal({ active: false })
    const refused = await refresh(first.url, refresh_token)
    expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_grant'])
  })

  it('refuse at once the tokens of an application that was switched off [design 15]', async () => {
    const { tokens } = await getTokens(balancer.url)
    const { access_token, refresh_token = '' } = tokens
    await using database = await openDatabase(
      { kind: 'postgres', url: databaseUrl, connectionsMax: 1 },
      patiently,
    )
    const switchOff = async (at: number | null) =>
      await database.kysely
        .updateTable('oauth_application')
        .set({ disabled_at: at })
        .where('client_id', '=', notes.clientId)
        .execute()
    await switchOff(Date.now())
    for (const { url } of [first, second]) {
      expect((await userinfo(url, access_token)).status).to.equal(401)
      expect((await refresh(url, refresh_token)).body.error).to.equal('invalid_grant')
    }
    await switchOff(null)
    expect((await userinfo(second.url, access_token)).status).to.equal(200)
  })

  it('go on when a newer version changes a table beneath them', async () => {
    const { access_token } = (await getTokens(balancer.url)).tokens
    await using database = await openDatabase(
      { kind: 'postgres', url: databaseUrl, connectionsMax: 1 },
      patiently,
    )
    await sql`alter table oauth_application add column of_a_newer_version text`.execute(
      database.kysely,
    )
    const statuses = []
    for (let i = 0; i < 40; i += 1) {
      for (const { url } of [first, second]) {
        statuses.push((await userinfo(url, access_token)).status)
      }
    }
    expect(new Set(statuses)).to.deep.equal(new Set([200]))
  })

  it('count failed sign-ins together', async () => {
    const person = makeHeadlessPerson(sam)
    const url = authorizeUrl(balancer.url)
    const login = await follow(person, at(first, url))
    const guess = async (process: ServiceProcess) => {
      const wrong = { login: 'noor@northlight.example', password: 'a-wrong-guess' }
      return (await submit(person, at(process, login), wrong)).status
    }
    const statuses = []
    for (let i = 0; i < FAILURES_MAX; i += 1) statuses.push(await guess(i % 2 ? second : first))
    expect(statuses).to.deep.equal(Array(FAILURES_MAX).fill(401))
    for (const process of [first, second]) expect(await guess(process)).to.equal(429)
  })
})

describe('a process on a Redis Cluster', () => {
  it('serves the whole flow, and revocation ends it', async function () {
    await using cluster = await startRedisCluster(requireProgram(this, 'redis-server'))
    const variables = {
      SECRET: 'the-secret-of-these-tests-is-long-enough-to-be-one',
      REDIS_CLUSTER_NODES: cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(','),
    }
    await using service = await startProcess(variables, patientService)
    const { configuration, tokens } = await getTokens(service.url)
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    expect((await introspect(service.url, refreshed.access_token)).body.active).to.equal(true)
    await oidc.tokenRevocation(configuration, refreshed.refresh_token ?? '')
    for (const { access_token } of [tokens, refreshed]) {
      expect((await userinfo(service.url, access_token)).status).to.equal(401)
    }
    // The state is where it was asked for: sessions and tokens are spread over the nodes.
    const sizes = await Promise.all(cluster.nodes.map((node) => node.ask('DBSIZE')))
    expect(sizes.filter((size) => Number(size) > 0)).to.have.length.greaterThan(1)
  })
})

/** Opens an address and gives where it leads to. */
async function follow(person: HeadlessPerson, url: URL): Promise<string> {
  const response = await person.open(url)
  expect(response.status).to.equal(303)
  return response.headers.get('location') ?? ''
}

/** Fills in the form of a page, sends it to the same process, and gives where it leads to. */
async function send(person: HeadlessPerson, page: URL, fields = {}): Promise<string> {
  const response = await submit(person, page, fields)
  expect(response.status).to.equal(303)
  return response.headers.get('location') ?? ''
}

async function submit(person: HeadlessPerson, page: URL, fields: object): Promise<Response> {
  const text = await (await person.open(page)).text()
  const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
  const body = new URLSearchParams({ csrf, ...fields })
  return await person.open(page, { method: 'POST', body })
}
