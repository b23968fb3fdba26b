import { z } from 'zod'

import type { ServicePolicy } from '../../config/config.ts'
import { parseStrictObject } from '../../platform/http/strict-json.ts'
import type { ClientAuthMethod } from '../../platform/store/oauth-tables.ts'

/**
 * The optional protocols of this deployment, which clients may choose. These are Back-Channel Logout 1.0, pushed
 * authorization requests (RFC 9126), DPoP (RFC 9449), and authentication with a signed JWT (RFC 7523 §2.2).
 */
export type OptionalProtocols = ServicePolicy['furtherPlans']

/** Whether operators can choose at least one optional protocol for an application. */
export function offersProtocols({ privateHosts, ...plans }: OptionalProtocols): boolean {
  return Object.values(plans).some(Boolean)
}

interface Needing {
  readonly authMethod: ClientAuthMethod
  readonly pushesRequests?: boolean
  readonly bindsTokens?: boolean
}

/** Whether the client requires a protocol that this deployment has disabled. If so, the client's state is `off`. */
export function lacksProtocol(
  { authMethod, pushesRequests, bindsTokens }: Needing,
  { privateKeyJwt, pushedAuthorizationRequests, dpop }: OptionalProtocols,
): boolean {
  if (authMethod === 'private_key_jwt' && !privateKeyJwt) return true
  if (pushesRequests === true && !pushedAuthorizationRequests) return true
  return bindsTokens === true && !dpop
}

/** Whether the client chose a part of the FAPI 2.0 Security Profile. If so, other rules of the profile apply too. */
export function demandsFapi({ pushesRequests, bindsTokens }: Omit<Needing, 'authMethod'>): boolean {
  return pushesRequests === true || bindsTokens === true
}

/** The public keys of a client (RFC 7523 §3, RFC 7517 §5): the key set or its URL. */
export type ClientKeys =
  | { readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } }
  | { readonly jwksUri: string }

const KEYS_MAX = 10
/** Maximum length of a key set that an operator enters, in characters. */
export const KEY_SET_LENGTH_MAX = 20_000
const RSA_BITS_MIN = 2048

const base64url = z.string().regex(/^[\w-]+$/)

const publicKey = z.union(
  [
    z.looseObject({ kty: z.literal('EC'), crv: z.literal('P-256'), x: base64url, y: base64url }),
    z.looseObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: base64url }),
    z.looseObject({
      kty: z.literal('RSA'),
      e: base64url,
      n: base64url.refine((n) => Buffer.from(n, 'base64url').length * 8 >= RSA_BITS_MIN),
    }),
  ],
  { error: 'each key must be EC with P-256, OKP with Ed25519, or RSA with at least 2048 bits' },
)

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** A set of public keys. */
export const keySet = z.looseObject({
  keys: z
    .array(
      publicKey.refine((key) => !privateMembers.some((name) => Object.hasOwn(key, name)), {
        error: 'it contains a private key; create a new key pair and enter only its public key',
      }),
      { error: 'it has no list "keys"; wrap a single key: {"keys": [ ... ]}' },
    )
    .min(1, { error: 'its list "keys" is empty' })
    .max(KEYS_MAX, { error: `it has more than ${KEYS_MAX} keys` }),
})

/** Parses the key set that an operator entered. If it is invalid, returns a problem that quotes nothing from it. */
export function readKeySet(
  text: string,
): { readonly jwks: z.infer<typeof keySet> } | { readonly problem: string } {
  if (text.length > KEY_SET_LENGTH_MAX)
    return { problem: `it is longer than ${KEY_SET_LENGTH_MAX} characters` }
  const read = parseStrictObject(text)
  if ('problem' in read) return { problem: 'it is not JSON' }
  const { data, error } = keySet.safeParse(read.value)
  if (data) return { jwks: data }
  const [issue] = error.issues
  return { problem: issue?.path[0] === 'keys' ? issue.message : 'it has no list "keys"' }
}
