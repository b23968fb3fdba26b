import { expect } from 'chai'

import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import {
  explainTooLong,
  type RequestLengths,
} from '../src/oauth/authorization/authorize-requests.ts'
import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize, locationOf } from './support/client.ts'
import { notes, type RunningService } from './support/gatehouse.ts'
import { MEMBER_SCOPE } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { forEachStorage } from './support/storages.ts'
import { encode, FORM, send } from './support/wire.ts'

const limits: RequestLengths = { stateBytesMax: 4096, bytesMax: 8192 }

/** As long as relying parties are known to send it. */
const honest: Readonly<Record<string, number>> = {
  // ASP.NET behind another ASP.NET: where the person was, twice sealed, and what the first was asked for.
  state: 3000,
  nonce: 150,
  id_token_hint: 1600,
  login_hint: 320,
  claims: 1500,
  redirect_uri: 512,
  client_id: 512,
  scope: scopeNames().join(' ').length,
  code_challenge: 43,
}

describe('the length of an authorization request (RFC 6749 §3.1)', () => {
  it('is enough for what relying parties send', () => {
    for (const [name, length] of Object.entries(honest)) {
      expect(explainTooLong({ [name]: 'x'.repeat(length) }, limits), name).to.equal(undefined)
    }
    const all = Object.entries(honest).map(([name, length]) => [name, 'x'.repeat(length)])
    expect(explainTooLong(Object.fromEntries(all), limits)).to.equal(undefined)
  })

  it('ends at a number that the sentence says, for each parameter and for all', () => {
    expect(explainTooLong({ state: 'x'.repeat(4096) }, limits)).to.equal(undefined)
    expect(explainTooLong({ state: 'x'.repeat(4097) }, limits)).to.equal(
      'the parameter state has 4097 bytes; send at most 4096',
    )
    expect(explainTooLong({ anything: 'x'.repeat(513) }, limits)).to.include('send at most 512')
    expect(explainTooLong({ resource: Array(30).fill('x'.repeat(99)) }, limits)).to.include('2048')
    // As they are kept: six bytes for a control character, three for one of an Asian script.
    expect(explainTooLong({ nonce: '\u0001'.repeat(86) }, limits)).to.include('516 bytes')
    expect(explainTooLong({ nonce: '名'.repeat(171) }, limits)).to.include('513 bytes')
    const all = { state: 'x'.repeat(4096), id_token_hint: 'x'.repeat(4096), nonce: 'x' }
    expect(explainTooLong(all, limits)).to.equal(
      'all parameters together have 8193 bytes; send at most 8192',
    )
  })
})

forEachStorage('an authorization request that is too long', (start) => {
  const service = sharedService(
    {
      policy: (policy) => ({
        ...policy,
        furtherPlans: { ...policy.furtherPlans, pushedAuthorizationRequests: true },
      }),
    },
    start,
  )

  for (const name of ['state', 'nonce', 'login_hint', 'acr_values', 'ui_locales', 'claims']) {
    it(`is told to the client, and nothing of it is kept: ${name}`, async () => {
      const value =
        name === 'claims' ? JSON.stringify({ userinfo: { a: { value: long(2100) } } }) : long(4097)
      const kept = await keptFor(service(), async () => {
        const location = locationOf(await askToAuthorize(service().url, { [name]: value }))
        expect(location.href.split('?')[0]).to.equal(notes.redirectUri)
        expect(location.searchParams.get('error')).to.equal('invalid_request')
        expect(location.searchParams.get('error_description')).to.match(
          new RegExp(`^the parameter ${name} has \\d+ bytes; send at most \\d+$`),
        )
      })
      expect(kept).to.equal(0)
    })
  }

  it('is told to a client that pushes it, and nothing of it is kept', async () => {
    const body = encode({
      ...{ response_type: 'code', client_id: notes.clientId, redirect_uri: notes.redirectUri },
      ...{ scope: MEMBER_SCOPE, resource: service().url, state: long(4097) },
      ...{ code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' },
    })
    const kept = await keptFor(service(), async () => {
      const asked = { method: 'POST', path: '/api/oauth/par', headers: FORM, body }
      const answer = await send(service().url, asked)
      expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_request'])
      expect(answer.body.error_description).to.include('the parameter state has 4097 bytes')
    })
    expect(kept).to.equal(0)
  })

  it('is kept as little as it may be long, whatever else was sent', async () => {
    const kept = await keptFor(service(), async () => {
      const address = { state: long(4000), unknown: long(3000), login_hint: long(500) }
      expect((await askToAuthorize(service().url, address)).status).to.equal(303)
    })
    expect(kept).to.be.within(4500, 5800)
  })
})

forEachStorage('a request to sign out that nobody is signed in for', (start) => {
  const service = sharedService(undefined, start)

  it('is refused when it is too long, and kept no longer than a page of a sign-in otherwise', async () => {
    const { url, service: running, config } = service()
    const ask = async (state: string) =>
      await send(url, { path: `${paths.endSession}?${encode({ state })}` })
    const refused = await ask(long(4097))
    expect([refused.status, refused.headers.get('set-cookie')]).to.deep.equal([400, null])
    expect(refused.text).to.include('the parameter state has 4097 bytes')
    const answer = await ask('x')
    expect(answer.status).to.equal(200)
    const { interactionSeconds } = config.service.lifetimes
    const { redis, database } = running.stores
    if (redis && 'dbsize' in redis) {
      const [key = ''] = await redis.keys('gatehouse:Session:*')
      expect(await redis.pttl(key)).to.be.within(1, interactionSeconds * 1000)
      return
    }
    const [row] = await database.kysely.selectFrom('oauth_state').select('expires_at').execute()
    expect(row?.expires_at).to.be.within(Date.now(), Date.now() + interactionSeconds * 1000)
  })
})

const long = (length: number) => 'x'.repeat(length)

/** The bytes that a request left in the OAuth state of the database; none when Redis has them. */
async function keptFor({ service }: RunningService, ask: () => Promise<void>): Promise<number> {
  const { kysely } = service.stores.database
  const { redis } = service.stores
  const total = async () => {
    if (redis && 'dbsize' in redis) {
      const keys = await redis.keys('gatehouse:Interaction:*')
      const pushed = await redis.keys('gatehouse:PushedAuthorizationRequest:*')
      const sizes = await Promise.all([...keys, ...pushed].map((key) => redis.strlen(key)))
      return sizes.reduce((sum, size) => sum + size, 0)
    }
    const rows = await kysely.selectFrom('oauth_state').select('payload').execute()
    return rows.reduce((sum, { payload }) => sum + payload.length, 0)
  }
  const before = await total()
  await ask()
  return (await total()) - before
}
