import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { explainTooLong } from '../src/oauth/authorization/authorize-requests.ts'
import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize, locationOf } from './support/client.ts'
import { rowOf, rowsOf } from './support/database.ts'
import { notes, type RunningService } from './support/gatehouse.ts'
import { sharedService } from './support/storages.ts'
import { encode, expectAnswer, get } from './support/wire.ts'

const long = (length: number) => 'x'.repeat(length)
const limits = { stateBytesMax: 4096, bytesMax: 8192 }

const honest = {
  // A chain of two ASP.NET services: the encrypted state of the second contains the request and state of the first.
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
  it('is enough for known relying parties, and has a limit for each parameter and for all, which the error names', () => {
    const all = Object.entries(honest).map(([name, length]) => [name, long(length)] as const)
    for (const [name, value] of all)
      expect(explainTooLong({ [name]: value }, limits), name).to.equal(undefined)
    expect(explainTooLong(Object.fromEntries(all), limits)).to.equal(undefined)
    expect(explainTooLong({ state: long(4096) }, limits)).to.equal(undefined)
    const full = { state: long(4096), id_token_hint: long(4096), nonce: 'x' }
    for (const [parameters, said] of [
      [{ state: long(4097) }, 'the state parameter has 4097 bytes; send at most 4096'],
      [{ anything: long(513) }, 'send at most 512'],
      [{ resource: Array(30).fill(long(99)) }, '2048'],
      // Bytes as stored: six for a control character, three for a CJK character.
      [{ nonce: '\u0001'.repeat(86) }, '516 bytes'],
      [{ nonce: '名'.repeat(171) }, '513 bytes'],
      [full, 'all parameters together have 8193 bytes; send at most 8192'],
    ] as const)
      expect(explainTooLong(parameters, limits)).to.include(said)
  })
})

describe('a request that is too long', () => {
  const service = sharedService()

  for (const name of ['state', 'nonce', 'login_hint', 'acr_values', 'ui_locales', 'claims']) {
    it(`is refused by a redirect to the client, and not stored: ${name}`, async () => {
      const claims = JSON.stringify({ userinfo: { a: { value: long(2100) } } })
      const value = name === 'claims' ? claims : long(4097)
      const stored = await bytesStored(service(), async () => {
        const location = locationOf(await askToAuthorize(service().url, { [name]: value }))
        expect(location.href.split('?')[0]).to.equal(notes.redirectUri)
        expect(location.searchParams.get('error')).to.equal('invalid_request')
        const said = new RegExp(`^the ${name} parameter has \\d+ bytes; send at most \\d+$`)
        expect(location.searchParams.get('error_description')).to.match(said)
      })
      expect(stored).to.equal(0)
    })
  }

  it('is stored without unknown parameters', async () => {
    const stored = await bytesStored(service(), async () => {
      const parameters = { state: long(4000), unknown: long(3000), login_hint: long(500) }
      expect((await askToAuthorize(service().url, parameters)).status).to.equal(303)
    })
    expect(stored).to.be.within(4500, 5800)
  })

  it('is refused for a sign-out without a session, and a shorter one is stored for the time of a sign-in', async () => {
    const { url, kysely, config } = service()
    const ask = async (state: string) => await get(`${url}${paths.endSession}?${encode({ state })}`)
    const refused = await ask(long(4097))
    expectAnswer(refused, 400, 'the state parameter has 4097 bytes')
    expect(refused.headers.get('set-cookie')).to.equal(null)
    expect((await ask('x')).status).to.equal(200)
    const lifetimeMs = config.service.lifetimes.interactionSeconds * 1000
    const { expires_at } = await rowOf(kysely, 'oauth_state', { model: 'Session' })
    expect(expires_at).to.be.within(Date.now(), Date.now() + lifetimeMs)
  })
})

async function bytesStored({ kysely }: RunningService, ask: () => Promise<void>) {
  const total = async () =>
    (await rowsOf(kysely, 'oauth_state')).reduce((sum, { payload }) => sum + payload.length, 0)
  const before = await total()
  await ask()
  return (await total()) - before
}
