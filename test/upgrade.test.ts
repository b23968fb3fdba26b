import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect } from 'chai'

import { listEvents } from '../src/platform/audit/audit-list.ts'
import { paths } from '../src/platform/http/paths.ts'
import type { DatabaseLocation } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-database.ts'
import { auditPage } from '../views/admin-audit.ts'
import { postgresPlace } from './support/database.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import { removeAtExit } from './support/programs.ts'
import { startRedis } from './support/redis.ts'
import { requireProgram } from './support/skipped.ts'

/**
 * What version 0.1.0 left behind, in `data/`: its rows and its Redis keys after people had signed in
 * through its own pages, with the cookies and tokens that they hold. Times are moved as if all of it
 * had happened just now. There are six grants: of a member, of an operator, to a metadata document, of
 * a plain sign-in, one whose refresh token was used once, and one that its person had removed while
 * the engine's half of it stayed in the state store.
 */
interface DataSet {
  readonly madeAtMs: number
  readonly baseUrl: string
  readonly secret: string
  readonly verifier: string
  readonly holders: readonly Holder[]
  /** Of /account. */
  readonly pageCookie: string
  readonly rows: Readonly<Record<string, readonly Row[]>>
  readonly redis?: readonly RedisKey[]
}

interface Holder {
  readonly name: string
  readonly site?: string
  readonly person: string
  readonly request: Readonly<Record<string, string>>
  readonly cookie: string
  readonly accessToken: string
  readonly refreshToken: string
  readonly replacedRefreshToken?: string
}

type Row = Readonly<Record<string, string | number | null>>

interface RedisKey {
  readonly key: string
  readonly ttlMs: number
  readonly value?: string
  readonly members?: readonly string[]
}

const VERSION_BEFORE = ['0001-foundation.sql', '0002-document-clients.sql', '0003-connections.sql']
const data = join(import.meta.dirname, 'data')
const migrations = join(import.meta.dirname, '../src/platform/store/migrations')

describe('a data set of version 0.1.0', () => {
  describe('on SQLite', () =>
    suite('v0.1.0-database.json', async (set) => {
      const folder = newFolder('gatehouse-upgrade-')
      await fill({ kind: 'sqlite', file: join(folder, 'gatehouse.db') }, set)
      return { DATA_DIR: folder }
    }))

  describe('on PostgreSQL', () => {
    let postgres = ''
    before(function () {
      this.timeout(30_000)
      postgres = requireProgram(this, 'postgres')
    })
    suite('v0.1.0-database.json', async (set) => await filledPostgres(postgres, set))
  })

  describe('on PostgreSQL and Redis', () => {
    const programs = { postgres: '', redis: '' }
    before(function () {
      this.timeout(30_000)
      programs.postgres = requireProgram(this, 'postgres')
      programs.redis = requireProgram(this, 'redis-server')
    })
    suite('v0.1.0-redis.json', async (set, opening) => {
      const redis = opening.use(await startRedis(programs.redis))
      const elapsed = Date.now() - set.madeAtMs
      for (const { key, ttlMs, value, members } of set.redis ?? []) {
        if (value !== undefined) await redis.ask('SET', key, movedText(value, elapsed))
        else if (members) await redis.ask('ZADD', key, ...scored(members, elapsed))
        await redis.ask('PEXPIRE', key, ttlMs)
      }
      return { ...(await filledPostgres(programs.postgres, set)), REDIS_URL: redis.url }
    })
  })
})

type Fill = (set: DataSet, opening: AsyncDisposableStack) => Promise<Record<string, string>>

function suite(file: string, fill: Fill): void {
  const set: DataSet = JSON.parse(readFileSync(join(data, file), 'utf8'))
  const of = (name: string) => {
    const holder = set.holders.find((candidate) => candidate.name === name)
    if (!holder) throw new Error(`nobody is called ${name}`)
    return holder
  }
  let opening: AsyncDisposableStack
  let service: RunningService
  const clock = { aheadMs: 0 }
  beforeEach(async function () {
    this.timeout(30_000)
    opening = new AsyncDisposableStack()
    clock.aheadMs = 0
    const environment = await fill(set, opening)
    service = opening.use(
      await startService({
        environment: { BASE_URL: set.baseUrl, SECRET: set.secret, DEMO_DATA: 'on', ...environment },
        now: () => Date.now() + clock.aheadMs,
        policy: (policy) => ({
          ...policy,
          metadataDocuments: { hosts: ['client.example'], openRegistration: false },
        }),
      }),
    )
  })
  afterEach(async () => await opening.disposeAsync())

  /** The service knows itself under the address of the data set, wherever it listens. */
  const send = async (path: string, init: RequestInit = {}) =>
    await fetch(`http://127.0.0.1:${service.config.port}${path}`, { redirect: 'manual', ...init })

  const userinfo = async (token: string) =>
    await send(paths.userinfo, { headers: { authorization: `Bearer ${token}` } })

  const refresh = async ({ request }: Holder, refresh_token: string) =>
    await send(paths.token, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: request['client_id'] ?? '',
        refresh_token,
      }),
    })

  const tokensOf = async (answer: Response) =>
    (await answer.json()) as { access_token: string; refresh_token: string }

  for (const name of ['member', 'operator', 'document', 'plain', 'used']) {
    it(`the tokens of the ${name} grant go on working, at the site that they were given for`, async () => {
      const holder = of(name)
      const seen = await userinfo(holder.accessToken)
      expect(seen.status).to.equal(200)
      const claims = (await seen.json()) as { sub: string; org_id?: string }
      expect([claims.sub, claims.org_id]).to.deep.equal([holder.person, holder.site])

      const refreshed = await refresh(holder, holder.refreshToken)
      expect(refreshed.status).to.equal(200)
      expect((await userinfo((await tokensOf(refreshed)).access_token)).status).to.equal(200)
      const { allowed } = await service.service.stores.database.kysely
        .selectFrom('oauth_grant')
        .select('allowed')
        .where('person_id', '=', holder.person)
        .where('client_id', '=', holder.request['client_id'] ?? '')
        .where('allowed', 'is not', null)
        .executeTakeFirstOrThrow()
      expect(allowed, 'it was taken over by its use').to.include('openid')
    })
  }

  it('a member token reaches the Member API, and its grant is in the list of connected apps', async () => {
    const answer = await send(paths.graphql, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${of('member').accessToken}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: '{ viewer { id } }' }),
    })
    expect(await answer.json()).to.have.nested.property('data.viewer.id', 'per_sam')
    const page = await send('/account/apps', { headers: { cookie: set.pageCookie } })
    expect(page.status, 'the session of the pages goes on').to.equal(200)
    expect((await page.text()).match(/Course Notes/g) ?? []).to.have.length.above(0)
  })

  for (const name of ['member', 'operator', 'plain']) {
    it(`the browser of the ${name} grant is asked neither to sign in nor to consent`, async () => {
      const { request, cookie } = of(name)
      const query = new URLSearchParams({
        ...request,
        response_type: 'code',
        state: 's',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      })
      const answer = await send(`${paths.authorization}?${query}`, { headers: { cookie } })
      const back = new URL(answer.headers.get('location') ?? '', set.baseUrl)
      expect(back.searchParams.get('code'), String(back)).to.be.a('string')
    })
  }

  it('a grant that had ended stays ended, though the state store still has the half of the engine', async () => {
    const ended = of('ended')
    expect((await userinfo(ended.accessToken)).status).to.equal(401)
    const refused = await refresh(ended, ended.refreshToken)
    const { error, error_description: said } = (await refused.json()) as Record<string, string>
    expect([refused.status, error]).to.deep.equal([400, 'invalid_grant'])
    // A process of an older version said no more than this.
    expect(said).to.match(/^grant request is invalid/)
    const query = new URLSearchParams({
      ...ended.request,
      response_type: 'code',
      prompt: 'none',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    })
    const headers = { cookie: ended.cookie }
    const answer = await send(`${paths.authorization}?${query}`, { headers })
    expect(answer.headers.get('location')).to.include('error=consent_required')
    const rows = await service.service.stores.database.kysely
      .selectFrom('oauth_grant')
      .select('id')
      .where('client_id', '=', 'northlight-notes')
      .execute()
    expect(rows, 'the two that live').to.have.length(2)
  })

  it('a refresh token that was used under the version before is repeated for ten seconds, and then ends its grant', async () => {
    const used = of('used')
    const repeated = await refresh(used, used.replacedRefreshToken ?? '')
    expect((await tokensOf(repeated)).refresh_token).to.equal(used.refreshToken)
    expect((await userinfo(used.accessToken)).status).to.equal(200)

    clock.aheadMs = 60_000
    expect((await refresh(used, used.replacedRefreshToken ?? '')).status).to.equal(400)
    expect((await userinfo(used.accessToken)).status).to.equal(401)
    const ended = await service.service.stores.database.kysely
      .selectFrom('oauth_grant')
      .select('end_reason')
      .where('ended_at', 'is not', null)
      .execute()
    expect(ended).to.deep.equal([{ end_reason: 'a used refresh token came back' }])
  })

  it("the audit trail of the version before reads with today's words", async () => {
    const { database } = service.service.stores
    const page = { first: 10, after: undefined }
    const { rows } = await listEvents(database, { siteId: 'sit_northlight' }, page)
    expect(rows.map(({ action, words }) => `${action}: ${words}`)).to.deep.equal([
      'application.delete: deleted the application',
      'grants.end_all: ended the access of everybody by the application',
      'grant.end: ended the access of a person by the application',
      'grant.remove: removed the own access of the application',
    ])
    const facts = rows.flatMap(({ before, after }) =>
      [before, after].filter((side) => side != null),
    )
    const names = new Set(facts.flatMap((side) => Object.keys(JSON.parse(side))))
    expect([...names].toSorted()).to.deep.equal(['connections', 'connectionsEnded'])
    const [row] = rows
    if (!row) throw new Error('there is no change')
    const entry = { ...row, before: undefined }
    const after = [...names].map((name) => ({ name, value: '3' }))
    const { body } = auditPage({
      area: { name: '', links: [], signOutAction: '', person: { name: '', email: '' }, csrf: '' },
      siteName: 'Northlight',
      question: { action: '', client: '', person: '', from: '', to: '' },
      ...{ actions: [], action: '' },
      entries: [{ ...entry, after }],
      pager: { nextHref: undefined, firstHref: undefined },
    })
    expect(String(body)).to.include('grants:').and.include('grants ended:')
    expect(String(body)).not.to.include('connections')
  })
}

/** What version 0.1.0 wrote of grants in the audit trail; the data sets have no line of it. */
const formerAuditEvents = [
  { action: 'connection.remove', before: '{"connections":2}', after: '{"connections":0}' },
  { action: 'connection.revoke', before: '{"connections":1}', after: '{"connections":0}' },
  { action: 'connections.revoke_all', before: '{"connections":3}', after: '{"connections":0}' },
  { action: 'application.delete', before: null, after: '{"connectionsEnded":3}' },
]

async function filledPostgres(file: string, set: DataSet): Promise<Record<string, string>> {
  const { location } = await postgresPlace(file, 'nothing')
  await fill(location, set)
  return { DATABASE_URL: location.kind === 'postgres' ? location.url : '' }
}

/** A database as the version before left it: its migrations, and its rows. */
async function fill(location: DatabaseLocation, set: DataSet): Promise<void> {
  const folder = newFolder('gatehouse-migrations-')
  for (const name of readdirSync(migrations).filter((file) => VERSION_BEFORE.includes(file))) {
    cpSync(join(migrations, name), join(folder, name))
  }
  await using database = await openDatabase(location, { migrationsFolder: folder })
  const elapsed = Date.now() - set.madeAtMs
  for (const [table, rows] of Object.entries(set.rows)) {
    for (const row of table === 'schema_migration' ? [] : rows) {
      // Tables of the version before are no part of today's schema.
      await database.kysely
        .insertInto(table as 'person')
        .values(moved(row, elapsed) as never)
        .execute()
    }
  }
  const events = formerAuditEvents.map((event, index) => ({
    ...{ ...event, id: `event-${index}`, occurred_at: index, actor_person_id: 'per_sam' },
    ...{ subject_kind: 'application', subject_id: 'northlight-notes', site_id: 'sit_northlight' },
  }))
  await database.kysely.insertInto('audit_event').values(events).execute()
}

function newFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  mkdirSync(folder, { recursive: true })
  removeAtExit(folder)
  return folder
}

/** Moves every moment of a row by as much as has gone by since it was written. */
function moved(row: Row, elapsed: number): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (typeof value === 'number' && /_(at|until)$/.test(name)) return [name, value + elapsed]
      if (name === 'payload') return [name, movedText(String(value), elapsed)]
      return [name, value]
    }),
  )
}

const SECONDS = /"(exp|iat|iiat|authTime|loginTs)":(\d+)/g
const MILLISECONDS = /("beganAt":|^\[)(\d+)/g

function movedText(text: string, elapsed: number): string {
  const seconds = Math.floor(elapsed / 1000)
  return text
    .replace(SECONDS, (_all, name, value) => `"${name}":${Number(value) + seconds}`)
    .replace(MILLISECONDS, (_all, before, value) => before + (Number(value) + elapsed))
}

function scored(members: readonly string[], elapsed: number): (string | number)[] {
  return members.flatMap((member, index) =>
    index % 2 === 0 ? [Number(members[index + 1]) + elapsed, member] : [],
  )
}
