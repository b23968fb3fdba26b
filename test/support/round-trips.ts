import { Redis } from 'ioredis'
import pg from 'pg'

import { paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, exchange, introspect, refresh, userinfo } from './client.ts'
import { notes, type RunningService, resourceServer, sam, startService } from './gatehouse.ts'
import { withoutAnyLimit } from './limits.ts'
import { callTool } from './mcp.ts'
import { askMember } from './member-api.ts'
import { postgresWithDemo } from './storages.ts'
import { type Answer, basic, bearer, get } from './wire.ts'

/** What one request asks of PostgreSQL and Redis. */
export interface RoundTrips {
  /** Statements, counted where they are given to the driver; each is a round trip of its own. */
  readonly sql: number
  /** By Redis's own statistics; those that a script makes are among them. */
  readonly redisCommands: number
  /** What Redis read at once: commands that were sent together are one. */
  readonly redisBatches: number
  /** How many of all of these were taken one after the other; the others ran beside them. */
  readonly deep: number
}

/** So many that one which is made every now and then would show as a fraction. */
const REQUESTS = 20

/** What would be counted with the requests, if it happened while they run. */
const NEVER_SECONDS = 3600

export interface CountedStores {
  /** The program that starts PostgreSQL. */
  readonly postgresFile: string
  readonly redisUrl: string
}

/** Counts each operation in a service of its own in this process. */
export async function countRoundTrips(
  stores: CountedStores,
): Promise<Record<CountedOperation, RoundTrips>> {
  await using running = await startService({
    environment: { ...(await postgresWithDemo(stores.postgresFile)), REDIS_URL: stores.redisUrl },
    // The database's clock, which is read now and then, belongs to no request.
    now: Date.now,
    // Counts that reach a part of a limit are exchanged every second.
    policy: (policy) => ({
      ...withoutAnyLimit(policy),
      keys: { ...policy.keys, reloadSeconds: NEVER_SECONDS },
      posts: { deliverySeconds: NEVER_SECONDS },
      storage: { ...policy.storage, sweepSeconds: NEVER_SECONDS, usageFlushSeconds: NEVER_SECONDS },
    }),
  })
  await using counter = startCounter(stores.redisUrl)
  const counted: Partial<Record<CountedOperation, RoundTrips>> = {}
  for (const [name, prepare] of Object.entries(operations) as [CountedOperation, Prepare][]) {
    const request = await prepare(running)
    // The first of a kind connects, compiles and prepares.
    await expectGood(name, request)
    counted[name] = await counter.count(() => expectGood(name, request))
  }
  return counted as Record<CountedOperation, RoundTrips>
}

/** Prepares what is not counted, and gives the request that is. */
type Prepare = (running: RunningService) => Promise<() => Promise<Answer>>

async function expectGood(name: string, request: () => Promise<Answer>): Promise<void> {
  const { status, text } = await request()
  if (status !== 200 || /"errors":|"isError":true|"active":false/.test(text)) {
    throw new Error(`${name}: ${status} ${text}`)
  }
}

export type CountedOperation = keyof typeof operations

const operations = {
  'code exchange': async ({ url }: RunningService) => {
    const codes = await codesOf(url, REQUESTS + 1)
    return () => exchange(url, codes.pop() ?? '')
  },
  refresh: async ({ url }: RunningService) => {
    let { refresh_token: token } = await tokensOf(url)
    return async () => {
      const answer = await refresh(url, token)
      token = answer.body.refresh_token
      return answer
    }
  },
  UserInfo: withToken((url, token) => userinfo(url, token)),
  introspection: withToken((url, token) => introspect(url, token)),
  'forward auth': withToken((url, token) => {
    const [, proxy = ''] = basic(resourceServer.clientId, resourceServer.clientSecret)
    const headers = ['X-Forward-Auth-Client', proxy, ...bearer(token)]
    return get(`${url}${paths.forwardAuth}?scope=account:read`, headers)
  }),
  '{ viewer { id } }': withToken((url, token) =>
    askMember({ url, token }, { query: '{ viewer { id } }' }),
  ),
  'tools/call, anonymous': async ({ url }: RunningService) => {
    return () => callTool(url, 'list_public_courses', { values: { site: 'northlight' } })
  },
  'tools/call, member': withToken((url, token) => callTool(url, 'get_viewer', { token })),
  discovery:
    async ({ url }: RunningService) =>
    () =>
      get(url + paths.openidConfiguration),
  'key set':
    async ({ url }: RunningService) =>
    () =>
      get(url + paths.jwks),
}

function withToken(request: (url: string, token: string) => Promise<Answer>): Prepare {
  return async ({ url }) => {
    const { access_token: token } = await tokensOf(url)
    return () => request(url, token)
  }
}

async function tokensOf(url: string): Promise<{ access_token: string; refresh_token: string }> {
  const [code = ''] = await codesOf(url, 1)
  return (await exchange(url, code)).body
}

/** Of one browser, which signs in once. */
async function codesOf(url: string, count: number): Promise<string[]> {
  const person = makeHeadlessPerson(sam)
  const codes: string[] = []
  while (codes.length < count) {
    const callback = await person.authorize(authorizeUrl(url), notes.redirectUri)
    codes.push(callback.searchParams.get('code') ?? '')
  }
  return codes
}

/** Counts in both drivers, and takes its hands off them at the end. */
function startCounter(redisUrl: string) {
  const redis = new Redis(redisUrl)
  const depth = new Depth()
  let statements = 0
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function counted(this: pg.Client, ...words: unknown[]) {
    statements += 1
    const callback: unknown = words.at(-1)
    if (typeof callback !== 'function') return depth.note(Reflect.apply(query, this, words))
    const { promise, resolve } = Promise.withResolvers<void>()
    void depth.note(promise)
    const answered = (...answer: unknown[]) => {
      resolve()
      Reflect.apply(callback, undefined, answer)
    }
    return Reflect.apply(query, this, [...words.slice(0, -1), answered])
  } as typeof query
  const { sendCommand } = Redis.prototype
  Redis.prototype.sendCommand = function counted(this: Redis, ...words) {
    const sent = Reflect.apply(sendCommand, this, words)
    return this === redis ? sent : depth.note(sent)
  } as typeof sendCommand
  return {
    async count(request: () => Promise<void>): Promise<RoundTrips> {
      const before = { statements, ...(await redisCounters(redis)) }
      // Calls that run beside one another may end in any order, which can only add to what is seen.
      let deep = Number.POSITIVE_INFINITY
      for (let i = 0; i < REQUESTS; i += 1) {
        depth.reset()
        await request()
        deep = Math.min(deep, depth.deepest)
      }
      const counted = statements - before.statements
      const after = await redisCounters(redis)
      return {
        sql: counted / REQUESTS,
        // The question itself is one, which the second answer counts and the first does not.
        redisCommands: (after.commands - before.commands - 1) / REQUESTS,
        redisBatches: (after.batches - before.batches - 1) / REQUESTS,
        deep,
      }
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

/** The longest chain of calls of which each began after the one before it had ended. */
class Depth {
  #ended = 0

  reset(): void {
    this.#ended = 0
  }

  get deepest(): number {
    return this.#ended
  }

  /** Takes what a driver gave back for a call, and hands it on. */
  note<T>(call: T): T {
    const depth = this.#ended + 1
    const end = () => {
      this.#ended = Math.max(this.#ended, depth)
    }
    if (!(call instanceof Promise)) throw new Error('the driver is used with promises')
    call.then(end, end)
    return call
  }
}
