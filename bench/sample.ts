import { createHash } from 'node:crypto'

/** What one sign-in leaves behind for longer than a minute. */
export const kinds = ['grant', 'refresh token family', 'access token'] as const
export type Kind = (typeof kinds)[number]

export interface SqlRow {
  readonly table: string
  readonly kind: Kind
  readonly row: Readonly<Record<string, unknown>>
}

/** A key of Redis with what is in it, as the words of the command that writes it. */
export interface RedisRecord {
  readonly kind: Kind
  readonly command: string
  readonly words: readonly string[]
  readonly ttlMs: number
}

export interface Sample {
  readonly rows: readonly SqlRow[]
  readonly records: readonly RedisRecord[]
}

/**
 * What has to differ from copy to copy: the ids of the rows, and the digests of the tokens wherever
 * they stand.
 *
 * @param tokens the access token first
 * @throws Error when the access token is stored in a way that this bench does not know
 */
export function newIdentifiers(
  sample: Sample,
  tokens: readonly string[],
): ReadonlyMap<string, NewIdentifier> {
  const found = new Map<string, NewIdentifier>()
  for (const { table, row } of sample.rows) {
    const { id } = row
    if (typeof id === 'string') found.set(id, { name: table, ofToken: false })
  }
  const stored = JSON.stringify(sample)
  const [accessToken, ...others] = tokens.map(digest)
  if (accessToken === undefined || !stored.includes(accessToken)) {
    throw new Error('no store has the digest of the access token')
  }
  found.set(accessToken, { name: ACCESS_TOKEN, ofToken: true })
  for (const other of others) found.set(other, { name: 'another token', ofToken: true })
  return found
}

const ACCESS_TOKEN = 'access token'

/** Which copies are made, and what stands in them for the identifiers of the sample. */
export interface Copying {
  readonly from: number
  readonly to: number
  readonly identifiers: ReadonlyMap<string, NewIdentifier>
}

/** An identifier of copy i is a digest of "<name> i"; that of a token is the digest of such a one. */
export interface NewIdentifier {
  readonly name: string
  readonly ofToken: boolean
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** The access token of copy i. */
export function accessTokenOf(i: number): string {
  return digest(`${ACCESS_TOKEN} ${i}`)
}

function identifierOf({ name, ofToken }: NewIdentifier, i: number): string {
  const value = digest(`${name} ${i}`)
  return ofToken ? digest(value) : value
}

/** A text of the sample as copy i has it. */
export function copyOf(text: string, identifiers: Copying['identifiers'], i: number): string {
  let copy = text
  for (const [known, next] of identifiers) copy = copy.replaceAll(known, identifierOf(next, i))
  return copy
}
