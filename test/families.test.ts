import { createHmac } from 'node:crypto'

import { expect } from 'chai'

import type { Family } from '../src/oauth/grants/family-store.ts'
import {
  endOf,
  judgeGeneration,
  type RefreshTokenLifetimes,
  stepsAfter,
} from '../src/oauth/token/refresh-token-use.ts'
import { familyOfCode, makeTokenValues, newSeed } from '../src/oauth/token/token-values.ts'
import {
  exchange,
  getCode,
  introspect,
  obtain,
  refresh,
  type Tokens,
  userinfo,
} from './support/client.ts'
import type { RunningService } from './support/gatehouse.ts'
import { forEachStorage } from './support/storages.ts'
import { refusalOf } from './support/wire.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const NOW_MS = 1_800_000_000_000

const lifetimes: RefreshTokenLifetimes = {
  refreshTokenSeconds: 30 * 86_400,
  refreshTokenAbsoluteSeconds: 90 * 86_400,
  refreshRetrySeconds: 10,
}

const family: Family = {
  id: familyOfCode('code'),
  seed: 'c2VlZA',
  token: {
    scopes: ['openid', 'profile', 'account:read'],
    audience: 'https://gatehouse.example',
    refreshes: true,
  },
  generation: 3,
  steps: [NOW_MS - 9_000, NOW_MS - 2_000],
  startedAt: NOW_MS - DAY_MS,
  ended: false,
}

describe('the tokens of a family', () => {
  const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const values = makeTokenValues(keys)

  it('a refresh token is the same text wherever it is made, and says which it is', () => {
    const value = values.writeRefreshToken(family, 12_345)
    expect(makeTokenValues(keys).writeRefreshToken(family, 12_345)).to.equal(value)
    const claim = values.readRefreshToken(value)
    expect([claim?.familyId, claim?.generation]).to.deep.equal([family.id, 12_345])
    expect(claim?.isGenuine(family)).to.equal(true)
  })

  it('are those of this seed and of a root secret that is listed, the first of them or another', () => {
    const value = values.writeRefreshToken(family, 7)
    const turned = makeTokenValues([Buffer.alloc(32, 3), ...keys]).readRefreshToken(value)
    expect(turned?.isGenuine(family)).to.equal(true)
    const gone = makeTokenValues([Buffer.alloc(32, 3)]).readRefreshToken(value)
    expect(gone?.isGenuine(family)).to.equal(false)
    expect(turned?.isGenuine({ seed: newSeed() })).to.equal(false)
  })

  // [RFC 6749 §10.3; RFC 6749 §10.4]
  it('cannot be made of what the store has alone', () => {
    const [id, generation] = [family.id, 4]
    const guesses = ['', family.seed, id].map((key) =>
      createHmac('sha256', key).update(`${family.seed} ${id}.${generation}`).digest('base64url'),
    )
    for (const mac of guesses) {
      const claim = values.readRefreshToken(`${id}.${generation}.${mac}`)
      expect(claim?.isGenuine(family)).to.equal(false)
    }
  })

  for (const scopes of [
    ['openid', 'profile', 'account:read'],
    ['account:read'],
    ['openid', 'account:read'],
    [],
  ]) {
    it(`an access token says when it was issued, and that it has ${scopes.join(' ') || 'no scope'}`, () => {
      const all = family.token.scopes
      const issued = { generation: 40, issuedAtSeconds: 1_800_000_000, has: scopes }
      const value = values.writeAccessToken({ ...family, scopes: all }, issued)
      const claim = values.readAccessToken(value)
      expect(claim?.isGenuine(family)).to.equal(true)
      expect([claim?.generation, claim?.issuedAtSeconds]).to.deep.equal([40, 1_800_000_000])
      expect(claim?.scopesOf(all)).to.deep.equal(scopes)
    })
  }

  // [RFC 6749 §10.3; RFC 6749 §10.4]
  it('a changed letter anywhere makes it nobody’s', () => {
    const value = values.writeAccessToken(
      { ...family, scopes: family.token.scopes },
      { generation: 1, issuedAtSeconds: 1_800_000_000, has: ['openid'] },
    )
    for (const [at, letter] of [...value].entries()) {
      const other = letter === 'b' ? 'c' : 'b'
      const claim = values.readAccessToken(value.slice(0, at) + other + value.slice(at + 1))
      const isTaken = claim?.familyId === family.id && claim.isGenuine(family)
      expect(isTaken, `character ${at}`).to.not.equal(true)
    }
  })

  it('has one form each, and neither is read as the other', () => {
    const refreshToken = values.writeRefreshToken(family, 1)
    const accessToken = values.writeAccessToken(
      { ...family, scopes: [] },
      { generation: 0, issuedAtSeconds: 1_800_000_000, has: [] },
    )
    expect(values.readAccessToken(refreshToken)).to.equal(undefined)
    expect(values.readRefreshToken(accessToken)).to.equal(undefined)
    for (const value of [
      '',
      'x',
      `${family.id}.01.${family.id}`,
      `${refreshToken}\n`,
      '.'.repeat(9),
    ]) {
      expect(values.readRefreshToken(value)).to.equal(undefined)
      expect(values.readAccessToken(value)).to.equal(undefined)
    }
  })
})

describe('the use of a refresh token', () => {
  const judge = (generation: number, changes: Partial<Family> = {}, nowMs = NOW_MS) =>
    judgeGeneration({ ...family, ...changes }, generation, { lifetimes, nowMs })

  it('is good for the present generation only', () => {
    expect(judge(3)).to.deep.equal({ kind: 'good' })
    expect(judge(4).kind).to.equal('lost')
  })

  it('is a retry for whatever was replaced within the window, and says when', () => {
    expect(judge(2)).to.deep.equal({ kind: 'retry', replacedAt: NOW_MS - 2_000 })
    expect(judge(1)).to.deep.equal({ kind: 'retry', replacedAt: NOW_MS - 9_000 })
    expect(judge(1, {}, NOW_MS + 1_001)).to.deep.equal({ kind: 'reused' })
  })

  it('is a theft for any older one', () => {
    expect(judge(0)).to.deep.equal({ kind: 'reused' })
    expect(judge(2, {}, NOW_MS + 8_001)).to.deep.equal({ kind: 'reused' })
  })

  it('is over with the family, with its end, and for a client that may not refresh', () => {
    expect(judge(3, { ended: true }).kind).to.equal('lost')
    expect(judge(2, { ended: true }).kind).to.equal('lost')
    expect(judge(3, { token: { ...family.token, refreshes: false } }).kind).to.equal('lost')
    expect(judge(3, {}, NOW_MS - 2_000 + 30 * DAY_MS).kind).to.equal('lost')
    expect(endOf({ ...family, startedAt: NOW_MS - 89 * DAY_MS }, lifetimes)).to.equal(
      NOW_MS + DAY_MS,
    )
  })

  it('leaves the steps of one window, and never more than a constant number', () => {
    expect(stepsAfter(family, lifetimes, NOW_MS + HOUR_MS)).to.deep.equal([NOW_MS + HOUR_MS])
    expect(stepsAfter(family, lifetimes, NOW_MS)).to.deep.equal([...family.steps, NOW_MS])
    const many = { steps: Array.from({ length: 100 }, () => NOW_MS) }
    expect(stepsAfter(many, lifetimes, NOW_MS)).to.have.length(32)
  })
})

/** Of one that is refreshed hourly for 80 days there are 1,920; the row of the last is as that of any. */
const REFRESHES = 300

forEachStorage('a family that is refreshed for weeks', (start) => {
  let time = Date.now()
  let service: RunningService
  before(async function () {
    this.timeout(60_000)
    time = Date.now()
    service = await start({ now: () => time })
  })
  after(async () => await service?.[Symbol.asyncDispose]())

  it('occupies what it did at its beginning, and knows every token that it ever had', async function () {
    this.timeout(300_000)
    const { url } = service
    let { refresh_token: current } = await obtain(url)
    const used: string[] = []
    const before = await stored(service)
    for (let count = 0; count < REFRESHES; count += 1) {
      time += HOUR_MS
      used.push(current)
      const { status, body } = await refresh(url, current)
      expect(status).to.equal(200)
      current = (body as Tokens).refresh_token
    }
    const after = await stored(service)
    expect(after.rows).to.deep.equal(before.rows)
    // The digits of the generation.
    expect(after.familyBytes - before.familyBytes).to.be.within(0, 8)

    time += 60_000
    const oldest = used[0] ?? ''
    expect(refusalOf(await refresh(url, oldest))).to.equal('400 invalid_grant')
    expect(refusalOf(await refresh(url, current))).to.equal('400 invalid_grant')
    const { end_reason } = await service.service.stores.database.kysely
      .selectFrom('oauth_grant')
      .select('end_reason')
      .where('ended_at', 'is not', null)
      .executeTakeFirstOrThrow()
    expect(end_reason).to.equal('a replaced refresh token was used again')
  })

  it('a code that was exchanged is no token, though its digest names the family', async () => {
    const { url } = service
    const code = await getCode(url)
    expect((await exchange(url, code)).status).to.equal(200)
    expect(refusalOf(await refresh(url, code))).to.equal('400 invalid_grant')
    expect((await introspect(url, code)).body).to.deep.equal({ active: false })
    expect((await userinfo(url, code)).status).to.equal(401)
  })
})

async function stored({ service }: RunningService) {
  const { kysely } = service.stores.database
  const count = async (table: 'oauth_state' | 'oauth_grant' | 'refresh_token_family') => {
    const { rows } = await kysely
      .selectFrom(table)
      .select((eb) => eb.fn.countAll().as('rows'))
      .executeTakeFirstOrThrow()
    return Number(rows)
  }
  const families = await kysely.selectFrom('refresh_token_family').selectAll().execute()
  return {
    rows: [
      await count('oauth_state'),
      await count('oauth_grant'),
      await count('refresh_token_family'),
    ],
    familyBytes: JSON.stringify(families).length,
  }
}
