import { z } from 'zod'

import { KEY_SET_LENGTH_MAX, readKeySet } from '../../platform/http/public-keys.ts'
import { describeIssue, pageAddress } from '../../school/changes/input.ts'
import { isTime } from './campus-time.ts'

/** Returns the validated data, or its problems, such as "name: is missing". */
export function validate<Shape extends z.ZodType>(schema: Shape, input: unknown) {
  const { data, error } = schema.safeParse(input, { error: describeIssue })
  const problems = error?.issues.map(({ path, message }) =>
    path.length > 0 ? `${z.core.toDotPath(path)}: ${message}` : message,
  )
  return { data, problems }
}

// Schemas of single fields.

export const id = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9_-]{1,60}$`), `must be an id like ${prefix}_…`)
export const matching = (lengthMax: number, pattern: RegExp, message?: string) =>
  z.string().max(lengthMax).regex(pattern, message)
export const word = matching(60, /^[a-z][a-z0-9_]*$/, 'must use only a–z, 0–9 and _, like replies')
export const clientId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{2,99}$/,
    'must be a client_id: 3 to 100 letters, digits, dots, hyphens and underscores',
  )
/** An https URL on a client's server. The server's IP address is checked when the URL is used. */
export const serverUrl = pageAddress.refine(
  (address) => address.startsWith('https://'),
  'must be an https URL',
)
export const time = z
  .string()
  .max(40)
  .refine(
    isTime,
    'must be a time such as "2026-03-01T09:00:00Z", "30 days ago" or "in 14 days at 18:00"',
  )
export const count = (max: number) => z.int().min(0).max(max)
export const optional = <T extends z.ZodType>(type: T) => type.nullable().default(null)
export const list = <T extends z.ZodType>(type: T, lengthMax: number) =>
  z.array(type).max(lengthMax).default([])

export const color = z.string().regex(/^#[0-9a-f]{6}$/, 'must be a color such as #336699')

/** Matches the syntax of language tags (BCP 47). */
const TAG = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/
export const languageTag = matching(35, TAG, 'must be a language tag like de-AT')

/** Matches the syntax of time zone names (IANA). */
const ZONE = /^[A-Za-z_]+(?:\/[A-Za-z0-9_+-]+)*$/
export const timeZone = matching(60, ZONE, 'must be a time zone like Europe/Vienna')

/** The public keys of a client, as a JSON string. */
export const keySet = z
  .string()
  .max(KEY_SET_LENGTH_MAX)
  .refine((keys) => 'jwks' in readKeySet(keys), 'must be a JWK set of public keys, as a string')
