import { createHmac, generateKeyPairSync, randomBytes, verify } from 'node:crypto'

import type { Family } from '../src/oauth/grants/family-store.ts'
import { EngineKey } from '../src/oauth/keys/engine-key.ts'
import { makeSecretRoot } from '../src/oauth/keys/secret-root.ts'
import { expiryOf, judgeGeneration, stepsAfter } from '../src/oauth/token/refresh-token-use.ts'
import { familyOfCode, makeTokenValues, newSeed } from '../src/oauth/token/token-values.ts'
import type { Database } from '../src/platform/store/database.ts'
import { obtain, obtainTokens, refresh, userinfo } from './support/client.ts'
import { rowOf, rowsOf } from './support/database.ts'
import { defaultsInForce } from './support/figures.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { refusalOf } from './support/wire.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const NOW_MS = 1_800_000_000_000

const lifetimes = {
  ...defaultsInForce().service.lifetimes,
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

describe('token values', () => {
  const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const values = makeTokenValues(keys)
  const all = family.token.scopes
  const writeAccess = (generation: number, has: readonly string[]) =>
    values.writeAccessToken({ ...family, scopes: all }, { generation, issuedAtSeconds: 1.8e9, has })

  it('name their family and generation, and depend on the seed and a listed root secret', () => {
    const value = values.writeRefreshToken(family, 12_345)
    expect(makeTokenValues(keys).writeRefreshToken(family, 12_345)).to.equal(value)
    const other = Buffer.alloc(32, 3)
    for (const [listed, seed, isGenuine] of [
      [keys, family.seed, true],
      [[other, ...keys], family.seed, true],
      [[other], family.seed, false],
      [keys, newSeed(), false],
    ] as const) {
      const claim = makeTokenValues(listed).readRefreshToken(value)
      expect([claim?.familyId, claim?.generation]).to.deep.equal([family.id, 12_345])
      expect(claim?.isGenuine({ seed })).to.equal(isGenuine)
    }
  })

  for (const has of [all, ['account:read'], ['openid', 'account:read'], []]) {
    it(`name when an access token was issued and its scopes: ${has.join(' ') || 'none'}`, () => {
      const claim = values.readAccessToken(writeAccess(40, has))
      expect(claim?.isGenuine(family)).to.equal(true)
      expect([claim?.generation, claim?.issuedAtSeconds]).to.deep.equal([40, 1_800_000_000])
      expect(claim?.scopesOf(all)).to.deep.equal(has)
    })
  }

  it('are invalid after a change of any character [RFC 6749 §10.3; RFC 6749 §10.4]', () => {
    const value = writeAccess(1, ['openid'])
    for (const [at, letter] of [...value].entries()) {
      const other = letter === 'b' ? 'c' : 'b'
      const claim = values.readAccessToken(value.slice(0, at) + other + value.slice(at + 1))
      const isTaken = claim?.familyId === family.id && claim.isGenuine(family)
      expect(isTaken, `character ${at}`).to.not.equal(true)
    }
  })
})

// [RFC 7518 §3.4]
it('the engine signs with ES256, also where R or S is a short number', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const engineKey = new EngineKey(privateKey.export({ format: 'jwk' }))
  const key = engineKey.keyObject()
  const short = { R: 0, S: 0 }
  while (short.R === 0 || short.S === 0) {
    const data = randomBytes(100)
    const signature = engineKey.sign(data)
    expect(verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)).to.equal(true)
    if (signature[0] === 0) short.R += 1
    if (signature[32] === 0) short.S += 1
  }
})

describe('the use of a refresh token', () => {
  const judge = (generation: number, changes: Partial<Family> = {}, nowMs = NOW_MS) =>
    judgeGeneration({ family: { ...family, ...changes }, generation }, { lifetimes, nowMs })

  it('is good for the current generation only', () => {
    expect([judge(3), judge(4).kind]).to.deep.equal([{ kind: 'good' }, 'lost'])
  })

  it('is a retry within the window after a replacement, and a theft later', () => {
    expect(judge(2)).to.deep.equal({ kind: 'retry', replacedAt: NOW_MS - 2_000 })
    expect(judge(1)).to.deep.equal({ kind: 'retry', replacedAt: NOW_MS - 9_000 })
    const late = [judge(1, {}, NOW_MS + 1_001), judge(2, {}, NOW_MS + 8_001), judge(0)]
    expect(late).to.deep.equal(Array(3).fill({ kind: 'reused' }))
  })

  it('ends with the family, at its end, and for a client that may not refresh', () => {
    expect(judge(3, { ended: true }).kind).to.equal('lost')
    expect(judge(2, { ended: true }).kind).to.equal('lost')
    expect(judge(3, { token: { ...family.token, refreshes: false } }).kind).to.equal('lost')
    expect(judge(3, {}, NOW_MS - 2_000 + 30 * DAY_MS).kind).to.equal('lost')
    const old = { ...family, startedAt: NOW_MS - 89 * DAY_MS }
    expect(expiryOf({ family: old }, lifetimes)).to.equal(NOW_MS + DAY_MS)
  })

  it('keeps the steps of one window, and never more than 32', () => {
    expect(stepsAfter(family, lifetimes, NOW_MS + HOUR_MS)).to.deep.equal([NOW_MS + HOUR_MS])
    expect(stepsAfter(family, lifetimes, NOW_MS)).to.deep.equal([...family.steps, NOW_MS])
    const many = { steps: Array.from({ length: 100 }, () => NOW_MS) }
    expect(stepsAfter(many, lifetimes, NOW_MS)).to.have.length(32)
  })
})

forEachStorage('a family that is refreshed for weeks', (start) => {
  let time = Date.now()
  const service = sharedService({ now: () => time }, start)

  // [RFC 6749 §10.4; RFC 9700 §2.2.2; RFC 9700 §4.14.2; MCP Authorization §Token Theft]
  it('occupies constant space, and ends with its grant when its oldest refresh token is used again [design 10]', async function () {
    this.timeout(300_000)
    const { url, kysely } = service()
    let tokens = await obtain(url)
    const { refresh_token: oldest } = tokens
    const before = await stored(kysely)
    for (let count = 0; count < 300; count += 1) {
      time += HOUR_MS
      const { status, body } = await refresh(url, tokens.refresh_token)
      expect(status).to.equal(200)
      tokens = body
    }
    const after = await stored(kysely)
    expect(after.rows).to.deep.equal(before.rows)
    expect(after.familyBytes - before.familyBytes).to.be.within(0, 8)

    time += 60_000
    for (const token of [oldest, tokens.refresh_token])
      expect(refusalOf(await refresh(url, token))).to.equal('400 invalid_grant')
    expect((await userinfo(url, tokens.access_token)).status).to.equal(401)
    const ended = (await rowsOf(kysely, 'oauth_grant')).find(({ ended_at }) => ended_at !== null)
    expect(ended?.end_reason).to.equal('a replaced refresh token was used again')
  })
})

async function stored(kysely: Database['kysely']) {
  const families = await rowsOf(kysely, 'refresh_token_family')
  const others = [await rowsOf(kysely, 'oauth_state'), await rowsOf(kysely, 'oauth_grant')]
  const rows = [families, ...others].map(({ length }) => length)
  return { rows, familyBytes: JSON.stringify(families).length }
}

/** An attacker has the whole database and one old refresh token, but not SECRET. */
describe('a copy of the database with an old refresh token (design 10, decision 13)', () => {
  const SECRET = 'the-secret-of-these-tests-is-long-enough-to-be-one'
  const service = sharedService({ environment: { SECRET } })

  it('contains no token, cannot be used to derive a valid one, and does not harm existing ones', async () => {
    const { url, kysely } = service()
    const { refreshToken, accessToken } = await obtainTokens(url)
    const { body: live } = await refresh(url, refreshToken)
    const tables = await kysely.introspection.getTables()
    const rows = await Promise.all(tables.map(({ name }) => rowsOf(kysely, name as 'setting')))
    for (const token of [refreshToken, accessToken, live.refresh_token, live.access_token]) {
      const mac = String(token).split('.').at(-1) ?? ''
      expect(mac).to.have.length(43)
      expect(JSON.stringify(rows)).not.to.include(mac)
    }

    const [familyId = '', , oldMac = ''] = refreshToken.split('.')
    const row = await rowOf(kysely, 'refresh_token_family', { id: familyId })
    const text = `${familyId}.${row.generation.toString(36)}`
    const guesses = [row.seed, oldMac, familyId, row.grant_id, ''].flatMap((key) =>
      [`${row.seed} ${text}`, text, `${oldMac} ${text}`, `${row.seed} ${oldMac}`].map((said) =>
        createHmac('sha256', key).update(said).digest('base64url'),
      ),
    )
    const valuesOf = (secret: string) => makeTokenValues(makeSecretRoot([secret]).tokenKeys)
    const other = valuesOf('another-secret-that-is-long-enough-to-be-one')
    const forged = other.writeRefreshToken(row, row.generation)
    for (const value of [...guesses.map((mac) => `${text}.${mac}`), forged])
      expect(refusalOf(await refresh(url, value))).to.equal('400 invalid_grant')
    const { scopes } = JSON.parse(row.token)
    const access = other.writeAccessToken(
      { ...row, scopes },
      { ...row, issuedAtSeconds: Math.floor(row.started_at / 1000), has: scopes },
    )
    expect((await userinfo(url, access)).status).to.equal(401)
    const own = valuesOf(SECRET).writeRefreshToken(row, row.generation)
    expect(own, 'the secret and the row make the live token').to.equal(live.refresh_token)
    expect((await refresh(url, live.refresh_token)).status).to.equal(200)
  })
})
