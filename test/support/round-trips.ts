import { randomUUID } from 'node:crypto'

import { Redis } from 'ioredis'
import pg from 'pg'

import { paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { startOperator } from './admin-api.ts'
import {
  codeBy,
  exchange,
  introspect,
  obtain,
  obtainTokens,
  refresh,
  register,
  userinfo,
} from './client.ts'
import {
  notes,
  policyWith,
  type RunningService,
  resourceServer,
  sam,
  startService,
} from './gatehouse.ts'
import { withoutAnyLimit } from './limits.ts'
import { callTool } from './mcp.ts'
import { askMember } from './member-api.ts'
import { postgresWithDemo } from './storages.ts'
import { type Answer, basic, bearer, type Fields, get } from './wire.ts'

export interface RoundTrips {
  readonly sql: number
  /** Redis commands per request, including commands of scripts. */
  readonly redisCommands: number
  /** Redis commands per request. Commands that are sent together count once. */
  readonly redisBatches: number
  /** The smallest number of sequential round trips that a request needed. */
  readonly deep: number
}

/** Enough requests to show an occasional round trip as a fraction. */
const REQUESTS = 20

/** An interval that disables background work, which would be counted too. */
const NEVER_SECONDS = 3600

const idle = policyWith({
  keys: { reloadSeconds: NEVER_SECONDS },
  posts: { deliverySeconds: NEVER_SECONDS },
  // Notices would be sent during later requests.
  signIn: { notices: false },
  storage: {
    ...{ sweepSeconds: NEVER_SECONDS, outboxLookMs: NEVER_SECONDS * 1000 },
    usageFlushSeconds: NEVER_SECONDS,
  },
})

/** Counts the round trips of each operation, in a service that runs in this process. */
export async function countRoundTrips({
  postgresFile,
  redisUrl,
}: Record<'postgresFile' | 'redisUrl', string>): Promise<Record<CountedOperation, RoundTrips>> {
  await using running = await startService({
    environment: { ...(await postgresWithDemo(postgresFile)), REDIS_URL: redisUrl },
    // Avoids reads of the database's clock.
    now: Date.now,
    // Without limits, counts stay too low for processes to exchange them every second.
    policy: (policy) => idle(withoutAnyLimit(policy)),
  })
  await using counter = startCounter(redisUrl)
  const counted: Record<string, RoundTrips> = {}
  for (const [name, prepare] of Object.entries<Prepare>(operations)) {
    const request = await prepare(running)
    // The first request opens connections, and compiles and prepares statements.
    await expectGood(name, request)
    counted[name] = await counter.count(() => expectGood(name, request))
  }
  return counted as Record<CountedOperation, RoundTrips>
}

/** Prepares an operation. Returns a function that sends the request whose round trips are counted. */
type Prepare = (running: RunningService) => Promise<() => Promise<Answer>>

async function expectGood(name: string, request: () => Promise<Answer>): Promise<void> {
  const { status, text } = await request()
  if (status !== 200 || /"errors":|"isError":true|"active":false/.test(text)) {
    throw new Error(`${name}: ${status} ${text}`)
  }
}

export type CountedOperation = keyof typeof operations

const operations = {
  'code exchange': async ({ url }) => {
    const person = makeHeadlessPerson(sam)
    const codes: string[] = []
    while (codes.length <= REQUESTS) codes.push((await codeBy(person, url)).code)
    return () => exchange(url, codes.pop() ?? '')
  },
  refresh: ({ url }) => makeRefresh(url),
  'refresh, self-registered client': async ({ url }) => {
    const redirect_uri = 'http://127.0.0.1:9/callback'
    const metadata = { redirect_uris: [redirect_uri], token_endpoint_auth_method: 'none' }
    const { client_id } = (await register(url, metadata)).body
    return await makeRefresh(url, { client_id, redirect_uri, scope: 'openid' })
  },
  UserInfo: withToken(userinfo),
  introspection: withToken(introspect),
  'forward auth': withToken((url, token) => {
    const [, proxy = ''] = basic(resourceServer.clientId, resourceServer.clientSecret)
    const headers = ['X-Forward-Auth-Client', proxy, ...bearer(token)]
    return get(`${url}${paths.forwardAuth}?scope=account:read`, headers)
  }),
  '{ viewer { id } }': withToken((url, token) =>
    askMember({ url, token }, { query: '{ viewer { id } }' }),
  ),
  'tools/call, anonymous': withToken((url) =>
    callTool(url, 'list_public_courses', { values: { site: 'northlight' } }),
  ),
  'tools/call, member': withToken((url, token) => callTool(url, 'get_viewer', { token })),
  'Admin API mutation': async (running) => {
    const { ask } = await startOperator(running)
    const mutation = 'mutation ($name: String!) { updateSite(input: { name: $name }) { id } }'
    return () => ask(mutation, { name: randomUUID() })
  },
  discovery: withToken((url) => get(url + paths.openidConfiguration)),
  'key set': withToken((url) => get(url + paths.jwks)),
} satisfies Readonly<Record<string, Prepare>>

async function makeRefresh(url: string, client: Fields = {}) {
  const { client_id = notes.clientId } = client
  let { refreshToken: token } = await obtainTokens(url, client)
  return async () => {
    const answer = await refresh(url, token, { client_id })
    token = answer.body.refresh_token
    return answer
  }
}

/** Obtains an access token for a request, which need not use it. */
function withToken(request: (url: string, token: string) => Promise<Answer>): Prepare {
  return async ({ url }) => {
    const { access_token: token } = await obtain(url)
    return () => request(url, token)
  }
}

/**
 * Matches statements that may run at any time: reading the clock of the database every ten seconds
 * (src/platform/store/clock.ts), storing a new password hash after a first sign-in, and setting the timeout of a new
 * connection.
 */
const isBackground = /clock_timestamp|^update "person" set "password_hash"|^set statement_timeout/

/** Counts calls in both drivers until it is disposed of. */
function startCounter(redisUrl: string) {
  const redis = new Redis(redisUrl)
  let sql = 0
  /** The longest chain of calls, each of which began after the previous one had ended. */
  let deepest = 0
  const note = <Call>(call: Call): Call => {
    const depth = deepest + 1
    const end = () => {
      deepest = Math.max(deepest, depth)
    }
    if (!(call instanceof Promise)) throw new Error('the driver must return a promise')
    call.then(end, end)
    return call
  }
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function counted(this: pg.Client, ...words: unknown[]) {
    if (!isBackground.test(Object(words[0]).text)) sql += 1
    const callback: unknown = words.at(-1)
    if (typeof callback !== 'function') return note(Reflect.apply(query, this, words))
    const { promise, resolve } = Promise.withResolvers<void>()
    void note(promise)
    const answered = (...answer: unknown[]) => {
      resolve()
      Reflect.apply(callback, undefined, answer)
    }
    return Reflect.apply(query, this, [...words.slice(0, -1), answered])
  } as typeof query
  const { sendCommand } = Redis.prototype
  Redis.prototype.sendCommand = function counted(this: Redis, ...words) {
    const sent = Reflect.apply(sendCommand, this, words)
    return this === redis ? sent : note(sent)
  } as typeof sendCommand
  return {
    async count(request: () => Promise<void>): Promise<RoundTrips> {
      const before = { sql, ...(await redisCounters(redis)) }
      // The order in which parallel calls end can only add depth, so keep the minimum.
      let deep = Number.POSITIVE_INFINITY
      for (let i = 0; i < REQUESTS; i += 1) {
        deepest = 0
        await request()
        deep = Math.min(deep, deepest)
      }
      const after = { sql, ...(await redisCounters(redis)) }
      // Exclude the first INFO, which the second one counts.
      const perRequest = (counter: keyof typeof after, own = 1) =>
        (after[counter] - before[counter] - own) / REQUESTS
      const [redisCommands, redisBatches] = [perRequest('commands'), perRequest('batches')]
      return { sql: perRequest('sql', 0), redisCommands, redisBatches, deep }
    },
    async [Symbol.asyncDispose]() {
      pg.Client.prototype.query = query
      Redis.prototype.sendCommand = sendCommand
      redis.disconnect()
    },
  }
}

async function redisCounters(redis: Redis): Promise<{ commands: number; batches: number }> {
  const stats = await redis.info('stats')
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
  return { commands: read('total_commands_processed'), batches: read('total_reads_processed') }
}
