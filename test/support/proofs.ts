import { createHash } from 'node:crypto'

import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { Selectable } from 'kysely'

import type { ServicePolicy } from '../../src/config/config.ts'
import type { Schema } from '../../src/platform/store/schema.ts'
import { change } from './database.ts'
import { policyWith, portal, type RunningService, type ServiceSetup } from './gatehouse.ts'

type Plans = ServicePolicy['furtherPlans']

export const everyPlan: Plans = {
  backChannelLogout: true,
  pushedAuthorizationRequests: true,
  dpop: true,
  privateKeyJwt: true,
  privateHosts: [],
}

/** Returns the set-up of a service with these optional protocols. */
export function withPlans(plans: Partial<Plans>): ServiceSetup {
  const storage = { signOutLookMs: 100, outboxLookMs: 100 }
  return { policy: policyWith({ storage, furtherPlans: plans }) }
}

export async function makeClientKey(alg = 'ES256', kid = `key-${alg}`) {
  const pair = await generateKeyPair(alg, { extractable: true })
  const publicJwk: JWK = {
    ...(await exportJWK(pair.publicKey)),
    kid,
    use: 'sig',
    // Omit the alg of EdDSA, because libraries sign with its newer name, Ed25519.
    ...(alg !== 'EdDSA' && { alg }),
  }
  return { ...pair, alg, kid, publicJwk, thumbprint: await calculateJwkThumbprint(publicJwk) }
}

export type ClientKey = Awaited<ReturnType<typeof makeClientKey>>

/** Changes the settings of an application of the demo, as an operator would. */
export async function choose(
  { kysely }: Pick<RunningService, 'kysely'>,
  chosen: Partial<Selectable<Schema['oauth_application']>>,
  clientId: string = portal.clientId,
): Promise<void> {
  await change(kysely, 'oauth_application', { client_id: clientId }, chosen)
}

/** Makes the portal authenticate only with a key. Returns the key. */
export async function giveKey(service: Pick<RunningService, 'kysely'>, key: ClientKey) {
  const jwks = JSON.stringify({ keys: [key.publicJwk] })
  await choose(service, { jwks, jwks_uri: null, auth_method: 'private_key_jwt' })
  return key
}

/** Signs an assertion. A claim that is undefined is omitted. */
export async function signAssertion(
  key: Pick<ClientKey, 'privateKey' | 'alg' | 'kid'>,
  audience: string | string[],
  claims: Record<string, unknown> = {},
  header: object = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const said = {
    ...{ iss: portal.clientId, sub: portal.clientId, aud: audience, iat: now, exp: now + 60 },
    jti: crypto.randomUUID(),
    ...claims,
  }
  return await new SignJWT(said)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    // Without this option, jose would refuse to sign a header that lists `unheard` in `crit`.
    .sign(key.privateKey, { crit: { unheard: true } })
}

export function unsignedJwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export function byAssertion(assertion: string) {
  return {
    client_id: undefined,
    client_secret: undefined,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: assertion,
  }
}

type Proving = { htm: string; htu: string; claims?: object; header?: object }

/** Signs a DPoP proof for a request, with changed claims and header members. Omits undefined claims. */
export async function signProof(key: ClientKey, { htm, htu, claims = {}, header = {} }: Proving) {
  const { kid, use, ...jwk } = key.publicJwk
  return await new SignJWT({
    ...{ jti: crypto.randomUUID(), iat: Math.floor(Date.now() / 1000), htm, htu },
    ...claims,
  })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: key.alg, jwk, ...header })
    .sign(key.privateKey)
}

export function ath(accessToken: string) {
  return { ath: createHash('sha256').update(accessToken).digest('base64url') }
}
