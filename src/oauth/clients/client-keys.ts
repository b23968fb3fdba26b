import { z } from 'zod'

import { parseStrictObject } from '../../platform/http/strict-json.ts'

/**
 * The public keys of a client that authenticates with one (RFC 7523 §3, RFC 7517 §5): the set itself, or
 * the address where it is. It owns rules and fetches nothing.
 */
export type ClientKeys =
  | { readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } }
  | { readonly jwksUri: string }

const KEYS_MAX = 10
/** As many characters as a set may have that an operator enters. */
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
  { error: 'a key must be EC with P-256, OKP with Ed25519, or RSA of 2048 bits at least' },
)

const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const keySet = z.looseObject({
  keys: z
    .array(
      publicKey.refine((key) => !privateMembers.some((name) => Object.hasOwn(key, name)), {
        error: 'a private key is in it; enter the public ones only, and make a new pair',
      }),
      { error: 'it has no list "keys"; a single key stands in one: {"keys": [ ... ]}' },
    )
    .min(1, { error: 'its list "keys" is empty' })
    .max(KEYS_MAX, { error: `it has more than ${KEYS_MAX} keys` }),
})

/** Reads a JWK set that somebody entered. No message repeats anything of it. */
export function readKeySet(
  text: string,
): { readonly jwks: z.infer<typeof keySet> } | { readonly problem: string } {
  if (text.length > KEY_SET_LENGTH_MAX) return { problem: 'it is too long' }
  const read = parseStrictObject(text)
  if ('problem' in read) return { problem: 'it is not JSON' }
  const { data, error } = keySet.safeParse(read.value)
  if (data) return { jwks: data }
  const [issue] = error.issues
  return { problem: issue?.path[0] === 'keys' ? issue.message : 'it has no list "keys"' }
}
