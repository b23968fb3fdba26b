import { expect } from 'chai'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

import { beginSignIn, completeSignIn } from '../src/relying-party/sign-in.ts'

const baseUrl = 'https://gatehouse.example'
const now = 1_800_000_000_000

/** What an answer may get wrong, and still look like one (specification, Authentication 7). */
const wrongAnswers: Record<string, Partial<Answer>> = {
  'another nonce': { claims: { nonce: 'another' } },
  'no nonce': { claims: { nonce: undefined } },
  'another issuer': { claims: { iss: 'https://elsewhere.example' } },
  'another audience': { claims: { aud: 'northlight-notes' } },
  'no subject': { claims: { sub: undefined } },
  'a time that is over': { claims: { exp: now / 1000 - 60 } },
  'a signature of another key': { foreignKey: true },
  'another iss beside the code (RFC 9207)': { iss: 'https://elsewhere.example' },
  'no code': { code: undefined },
}

interface Answer {
  readonly claims: { readonly [name in keyof JWTPayload]?: JWTPayload[name] | undefined }
  readonly foreignKey: boolean
  readonly iss: string
  readonly code: string | undefined
}

describe('the sign-in of our own pages', () => {
  it('takes the person from an id_token that is right in everything', async () => {
    expect(await complete({})).to.equal('per_sam')
  })

  for (const [what, wrong] of Object.entries(wrongAnswers)) {
    it(`refuses an answer with ${what}`, async () => {
      const outcome = await complete(wrong).catch((error: unknown) => error)
      expect(outcome).to.have.property('error', 'invalid_request')
    })
  }

  it('proves with the verifier that it began the request (RFC 7636)', async () => {
    const { pending, address } = beginSignIn('/account', baseUrl)
    const sent: URLSearchParams[] = []
    await completeSignIn(new URLSearchParams({ iss: baseUrl, code: 'c' }), pending, {
      baseUrl,
      keys: [],
      ownRequest: async (_path, form) => {
        sent.push(form)
        return { error: 'invalid_grant' }
      },
      now: () => now,
    }).catch(() => undefined)
    const { createHash } = await import('node:crypto')
    const challenge = new URLSearchParams(address.split('?')[1]).get('code_challenge')
    const verifier = sent[0]?.get('code_verifier') ?? ''
    expect(createHash('sha256').update(verifier).digest('base64url')).to.equal(challenge)
  })
})

async function complete({ claims, foreignKey = false, ...answer }: Partial<Answer>) {
  const { pending } = beginSignIn('/account', baseUrl)
  const [own, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  const payload = {
    iss: baseUrl,
    aud: 'gatehouse-pages',
    sub: 'per_sam',
    nonce: pending.nonce,
    exp: now / 1000 + 600,
    ...claims,
  } as JWTPayload
  const id_token = await new SignJWT(payload)
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .sign((foreignKey ? other : own).privateKey)
  const parameters = { iss: baseUrl, code: 'c', ...answer }
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  const query = new URLSearchParams(Object.fromEntries(given) as Record<string, string>)
  return await completeSignIn(query, pending, {
    baseUrl,
    keys: [{ ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }],
    ownRequest: async () => ({ id_token }),
    now: () => now,
  })
}
