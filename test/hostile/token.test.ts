import fc from 'fast-check'
import { decodeJwt } from 'jose'

import { paths } from '../../src/platform/http/paths.ts'
import {
  asPortal,
  exchange,
  getCode,
  obtainCode,
  obtainTokens,
  refresh,
  userinfo,
} from '../support/client.ts'
import { noor, notes, olivia, sam } from '../support/gatehouse.ts'
import { later } from '../support/later.ts'
import { sharedService } from '../support/storages.ts'
import { type Answer, type Fields, FORM, postForm, refusalOf, send } from '../support/wire.ts'

/** How far the clock of the service is ahead of real time. */
let laterMs = 0
const service = sharedService({ now: () => Date.now() + laterMs })

const token = async (fields: Fields) => await postForm(service().url + paths.token, fields)

const statusWith = async (accessToken: string) =>
  (await userinfo(service().url, accessToken)).status

/** Expects an error response (RFC 6749 §5.2): JSON, not cacheable, with a description. */
function expectRefusal(answer: Answer, expected = '400 invalid_grant'): void {
  expect(answer.headers.get('content-type')).to.match(/^application\/json/)
  expect(answer.headers.get('cache-control')).to.equal('no-store')
  expect(refusalOf(answer)).to.equal(expected)
  expect(answer.body['error_description']).to.be.a('string')
}

// [RFC 6749 §4.1.2; RFC 9700 §4.5.3.1; OpenID Connect Core §3.1.3.2; Token 2.1; threat 9]
describe('codes', () => {
  // [RFC 6749 §10.5; RFC 9700 §4.2.4]
  it('ends the tokens of a repeated code, except within five seconds [design 11] [57]', async () => {
    const { form, accessToken, refreshToken } = await obtainTokens(service().url)
    expectRefusal(await token(form))
    expect(await statusWith(accessToken), 'a callback ran twice').to.equal(200)
    expect((await refresh(service().url, refreshToken)).status).to.equal(200)
    laterMs = 6_000
    expectRefusal(await token({ ...form, ...asPortal }))
    expect(await statusWith(accessToken), 'by another client').to.equal(200)
    expectRefusal(await token(form))
    laterMs = 0
    expect(await statusWith(accessToken)).to.equal(401)
    expectRefusal(await refresh(service().url, refreshToken))
  })

  // [RFC 6749 §10.10]
  it('refuses expired, unknown, truncated and altered codes in the same words [59]', async () => {
    const { form, code } = await obtainCode(service().url)
    const expired = await later(62_000, () => token(form))
    expectRefusal(expired)
    // The last character of the altered code differs only in bits that its base64url encoding does not use.
    const altered = code.slice(0, -1) + (code.endsWith('A') ? 'B' : 'A')
    for (const other of ['x'.repeat(43), code.slice(0, -1), altered])
      expect((await token({ ...form, code: other })).text).to.equal(expired.text)
  })
})

for (const grant_type of [
  ...['password', 'client_credentials', 'implicit', 'AUTHORIZATION_CODE', '__proto__'],
  ...['constructor', 'toString', 'urn:ietf:params:oauth:grant-type:device_code'],
  'urn:ietf:params:oauth:grant-type:token-exchange',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  'urn:ietf:params:oauth:grant-type:saml2-bearer',
]) {
  // [RFC 6749 §4.5; RFC 9700 §2.4; What the service does 16]
  it(`the token endpoint refuses the grant type ${grant_type} (design 25)`, async () => {
    const refused = await token({ ...asPortal, grant_type, username: 'x', password: 'y' })
    expectRefusal(refused, '400 unsupported_grant_type')
  })
}

it('tokens identify each of several people who sign in at once (CVE-2026-82843) [169]', async () => {
  const turns = [0, 1, 2, 0, 1, 2, 0, 1, 2]
  const { url } = service()
  const codes = await Promise.all(
    turns.map(async (who) => await getCode(url, {}, [sam, noor, olivia][who])),
  )
  const answers = await Promise.all(codes.map(async (code) => await exchange(url, code)))
  const said = await Promise.all(
    answers.map(async ({ body: { id_token, access_token } }) => [
      decodeJwt(id_token).sub,
      (await userinfo(url, access_token)).body.sub,
    ]),
  )
  const ids = ['per_sam', 'per_noor', 'per_olivia']
  expect(said).to.deep.equal(turns.map((who) => [ids[who], ids[who]]))
})

describe('malformed requests', () => {
  const endpoints = [paths.token, paths.revocation, paths.introspection]

  it('are refused by every endpoint', async () => {
    for (const path of endpoints) {
      for (const body of [
        ...['%', '%zz=%zz', '&&&&', '=', 'token', '\0', 'a=1&'.repeat(5000)],
        '__proto__=x&constructor=y&hasOwnProperty=z',
        'client_id=%ff&token=%ff&grant_type=%ff',
        'grant_type=a;code=b',
      ]) {
        const answer = await send(service().url, { method: 'POST', path, headers: FORM, body })
        expect(answer.status, path + body).to.be.within(400, 415)
      }
    }
  })

  it('never cause a fault or return a token, even with random forms', async () => {
    const name = fc.constantFrom(
      ...['grant_type', 'code', 'redirect_uri', 'client_id', 'code_verifier', 'client_secret'],
      ...['refresh_token', 'scope', 'resource', 'token', 'token_type_hint', 'client_assertion'],
    )
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom(notes.clientId, 'authorization_code', 'refresh_token', service().url, ''),
    )
    const endpoint = fc.constantFrom(...endpoints)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value)), endpoint, async (pairs, path) => {
        const body = new URLSearchParams(pairs).toString()
        const answer = await send(service().url, { method: 'POST', path, headers: FORM, body })
        expect(answer.status).to.be.below(500)
        expect(answer.text).to.not.match(/access_token|"active":true/)
      }),
      { numRuns: 200 },
    )
  })
})
