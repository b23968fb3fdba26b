import { exportJWK, generateKeyPair, SignJWT } from 'jose'

import { beginSignIn, completeSignIn } from '../src/pages/relying-party/sign-in.ts'
import { paths } from '../src/platform/http/paths.ts'
import { encode, type Fields } from './support/wire.ts'

const baseUrl = 'https://gatehouse.example'
const now = 1_800_000_000_000

/** Changes to a valid response. The sign-in must refuse each changed response (specification, Authentication 7). */
const wrongAnswers: Record<string, Change> = {
  'another nonce': { claims: { nonce: 'another' } },
  'no nonce': { claims: { nonce: undefined } },
  'another issuer': { claims: { iss: 'https://elsewhere.example' } },
  'another audience': { claims: { aud: 'northlight-notes' } },
  'no subject': { claims: { sub: undefined } },
  'no session': { claims: { sid: undefined } },
  'no time of authentication': { claims: { auth_time: undefined } },
  'a past expiry': { claims: { exp: now / 1000 - 60 } },
  'a signature with another key': { foreignKey: true },
  'another iss beside the code (RFC 9207)': { fields: { iss: 'https://elsewhere.example' } },
  'no code': { fields: { code: undefined } },
  'another state': { fields: { state: 'another' } },
}

type Change = { claims?: object; fields?: Fields; foreignKey?: boolean }

describe('the sign-in of our own pages', () => {
  it('takes the person and the session from a valid id_token', async () => {
    expect(await complete({})).to.include({ personId: 'per_sam', browserSessionId: 'ses' })
  })

  for (const [what, wrong] of Object.entries(wrongAnswers)) {
    // [RFC 9207 §2.4; OpenID Connect Core §3.1.3.7]
    // [Authentication 7.4; Authentication 7.5; Authentication 7.7]
    it(`refuses a response with ${what}`, async () => {
      const outcome = await complete(wrong).catch((error: unknown) => error)
      expect(outcome).to.have.property('error', 'invalid_request')
    })
  }

  it('is unavailable when the token endpoint is [design 24]', async () => {
    const body = { error: 'temporarily_unavailable' }
    const unavailable = async () => Response.json(body, { status: 503 })
    const outcome = await complete({}, unavailable).catch((error: unknown) => error)
    expect(outcome).to.include({ ...body, statusCode: 503 })
  })
})

async function complete({ claims, fields, foreignKey }: Change, answer?: () => Promise<Response>) {
  const { pending } = await beginSignIn('/account', baseUrl)
  const [own, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  const id_token = await new SignJWT({
    ...{ iss: baseUrl, aud: 'gatehouse-pages', sub: 'per_sam', sid: 'ses', nonce: pending.nonce },
    ...{ iat: now / 1000, exp: now / 1000 + 600, auth_time: now / 1000 - 60, ...claims },
  })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .sign((foreignKey ? other : own).privateKey)
  const query = encode({ iss: baseUrl, code: 'c', state: pending.state, ...fields })
  const key = { ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }
  const tokens = { access_token: 'a', token_type: 'Bearer', id_token }
  const usual = async (address: string) =>
    Response.json(address.endsWith(paths.jwks) ? { keys: [key] } : tokens)
  const ports = { baseUrl, ownFetch: answer ?? usual, now: () => now }
  return await completeSignIn(query, pending, ports)
}
