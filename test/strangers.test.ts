import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'

import { paths, planPaths } from '../src/platform/http/paths.ts'
import { askToAuthorize, authorizeUrl, obtainTokens, register } from './support/client.ts'
import { rowOf, rowsOf } from './support/database.ts'
import { everyPattern, someAddress } from './support/every-address.ts'
import { defaultsInForce } from './support/figures.ts'
import { notes, policyWith, type RunningService } from './support/gatehouse.ts'
import { everyPlan } from './support/proofs.ts'
import { remembered } from './support/reference-data.ts'
import { sharedService } from './support/storages.ts'
import { keptForStrangers } from './support/strangers/stored-rows.ts'
import { encode, type Fields, FORM, send, type WireRequest } from './support/wire.ts'

const root = join(import.meta.dirname, '..')
const table = keptForStrangers(defaultsInForce())

it('the list of what a process keeps in memory for strangers is complete', () => {
  const named = remembered.map(([file = '']) => file)
  for (const file of named) expect(existsSync(join(root, file)), file).to.equal(true)
  const keeping = globSync('src/**/*.ts', { cwd: root }).filter((file) =>
    /new (LRUCache|RateLimiter\w+|Counts|OverflowCounts)\b/.test(
      readFileSync(join(root, file), 'utf8'),
    ),
  )
  expect(keeping.filter((file) => !named.includes(file))).to.deep.equal([])
})

function requestsTo(address: string, url: string): WireRequest[] {
  const query = authorizeUrl(url).searchParams
  for (const name of ['logout', 'token', 'after', 'login']) query.set(name, 'yes')
  const registration = { client_name: 'x', redirect_uris: ['http://127.0.0.1:1/callback'] }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', query: '{ __typename }' }
  const json = ['Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream']
  const bodies: WireRequest[] = [
    { path: address, headers: FORM, body: query },
    { path: address, headers: FORM, body: encode({ client_id: notes.clientId, password: 'x' }) },
    { path: address, headers: json, body: JSON.stringify({ ...registration, ...message }) },
  ]
  return [
    { path: address },
    { path: `${address}?${query}` },
    ...['POST', 'PUT', 'PATCH', 'DELETE'].flatMap((method) =>
      bodies.map((body) => ({ ...body, method })),
    ),
  ]
}

describe('data of strangers in the stores', () => {
  const registration = { registrationsPerAddressMax: 1000 }
  const service = sharedService({ policy: policyWith({ furtherPlans: everyPlan, registration }) })

  // A new path that stores data needs a row in test/support/strangers/stored-rows.ts.
  it('is stored only by the paths of the table, in its tables', async () => {
    const left = await leftAt(service())
    const stored = table.filter(({ where }) => !writtenLater.some((name) => where.includes(name)))
    for (const [pattern, names] of left) {
      const rows = stored.filter(({ at }) => at.includes(pattern)).map(({ where }) => where)
      for (const name of names) expect(rows.join(), pattern).to.include(`\`${name}\``)
    }
    expect([...left.keys()]).to.have.members([
      ...[paths.authorization, paths.endSession, paths.registration],
      ...[planPaths.pushedAuthorization, paths.ready],
    ])
  })

  it('is a client in use only after an authorization (design 8)', async () => {
    const { url, kysely, config } = service()
    const redirect_uri = 'http://127.0.0.1:1/callback'
    const metadata = { client_name: 'x', redirect_uris: [redirect_uri] }
    const { client_id } = (await register(url, metadata)).body
    const unused = async () => await rowsOf(kysely, 'unused_client', { client_id })
    const fields = { client_id, redirect_uri, scope: 'openid' }
    await askToAuthorize(url, fields)
    expect(await unused()).to.have.length(1)
    await obtainTokens(url, { ...fields, resource: undefined })
    expect(await unused()).to.have.length(0)
    const { expires_at } = await rowOf(kysely, 'oauth_state', { id: client_id })
    const { idleClientSeconds } = config.service.registration
    expect(expires_at - Date.now()).to.be.closeTo(idleClientSeconds * 1000, 60_000)
  })

  const pushing = { method: 'POST', path: planPaths.pushedAuthorization, headers: FORM }
  const asking = (fields: Fields): WireRequest => {
    const { pathname, search } = authorizeUrl(service().url, fields)
    return { path: pathname + search }
  }

  /** Sends a request. Expects the stored bytes to grow by 25 % to 100 % of the maximum in the table. */
  async function measure(where: string, limit: Limit, status: number, request: WireRequest) {
    const max = table.find((each) => each.where.includes(where))?.[limit] ?? 0
    const before = await countBytes(service())
    const answer = await send(service().url, request)
    expect(answer.status, `${where} ${answer.text.slice(0, 300)}`).to.equal(status)
    expect((await countBytes(service())) - before, where).to.be.within(max / 4, max)
  }

  it('is no larger than the table says', async () => {
    const { bytesMax } = service().config.service.authorizationRequests
    const claims = JSON.stringify({ userinfo: { name: { value: 'x'.repeat(1900) } } })
    const full = { state: 'x'.repeat(4096), login_hint: 'x'.repeat(512), claims }
    const { search, searchParams: body } = authorizeUrl(service().url, full)
    expect(search.length).to.be.above(bytesMax - 2000)
    const uris = Array.from({ length: 10 }, (_, n) => `http://127.0.0.1:1/${n}${'x'.repeat(490)}`)
    const client = { redirect_uris: uris, post_logout_redirect_uris: uris }
    const signOut = { path: `${paths.endSession}?state=${'x'.repeat(4096)}` }
    const registration = {
      ...{ method: 'POST', path: paths.registration },
      headers: ['Content-Type', 'application/json'],
      body: JSON.stringify({ client_name: 'x'.repeat(100), ...client }),
    }
    await measure('`Interaction`', 'bytesMax', 303, asking(full))
    await measure('PushedAuth', 'bytesMax', 201, { ...pushing, body })
    await measure('`Session`', 'bytesMax', 200, signOut)
    await measure('`Client`', 'bytesMax', 201, registration)
  })

  it('is no larger than the table says for requests counted as one kilobyte', async () => {
    const ofLength = (make: (state: string) => string, perCharacter: number) => {
      // A longer `state` would exceed its maximum.
      const count = Math.min(Math.floor((1023 - make('').length) / perCharacter), 682)
      return make('\u0001'.repeat(count))
    }
    // A form body may contain control characters unescaped.
    const query = authorizeUrl(service().url, { state: undefined }).search.slice(1)
    const body = ofLength((state) => `${query}&state=${state}`, 1)
    const request = ofLength((state) => asking({ state }).path, 3)
    const signOut = ofLength((state) => `${paths.endSession}?${encode({ state })}`, 3)
    await measure('`Interaction`', 'countedAsOneBytesMax', 303, { path: request })
    await measure('PushedAuth', 'countedAsOneBytesMax', 201, { ...pushing, body })
    await measure('`Session`', 'countedAsOneBytesMax', 200, { path: signOut })
  })
})

type Limit = 'bytesMax' | 'countedAsOneBytesMax'

async function leftAt(running: RunningService): Promise<Map<string, ReadonlySet<string>>> {
  const left = new Map<string, ReadonlySet<string>>()
  for (const pattern of everyPattern) {
    const before = await countRows(running)
    for (const request of requestsTo(someAddress(pattern), running.url))
      await send(running.url, request)
    const after = await countRows(running)
    const grown = Object.keys(after).filter((name) => after[name] !== before[name])
    if (grown.length > 0) left.set(pattern, new Set(grown))
  }
  return left
}

/** Tables that are written some seconds after a request, whatever its path. */
const writtenLater = ['client_refusal', 'site_refusal_day', 'audit_event', 'request_count']

async function countRows({ kysely }: RunningService): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name } of await kysely.introspection.getTables()) {
    if (name === 'oauth_state' || writtenLater.includes(name)) continue
    const count = sql<{ n: number }>`select count(*) as n from ${sql.table(name)}`
    counts[name] = Number((await count.execute(kysely)).rows[0]?.n)
  }
  for (const { model } of await rowsOf(kysely, 'oauth_state'))
    counts[model] = (counts[model] ?? 0) + 1
  return counts
}

async function countBytes({ kysely }: RunningService): Promise<number> {
  const rows = await rowsOf(kysely, 'oauth_state')
  return rows.reduce((sum, row) => sum + Buffer.byteLength(Object.values(row).join()), 0)
}
