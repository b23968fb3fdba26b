import { z } from 'zod'

import { parseStrictObject } from './strict-json.ts'

const KEYS_MAX = 10
/** The maximum length of a key set that an operator enters, in characters. */
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

/** The schema of a set of public keys (RFC 7517 §5). */
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

/** Parses the key set that an operator entered. If it is invalid, describes the problem without quoting the key set. */
export function readKeySet(
  text: string,
): { readonly jwks: z.infer<typeof keySet> } | { readonly problem: string } {
  if (text.length > KEY_SET_LENGTH_MAX)
    return { problem: `it is longer than ${KEY_SET_LENGTH_MAX} characters` }
  const read = parseStrictObject(text)
  if ('problem' in read) return read
  const { data, error } = keySet.safeParse(read.value)
  if (data) return { jwks: data }
  const [issue] = error.issues
  return { problem: issue?.path[0] === 'keys' ? issue.message : 'it has no list "keys"' }
}
