import { expect } from 'chai'
import pg from 'pg'

import { type RunningService, startService } from '../support/gatehouse.ts'
import { inTime } from '../support/in-time.ts'
import { askMember, type MemberAnswer, memberToken, readOnly } from '../support/member-api.ts'
import { eventually } from '../support/programs.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'

/** Design 24 promises half a second; the rest is for a machine that runs every test at once. */
const ANSWER_WITHIN_MS = 900

describe('the Member API while storage is out of reach', () => {
  let redis: RedisServer
  let running: RunningService
  let databaseUrl = ''
  let token = ''
  before(async function () {
    const postgres = requireProgram(this, 'postgres')
    redis = await startRedis(requireProgram(this, 'redis-server'))
    const environment = { ...(await postgresWithDemo(postgres)), REDIS_URL: redis.url }
    databaseUrl = environment.DATABASE_URL
    running = await startService({ environment, inTime: true })
    token = await memberToken(running.url, readOnly)
  })
  after(async () => {
    redis?.thaw()
    await running?.[Symbol.asyncDispose]()
    await redis?.[Symbol.asyncDispose]()
  })

  const ask = async (query = '{ viewer { id } }') =>
    await askMember({ url: running.url, token }, { query })

  function expectUnavailable(answer: MemberAnswer): void {
    expect(answer.status).to.equal(503)
    expect(answer.body.error).to.equal('temporarily_unavailable')
    expect(answer.body.data).to.equal(undefined)
    expect(answer.headers.get('www-authenticate')).to.equal(null)
    expect(answer.headers.get('retry-after')).to.equal('1')
    expect(answer.text).not.to.match(/127\.0\.0\.1|redis|postgres|course_purchase|timeout/i)
  }

  it('asks Redis nothing for a token', async () => {
    await redis.ask('config', 'resetstat')
    expect((await ask()).status).to.equal(200)
    const stats = String(await redis.ask('info', 'commandstats'))
    const calls = [...stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)]
      .filter(([, command = '']) => !/^(config|info|client|hello|ping|select)/.test(command))
      .reduce((sum, [, , count]) => sum + Number(count), 0)
    expect(calls).to.equal(0)
  })

  it('answers 503 in time, without a challenge, when no verdict can be reached [Errors 7]', async () => {
    redis.freeze()
    try {
      expect((await ask()).status, 'it is the database that knows tokens').to.equal(200)
    } finally {
      redis.thaw()
    }
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      await client.query('begin')
      await client.query('lock table refresh_token_family in access exclusive mode')
      expectUnavailable(await inTime(ANSWER_WITHIN_MS, () => ask()))
    } finally {
      await client.end()
    }
    // The token was not held against anybody.
    await eventually(20_000, async () => expect((await ask()).status).to.equal(200))
  })

  it('answers 503 in time when the database freezes after the verdict [design 24]', async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    try {
      await client.query('begin')
      await client.query('lock table course_purchase in access exclusive mode')
      const locked = '{ viewer { id enrolledCourses { nodes { slug } totalCount } } }'
      expectUnavailable(await inTime(ANSWER_WITHIN_MS, () => ask(locked)))
      // Whoever asks for nothing that is locked is served as ever.
      expect((await ask()).status).to.equal(200)
    } finally {
      await client.end()
    }
    await eventually(20_000, async () => {
      expect((await ask('{ viewer { enrolledCourses { totalCount } } }')).status).to.equal(200)
    })
  })
})
