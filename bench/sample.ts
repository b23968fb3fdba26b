import { createHash } from 'node:crypto'

import { makeSecretRoot } from '../src/oauth/keys/secret-root.ts'
import { makeTokenValues, type TokenValues } from '../src/oauth/token/token-values.ts'

/** The kinds of rows that the bench copies. Rows suffice, because a grant and its tokens have no records in Redis. */
export const kinds = ['person', 'grant', 'family'] as const
export type Kind = (typeof kinds)[number]

/** The tables to copy, each with its kind, parents before children. */
export const tables = {
  person: 'person',
  site_role: 'person',
  oauth_grant: 'grant',
  oauth_grant_scope: 'grant',
  refresh_token_family: 'family',
} as const satisfies Record<string, Kind>
export type Table = keyof typeof tables

export interface SampleRow {
  readonly table: Table
  readonly row: Readonly<Record<string, unknown>>
}

/** The rows of one person with one grant, and the identifiers that must differ in each copy. */
export interface Sample {
  readonly rows: readonly SampleRow[]
  readonly identifiers: ReadonlyMap<string, NewIdentifier>
}

/** The identifier of copy i is the digest of "<name> i", followed by the ending. */
export interface NewIdentifier {
  readonly name: string
  readonly ending: string
}

/** The values from which the tokens of every copy are derived. */
export interface CopiedTokens {
  readonly values: TokenValues
  readonly seed: string
  readonly scopes: readonly string[]
}

/** Selects the rows of the person with the grant. @throws unless there is exactly one grant, with exactly one family */
export function sampleOf(rows: readonly SampleRow[]): Sample {
  const grant = onlyOne(rows, 'oauth_grant')
  const family = onlyOne(rows, 'refresh_token_family')
  const personId = String(grant['person_id'])
  const own = rows.filter(({ table, row }) => {
    if (table === 'person') return row['id'] === personId
    return table !== 'site_role' || row['person_id'] === personId
  })
  const email = String(onlyOne(own, 'person')['email_canonical'])
  return {
    rows: own,
    identifiers: new Map([
      [personId, { name: 'person', ending: '' }],
      [email, { name: 'email', ending: email.slice(email.indexOf('@')) }],
      [String(grant['id']), { name: 'grant', ending: '' }],
      [String(family['id']), { name: FAMILY, ending: '' }],
    ]),
  }
}

const FAMILY = 'family'

function onlyOne(rows: readonly SampleRow[], name: Table): SampleRow['row'] {
  const [found, ...others] = rows.filter(({ table }) => table === name)
  if (found && others.length === 0) return found.row
  throw new Error(`the sample must have exactly one row of ${name}`)
}

/**
 * Returns the values from which the bench derives the tokens of every copy. All copies share the seed of the sample.
 *
 * @throws if the service derives its tokens differently
 */
export function copiedTokens(
  { rows }: Sample,
  { secret, accessToken }: { readonly secret: string; readonly accessToken: string },
): CopiedTokens {
  const { seed, token } = onlyOne(rows, 'refresh_token_family')
  const values = makeTokenValues(makeSecretRoot([secret]).tokenKeys)
  if (!values.readAccessToken(accessToken)?.isGenuine({ seed: String(seed) })) {
    throw new Error('the access token of the sample does not derive from its family')
  }
  return { values, seed: String(seed), scopes: JSON.parse(String(token)).scopes }
}

/** Creates an access token of copy i, issued now. */
export function accessTokenOf({ values, seed, scopes }: CopiedTokens, i: number): string {
  const family = { id: digest(`${FAMILY} ${i}`), seed, scopes }
  const issuedAtSeconds = Math.floor(Date.now() / 1000)
  return values.writeAccessToken(family, { generation: 0, issuedAtSeconds, has: scopes })
}

/** Creates the first refresh token of copy i. */
export function refreshTokenOf({ values, seed }: CopiedTokens, i: number): string {
  return values.writeRefreshToken({ id: digest(`${FAMILY} ${i}`), seed }, 0)
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Returns the identifiers that occur in a text. */
export function identifiersIn(
  text: string,
  identifiers: Sample['identifiers'],
): [string, NewIdentifier][] {
  return [...identifiers].filter(([known]) => text.includes(known))
}

/** Replaces the identifiers in a text with those of copy i. */
export function copyOf(
  text: string,
  identifiers: readonly [string, NewIdentifier][],
  i: number,
): string {
  let copy = text
  for (const [known, { name, ending }] of identifiers) {
    copy = copy.replaceAll(known, digest(`${name} ${i}`) + ending)
  }
  return copy
}
