import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { asClaude, asPortal, codeChallenge, codeVerifier, revoke } from '../support/client.ts'
import { claude, notes, sam } from '../support/gatehouse.ts'
import { basic, bearer, type Fields, get, postForm } from '../support/wire.ts'
import { type Entries, numbered, type Row, row, tableOf } from './case.ts'
import { altered, type World } from './world.ts'

/** A change to a request that would succeed. */
type Change = Fields | ((form: Fields, world: World) => Fields)

const { client_secret, client_id } = asPortal
const foreign = 'https://evil.example'
const ownPages = { client_id: 'gatehouse-pages' }
const GRANT = '400 invalid_grant'
const UNUSED = `${GRANT}; the code still works`
const TARGET = '400 invalid_target'
const REQUEST = '400 invalid_request'
const SCOPE = '400 invalid_scope'
const UNSUPPORTED = '400 unsupported_grant_type'
const CODE_WORKS = '; the code still works'
const RETARGET = TARGET + CODE_WORKS
const TOKENS_WORK = '; the tokens still work'
const UNBOUND = TARGET + TOKENS_WORK

const changedCode =
  (change: (code: string) => string): Change =>
  ({ code }) => ({ code: change(String(code)) })
const asRefreshToken: Change = ({ code }) => ({
  ...{ grant_type: 'refresh_token', refresh_token: String(code) },
})
const asSubject: Change = ({ code }) => ({
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token: String(code),
  subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
})
const twoResources: Change = ({ resource = '' }) => ({ resource: [String(resource), foreign] })
const emptySecret = basic(notes.clientId, '')
const verifier = (code_verifier?: string, more: Fields = {}) => ({ code_verifier, ...more })
const redirect = (redirect_uri: string | undefined) => ({ redirect_uri })
const S256 = { code_challenge: codeChallenge, code_challenge_method: 'S256' }
const plain = { ...S256, code_challenge_method: 'plain' }
const asVerifier = verifier(codeChallenge)
const loopback = 'http://127.0.0.1/callback'
const upperScheme = notes.redirectUri.replace('https', 'HTTPS')

/** Exchanges that must fail, most of them because a code is bound to its authorization request. */
const exchanges: Entries<[change: Change, headers?: readonly string[]]> = [
  ['by a platform (CVE-2026-28513, CVE-2026-55672)', UNUSED, { client_id: claude.clientId }],
  ['by another client with its own redirect URI (CVE-2026-28513)', UNUSED, asClaude],
  ['by another, confidential client', UNUSED, { client_id, client_secret }],
  ['by the client of this service’s pages', UNUSED, ownPages],
  ['for a foreign resource (GHSA-p2fr-6hmx-4528)', RETARGET, { resource: foreign }],
  ['for two resources, the second foreign', RETARGET, twoResources],
  ['for a resource with a fragment', RETARGET, ({ resource }) => ({ resource: `${resource}#x` })],
  ['for an empty resource', RETARGET, { resource: '' }],
  ['without the resource of its request', RETARGET, { resource: undefined }],
  ['with the challenge as verifier (PKCE downgrade, CVE-2024-23647)', UNUSED, asVerifier],
  ['with method plain and the challenge as verifier', UNUSED, { ...asVerifier, ...plain }],
  ['with a new challenge', UNUSED, verifier('a'.repeat(43), S256)],
  ['with the verifier in upper case', UNUSED, verifier(codeVerifier.toUpperCase())],
  ['with a trailing space after the verifier', REQUEST, verifier(`${codeVerifier} `)],
  ['with a trailing line break after the verifier', REQUEST, verifier(`${codeVerifier}\n`)],
  ['with a trailing NUL after the verifier', REQUEST, verifier(`${codeVerifier}\0`)],
  ['with the verifier as a list', UNUSED, verifier(undefined, { 'code_verifier[]': codeVerifier })],
  ['with the loopback redirect URI of the same client', UNUSED, redirect(loopback)],
  ['with an empty redirect URI', REQUEST, redirect('')],
  ['with the redirect URI encoded twice', UNUSED, redirect(encodeURIComponent(notes.redirectUri))],
  ['with a query after the redirect URI', UNUSED, redirect(`${notes.redirectUri}?x=1`)],
  ['as a refresh token', GRANT, asRefreshToken],
  ['as the subject of a token exchange (RFC 8693)', UNSUPPORTED, asSubject],
  ['with a space after the grant type', UNSUPPORTED, { grant_type: 'authorization_code ' }],
  ['with an empty grant type', REQUEST, { grant_type: '' }],
  ['with a public client’s empty secret in the header', REQUEST + CODE_WORKS, {}, emptySecret],
  ['with a list as code', REQUEST, ({ code }) => ({ code: undefined, 'code[0]': String(code) })],
  ['with an encoded line break in the code', GRANT, changedCode((code) => `${code}\r\n`)],
  ['with the code in upper case', GRANT, changedCode((code) => code.toUpperCase())],
  ['with SQL as the code', GRANT, { code: "' or 1=1 --" }],
  ['with a truncated code (CVE-2026-27840)', GRANT, changedCode((code) => code.slice(0, 20))],
  ['with the name of an inherited property as the code', GRANT, { code: '__proto__' }],
  ['with an unregistered redirect URI', UNUSED, redirect('http://127.0.0.1:10/callback')],
  ['with a slash after the redirect URI', UNUSED, redirect(`${notes.redirectUri}/`)],
  ['with the scheme of the redirect URI in upper case', UNUSED, redirect(upperScheme)],
  ['without a redirect URI (design 19)', REQUEST, redirect(undefined)],
  ['with another verifier', UNUSED, verifier('a'.repeat(43))],
  ['without a verifier (CVE-2023-48228)', UNUSED, verifier(undefined)],
  ['with an empty verifier', UNUSED, verifier('')],
  ['with a verifier of 1 character', REQUEST, verifier('x')],
  ['with a verifier of 42 characters', REQUEST, verifier('a'.repeat(42))],
  ['with a verifier of 129 characters', REQUEST, verifier('a'.repeat(129))],
]

const changedToken =
  (change: (token: string) => string): Change =>
  ({ refresh_token }) => ({ refresh_token: change(String(refresh_token)) })
const asCode: Change = ({ refresh_token }) => ({
  ...{ grant_type: 'authorization_code', code: String(refresh_token) },
  ...{ redirect_uri: notes.redirectUri, code_verifier: codeVerifier },
})
const asPassword: Change = ({ refresh_token }) => ({
  ...{ grant_type: 'password', username: sam.login, password: String(refresh_token) },
})

/** Refreshes that must fail, for example by another client or beyond the grant. The tokens still work afterwards. */
const refreshes: Entries<[Change]> = [
  ['by a platform (CVE-2026-55672)', GRANT, { client_id: claude.clientId }],
  ['by another, confidential client', GRANT, { client_id, client_secret }],
  ['by the client of this service’s pages', '400 unauthorized_client', ownPages],
  ['for a foreign resource', TARGET, { resource: foreign }],
  ['for two resources, the second foreign', TARGET, (_, { url }) => ({ resource: [url, foreign] })],
  ['for a resource with a fragment', TARGET, (_, { url }) => ({ resource: `${url}#x` })],
  ['for an operator scope', SCOPE, { scope: 'openid courses:read' }],
  ['for every scope', SCOPE, { scope: scopeNames().join(' ') }],
  ['for a scope in upper case', SCOPE, { scope: 'OPENID' }],
  ['for a scope named like an inherited property', SCOPE, { scope: '__proto__' }],
  ['with an access token', GRANT, (_, { last }) => ({ refresh_token: last.held?.accessToken })],
  ['with an id_token', GRANT, (_, { last }) => ({ refresh_token: last.held?.idToken })],
  ['with a truncated token (CVE-2026-27840)', GRANT, changedToken((token) => token.slice(0, -4))],
  ['with characters after the token', GRANT, changedToken((token) => `${token}.x`)],
  ['with a space before the token', GRANT, changedToken((token) => ` ${token}`)],
  ['with a NUL after the token', GRANT, changedToken((token) => `${token}\0`)],
  ['with the token in upper case', GRANT, changedToken((token) => token.toUpperCase())],
  ['with SQL as the token', GRANT, { refresh_token: "%' or '1'='1" }],
  ['with an empty token', REQUEST, { refresh_token: '' }],
  ['with a changed character near the end of the token', GRANT, changedToken(altered)],
  ['with the token as a code', GRANT, asCode],
  ['with the token as a password', UNSUPPORTED, asPassword],
]

async function token({ url }: World, form: Fields, headers: readonly string[] = []) {
  return await postForm(url + paths.token, form, headers)
}

function changed(form: Fields, change: Change, world: World): Fields {
  return { ...form, ...(typeof change === 'function' ? change(form, world) : change) }
}

const exchangeRows = numbered(
  { first: 1900, attack: (what) => `code redeemed ${what}` },
  exchanges,
  async (world, [change, headers]) =>
    await token(world, changed(await world.code(), change, world), headers),
)

const asNotes = { grant_type: 'refresh_token', client_id: notes.clientId }

const refreshRows = numbered(
  { first: 1950, attack: (what) => `refresh ${what}` },
  refreshes.map(([what, answer, change]) => [what, answer + TOKENS_WORK, change] as const),
  async (world, [change]) => {
    const form = { ...asNotes, refresh_token: (await world.tokens()).refreshToken }
    return await token(world, changed(form, change, world))
  },
)

const withoutResource = { scope: 'openid email', resource: undefined }

/** Tokens never gain a resource or a scope. */
const unbound: readonly Row[] = [
  row(1980, 'refresh for this service of a token without a resource', UNBOUND, async (world) => {
    const { refreshToken } = await world.tokens(withoutResource)
    return await token(world, { ...asNotes, refresh_token: refreshToken, resource: world.url })
  }),
  row(1981, 'code without a resource, redeemed for this service', RETARGET, async (world) => {
    const form = await world.code('notes', withoutResource)
    return await token(world, { ...form, resource: world.url })
  }),
  [
    1982,
    'access token of a refresh for fewer scopes, used for the others',
    '403 insufficient_scope',
    async (world) => {
      const { refreshToken: refresh_token } = await world.tokens()
      const { body } = await token(world, { ...asNotes, refresh_token, scope: 'openid email' })
      const query = encodeURIComponent('{ viewer { id } }')
      return await get(`${world.url}${paths.graphql}?query=${query}`, bearer(body.access_token))
    },
  ],
]

/** A client cannot revoke another client's token. The response is 200, as for an unknown token (RFC 7009 §2.2; design 14). */
const revocations = Object.entries({
  'a platform': { client_id: claude.clientId },
  'a confidential client': { client_id, client_secret },
}).map(
  ([who, fields], position): Row => [
    1985 + position,
    `revocation of the tokens of another client by ${who} (workers-oauth-provider #188)`,
    `200 nothing${TOKENS_WORK}`,
    async ({ url, tokens }) => {
      const { accessToken, refreshToken } = await tokens()
      return [await revoke(url, accessToken, fields), await revoke(url, refreshToken, fields)]
    },
  ],
)

export const grantCases = tableOf('Codes and refresh tokens', 'grant-cases.ts', [
  ...exchangeRows,
  ...refreshRows,
  ...unbound,
  ...revocations,
])
