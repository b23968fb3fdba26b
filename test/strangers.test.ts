import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import {
  addressOf,
  enginePages,
  forwardAuthFor,
  pages,
  paths,
  planPaths,
} from '../src/platform/http/paths.ts'
import { authorizeUrl, obtainTokens } from './support/client.ts'
import { notes, type RunningService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { keptForStrangers } from './support/strangers/kept.ts'
import { rememberedInMemory } from './support/strangers/remembered.ts'
import { defaultsInForce } from './support/strangers-document.ts'
import { encode, FORM, send, type WireRequest } from './support/wire.ts'

const root = join(import.meta.dirname, '..')
const table = keptForStrangers(defaultsInForce())

describe('what a process remembers for strangers', () => {
  it('names every memory that keeps the latest of something, and none that is gone', () => {
    const named = rememberedInMemory.map(({ file }) => file)
    for (const file of named) expect(existsSync(join(root, file)), file).to.equal(true)
    const keeping = globSync('src/**/*.ts', { cwd: root }).filter((file) =>
      /new (LRUCache|RateLimiter\w+|Counts|OverflowCounts)\b/.test(
        readFileSync(join(root, file), 'utf8'),
      ),
    )
    expect(keeping.filter((file) => !named.includes(file))).to.deep.equal([])
  })
})

/** Something that can stand in every place of an address. */
const anything = {
  ...{ uid: 'x', site: 'northlight', client: 'northlight-notes', person: 'x', secret: 'x' },
  ...{ file: 'x', digest: 'x', token: 'x', name: 'x', path: 'x' },
}

const patterns = [paths, planPaths, pages, enginePages].flatMap((each) => Object.values(each))

/** What anybody can send to an address: what is good at one of them is sent to all. */
function requestsTo(address: string, url: string): WireRequest[] {
  const query = authorizeUrl(url).searchParams
  for (const [name, value] of [
    ['logout', 'yes'],
    ['token', 'x'],
    ['after', 'x'],
    ['login', 'x'],
  ]) {
    query.set(String(name), String(value))
  }
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

describe('what a stranger leaves in the stores', () => {
  const service = sharedService({
    policy: (policy) => ({
      ...policy,
      furtherPlans: {
        ...{ backChannelLogout: true, pushedAuthorizationRequests: true, dpop: true },
        ...{ privateKeyJwt: true, privateHosts: [] },
      },
      registration: { ...policy.registration, registrationsPerAddressMax: 1000 },
    }),
  })

  // An address that comes to keep something fails here until it has a row.
  it('is left at the addresses of the table, in its tables, and nowhere else', async () => {
    const left = await leftAt(service())
    const stored = table.filter(({ where }) => !writtenLater.some((name) => where.includes(name)))
    for (const [pattern, names] of left) {
      const rows = stored.filter(({ at }) => at.includes(pattern))
      for (const name of names) {
        const says = rows.some(({ where }) => where.includes(`\`${name}\``))
        expect(says, `${pattern} leaves ${name}`).to.equal(true)
      }
    }
    expect([...left.keys()].sort()).to.deep.equal(
      [
        paths.authorization,
        paths.endSession,
        paths.registration,
        planPaths.pushedAuthorization,
      ].sort(),
    )
  })

  it('is a client in use once a person allowed something with it, and not before (design 8)', async () => {
    const { url, service: running, config } = service()
    const redirectUri = 'http://127.0.0.1:1/callback'
    const json = ['Content-Type', 'application/json']
    const body = JSON.stringify({ client_name: 'x', redirect_uris: [redirectUri] })
    const registration = { method: 'POST', path: paths.registration, headers: json, body }
    const clientId = String((await send(url, registration)).body.client_id)
    const { kysely } = running.stores.database
    const unused = async () =>
      (await kysely.selectFrom('unused_client').select('client_id').execute()).some(
        (row) => row.client_id === clientId,
      )
    const fields = { client_id: clientId, redirect_uri: redirectUri, scope: 'openid' }
    await send(url, { path: `${paths.authorization}?${authorizeUrl(url, fields).searchParams}` })
    expect(await unused()).to.equal(true)
    await obtainTokens(url, { ...fields, resource: undefined })
    expect(await unused()).to.equal(false)
    const { expires_at } = await kysely
      .selectFrom('oauth_state')
      .select('expires_at')
      .where('id', '=', clientId)
      .executeTakeFirstOrThrow()
    const { idleClientSeconds } = config.service.registration
    expect(expires_at - Date.now()).to.be.closeTo(idleClientSeconds * 1000, 60_000)
  })

  it('is no larger than the table says', async () => {
    const { url } = service()
    const { bytesMax } = service().config.service.authorizationRequests
    const uris = Array.from({ length: 10 }, (_, n) => `http://127.0.0.1:1/${n}${'x'.repeat(490)}`)
    const full = { state: 'x'.repeat(4096), login_hint: 'x'.repeat(512), claims: claimsOf(1900) }
    const asked = authorizeUrl(url, full)
    expect(asked.search.length).to.be.above(bytesMax - 2000)
    const registration = {
      ...{ client_name: 'x'.repeat(100), redirect_uris: uris, post_logout_redirect_uris: uris },
    }
    const json = ['Content-Type', 'application/json']
    const sent: readonly (readonly [string, WireRequest, number])[] = [
      ['`Interaction`', { path: asked.pathname + asked.search }, 303],
      [
        'PushedAuth',
        {
          method: 'POST',
          path: planPaths.pushedAuthorization,
          headers: FORM,
          body: asked.searchParams,
        },
        201,
      ],
      ['`Session`', { path: `${paths.endSession}?state=${'x'.repeat(4096)}` }, 200],
      [
        '`Client`',
        {
          method: 'POST',
          path: paths.registration,
          headers: json,
          body: JSON.stringify(registration),
        },
        201,
      ],
    ]
    for (const [where, request, status] of sent) {
      const row = table.find((each) => each.where.includes(where))
      const before = await countBytes(service())
      const answer = await send(url, request)
      expect(answer.status, `${where} ${answer.text.slice(0, 300)}`).to.equal(status)
      const bytes = (await countBytes(service())) - before
      expect(bytes, where).to.be.within((row?.bytesMax ?? 0) / 4, row?.bytesMax ?? 0)
    }
  })

  it('is no larger than the table says of what is counted as one kilobyte', async () => {
    const { url } = service()
    const controls = '\u0001'
    const ofLength = (make: (state: string) => string, perCharacter: number) => {
      const left = 1023 - make('').length
      // More of them would be longer than a state may be.
      const count = Math.min(Math.floor(left / perCharacter), Math.floor(4096 / 6))
      return make(controls.repeat(count))
    }
    const address = (state: string) => {
      const { pathname, search } = authorizeUrl(url, { state })
      return pathname + search
    }
    // In a form it need not be escaped.
    const form = (state: string) =>
      `${authorizeUrl(url, { state: '' }).searchParams}&state=${state}`
    const sent: readonly (readonly [string, WireRequest, number])[] = [
      ['`Interaction`', { path: ofLength(address, 3) }, 303],
      [
        'PushedAuth',
        {
          ...{ method: 'POST', path: planPaths.pushedAuthorization, headers: FORM },
          body: ofLength(form, 1).replace('state=&', ''),
        },
        201,
      ],
      [
        '`Session`',
        { path: ofLength((state) => `${paths.endSession}?${encode({ state })}`, 3) },
        200,
      ],
    ]
    for (const [where, request, status] of sent) {
      const { countedAsOneBytesMax = 0 } = table.find((each) => each.where.includes(where)) ?? {}
      const before = await countBytes(service())
      const answer = await send(url, request)
      expect(answer.status, `${where} ${answer.text.slice(0, 300)}`).to.equal(status)
      const bytes = (await countBytes(service())) - before
      expect(bytes, where).to.be.within(countedAsOneBytesMax / 4, countedAsOneBytesMax)
    }
  })
})

function claimsOf(length: number): string {
  return JSON.stringify({ userinfo: { name: { value: 'x'.repeat(length) } } })
}

/** The tables, and models of the OAuth state, that have more rows after requests to an address. */
async function leftAt(running: RunningService): Promise<Map<string, ReadonlySet<string>>> {
  const left = new Map<string, ReadonlySet<string>>()
  for (const pattern of [...patterns, forwardAuthFor]) {
    const before = await countRows(running)
    const requests = requestsTo(addressOf(pattern, anything), running.url)
    for (const request of requests) await send(running.url, request)
    const after = await countRows(running)
    const grown = Object.keys(after).filter((name) => after[name] !== before[name])
    if (grown.length > 0) left.set(pattern, new Set(grown))
  }
  return left
}

/** Written some seconds later, of what was seen at any address. */
const writtenLater = ['client_refusal', 'site_refusal_day', 'audit_event', 'request_count']

/** How many rows each table has, and each model of the OAuth state. */
async function countRows({ service }: RunningService): Promise<Record<string, number>> {
  const { kysely } = service.stores.database
  const tables = await kysely.introspection.getTables()
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    if (name === 'oauth_state' || writtenLater.includes(name)) continue
    const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(name)}`.execute(
      kysely,
    )
    counts[name] = Number(rows[0]?.n)
  }
  const states = await kysely
    .selectFrom('oauth_state')
    .select(['model', (e) => e.fn.countAll<number>().as('n')])
    .groupBy('model')
    .execute()
  for (const { model, n } of states) counts[model] = Number(n)
  return counts
}

async function countBytes({ service }: RunningService): Promise<number> {
  const rows = await service.stores.database.kysely.selectFrom('oauth_state').selectAll().execute()
  return rows.reduce((sum, row) => sum + Buffer.byteLength(Object.values(row).join()), 0)
}
