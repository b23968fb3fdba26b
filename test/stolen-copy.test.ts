import { createHmac } from 'node:crypto'

import { expect } from 'chai'

import { makeSecretRoot } from '../src/oauth/keys/secret-root.ts'
import { makeTokenValues } from '../src/oauth/token/token-values.ts'
import { obtainTokens, refresh, userinfo } from './support/client.ts'
import { type RunningService, startService } from './support/gatehouse.ts'

/**
 * Somebody has a copy of the database, everything in it, and one refresh token from before. Without SECRET
 * they make no token that lives (design 10, decision 13).
 */
describe('a copy of the database together with an old refresh token', () => {
  const SECRET = 'the-secret-of-these-tests-is-long-enough-to-be-one'
  let service: RunningService
  before(async () => {
    service = await startService({ environment: { SECRET } })
  })
  after(async () => await service[Symbol.asyncDispose]())

  it('does not hold the live refresh token, nor any other', async () => {
    const { refreshToken, accessToken } = await obtainTokens(service.url)
    const { body } = await refresh(service.url, refreshToken)
    const copy = await everything()
    for (const token of [refreshToken, accessToken, body.refresh_token, body.access_token]) {
      const mac = String(token).split('.').at(-1) ?? ''
      expect(mac).to.have.length(43)
      expect(copy).not.to.include(mac)
    }
  })

  it('derives nothing that is taken, with what stands in the row as the key', async () => {
    const { refreshToken } = await obtainTokens(service.url)
    const live = (await refresh(service.url, refreshToken)).body
    const [familyId = '', , oldMac = ''] = refreshToken.split('.')
    const row = await service.service.stores.database.kysely
      .selectFrom('refresh_token_family')
      .selectAll()
      .where('id', '=', familyId)
      .executeTakeFirstOrThrow()
    const text = `${familyId}.${row.generation.toString(36)}`
    const guesses = [row.seed, oldMac, familyId, row.grant_id, ''].flatMap((key) =>
      [`${row.seed} ${text}`, text, `${oldMac} ${text}`, `${row.seed} ${oldMac}`].map((said) =>
        createHmac('sha256', key).update(said).digest('base64url'),
      ),
    )
    // A secret that is not the service's is worth no more than none.
    const other = makeSecretRoot(['another-secret-that-is-long-enough-to-be-one']).tokenKeys
    const values = makeTokenValues(other)
    const forged = [
      ...guesses.map((mac) => `${text}.${mac}`),
      values.writeRefreshToken(row, row.generation),
    ]
    for (const value of forged) {
      expect((await refresh(service.url, value)).body.error).to.equal('invalid_grant')
    }
    const { token, started_at } = row
    const access = values.writeAccessToken(
      { ...row, scopes: JSON.parse(token).scopes },
      {
        generation: row.generation,
        issuedAtSeconds: Math.floor(started_at / 1000),
        has: JSON.parse(token).scopes,
      },
    )
    expect((await userinfo(service.url, access)).status).to.equal(401)
    // None of it harmed whoever holds the live ones, and with the secret the same row makes just these.
    const own = makeTokenValues(makeSecretRoot([SECRET]).tokenKeys)
    expect(own.writeRefreshToken(row, row.generation)).to.equal(live.refresh_token)
    expect((await refresh(service.url, live.refresh_token)).status).to.equal(200)
  })

  /** Every row of every table, as text. */
  async function everything(): Promise<string> {
    const { kysely } = service.service.stores.database
    const tables = await kysely.introspection.getTables()
    const rows = await Promise.all(
      tables.map(
        async ({ name }) =>
          await kysely
            .selectFrom(name as 'setting')
            .selectAll()
            .execute(),
      ),
    )
    return JSON.stringify(rows)
  }
})
