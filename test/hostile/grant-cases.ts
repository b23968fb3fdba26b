import { paths } from '../../src/platform/http/paths.ts'
import { asClaude, asPortal, codeChallenge, codeVerifier, refresh } from '../support/client.ts'
import { claude, notes } from '../support/gatehouse.ts'
import { type Answer, bearer, type Fields, get, postForm } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** A change to a request that would succeed. */
type Change = readonly [
  what: string,
  answer: string,
  change: Fields | ((form: Fields, world: World) => Fields | Promise<Fields>),
]

const { client_secret, client_id } = asPortal
const KEPT = '; the code still works'

/** A code is bound to its request. */
const exchanges: readonly Change[] = [
  [
    'by a platform (CVE-2026-28513, CVE-2026-55672)',
    `400 invalid_grant${KEPT}`,
    { client_id: claude.clientId },
  ],
  [
    'by another client with its own redirect URI (CVE-2026-28513)',
    `400 invalid_grant${KEPT}`,
    asClaude,
  ],
  ['by another, confidential client', `400 invalid_grant${KEPT}`, { client_id, client_secret }],
  ['by the client of the own pages', `400 invalid_grant${KEPT}`, { client_id: 'gatehouse-pages' }],
  [
    'for a foreign resource (GHSA-p2fr-6hmx-4528)',
    `400 invalid_target${KEPT}`,
    { resource: 'https://evil.example' },
  ],
  [
    'for two resources, the second foreign',
    `400 invalid_target${KEPT}`,
    ({ resource = '' }) => ({ resource: [String(resource), 'https://evil.example'] }),
  ],
  [
    'for a resource with a fragment',
    `400 invalid_target${KEPT}`,
    ({ resource }) => ({ resource: `${resource}#x` }),
  ],
  ['for an empty resource', `400 invalid_target${KEPT}`, { resource: '' }],
  ['without the resource of its request', `400 invalid_target${KEPT}`, { resource: undefined }],
  [
    'with the challenge as verifier (PKCE downgrade, CVE-2024-23647)',
    `400 invalid_grant${KEPT}`,
    { code_verifier: codeChallenge },
  ],
  [
    'with method plain and the challenge as verifier',
    `400 invalid_grant${KEPT}`,
    { code_verifier: codeChallenge, code_challenge_method: 'plain', code_challenge: codeChallenge },
  ],
  [
    'with a new challenge',
    `400 invalid_grant${KEPT}`,
    { code_verifier: 'a'.repeat(43), code_challenge: codeChallenge, code_challenge_method: 'S256' },
  ],
  [
    'with the verifier in upper case',
    `400 invalid_grant${KEPT}`,
    { code_verifier: codeVerifier.toUpperCase() },
  ],
  [
    'with a trailing space after the verifier',
    '400 invalid_request',
    { code_verifier: `${codeVerifier} ` },
  ],
  [
    'with a trailing line break after the verifier',
    '400 invalid_request',
    { code_verifier: `${codeVerifier}\n` },
  ],
  [
    'with a trailing NUL after the verifier',
    '400 invalid_request',
    { code_verifier: `${codeVerifier}\0` },
  ],
  [
    'with the verifier as a list',
    `400 invalid_grant${KEPT}`,
    { code_verifier: undefined, 'code_verifier[]': codeVerifier },
  ],
  [
    'with the loopback redirect URI of the same client',
    `400 invalid_grant${KEPT}`,
    { redirect_uri: 'http://127.0.0.1/callback' },
  ],
  ['with an empty redirect URI', '400 invalid_request', { redirect_uri: '' }],
  [
    'with the redirect URI encoded twice',
    `400 invalid_grant${KEPT}`,
    { redirect_uri: encodeURIComponent(notes.redirectUri) },
  ],
  [
    'with a query after the redirect URI',
    `400 invalid_grant${KEPT}`,
    { redirect_uri: `${notes.redirectUri}?x=1` },
  ],
  [
    'as a refresh token',
    '400 invalid_grant',
    ({ code }) => ({ grant_type: 'refresh_token', refresh_token: String(code) }),
  ],
  [
    'as the subject of a token exchange (RFC 8693)',
    '400 unsupported_grant_type',
    ({ code }) => ({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: String(code),
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    }),
  ],
  [
    'with a space after the grant type',
    '400 unsupported_grant_type',
    { grant_type: 'authorization_code ' },
  ],
  ['with an empty grant type', '400 invalid_request', { grant_type: '' }],
  ['with a public client’s empty secret in the header', `400 invalid_request${KEPT}`, {}],
  [
    'with the code as a list',
    '400 invalid_request',
    ({ code }) => ({ code: undefined, 'code[0]': String(code) }),
  ],
  [
    'with an encoded line break in the code',
    '400 invalid_grant',
    ({ code }) => ({ code: `${code}\r\n` }),
  ],
  [
    'with the code in upper case',
    '400 invalid_grant',
    ({ code }) => ({ code: String(code).toUpperCase() }),
  ],
  ['with SQL as the code', '400 invalid_grant', { code: "' or 1=1 --" }],
  [
    'with a truncated code (CVE-2026-27840)',
    '400 invalid_grant',
    ({ code }) => ({ code: String(code).slice(0, 20) }),
  ],
  [
    'with the name of an inherited property as the code',
    '400 invalid_grant',
    { code: '__proto__' },
  ],
]

/** A refresh token is bound to its client and grant. */
const refreshes: readonly Change[] = [
  [
    'by a platform (CVE-2026-55672)',
    '400 invalid_grant; the tokens still work',
    { client_id: claude.clientId },
  ],
  [
    'by another, confidential client',
    '400 invalid_grant; the tokens still work',
    { client_id, client_secret },
  ],
  [
    'by the client of the own pages',
    '400 invalid_request; the tokens still work',
    { client_id: 'gatehouse-pages' },
  ],
  [
    'for a foreign resource',
    '400 invalid_target; the tokens still work',
    { resource: 'https://evil.example' },
  ],
  [
    'for two resources, the second foreign',
    '400 invalid_target; the tokens still work',
    (_form, { url }) => ({ resource: [url, 'https://evil.example'] }),
  ],
  [
    'for a resource with a fragment',
    '400 invalid_target; the tokens still work',
    (_form, { url }) => ({ resource: `${url}#x` }),
  ],
  [
    'for an operator scope',
    '400 invalid_scope; the tokens still work',
    { scope: 'openid courses:read' },
  ],
  [
    'for every scope',
    '400 invalid_scope; the tokens still work',
    {
      scope:
        'openid profile email account:read account:write courses:read courses:write students:read',
    },
  ],
  ['for a scope in upper case', '400 invalid_scope; the tokens still work', { scope: 'OPENID' }],
  [
    'for a scope named like an inherited property',
    '400 invalid_scope; the tokens still work',
    { scope: '__proto__' },
  ],
  [
    'with an access token',
    '400 invalid_grant; the tokens still work',
    async (_form, world) => ({ refresh_token: world.last.held?.accessToken ?? '' }),
  ],
  [
    'with an id_token',
    '400 invalid_grant; the tokens still work',
    async (_form, world) => ({ refresh_token: world.last.held?.idToken ?? '' }),
  ],
  [
    'with a truncated token (CVE-2026-27840)',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({ refresh_token: String(refresh_token).slice(0, -4) }),
  ],
  [
    'with characters after the token',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({ refresh_token: `${refresh_token}.x` }),
  ],
  [
    'with a space before the token',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({ refresh_token: ` ${refresh_token}` }),
  ],
  [
    'with a NUL after the token',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({ refresh_token: `${refresh_token}\0` }),
  ],
  [
    'with the token in upper case',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({ refresh_token: String(refresh_token).toUpperCase() }),
  ],
  [
    'with SQL as the token',
    '400 invalid_grant; the tokens still work',
    { refresh_token: "%' or '1'='1" },
  ],
  ['with an empty token', '400 invalid_request; the tokens still work', { refresh_token: '' }],
  [
    'with a changed character near the end of the token',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({ refresh_token: withAnotherLetter(String(refresh_token)) }),
  ],
  [
    'with the token as a code',
    '400 invalid_grant; the tokens still work',
    ({ refresh_token }) => ({
      grant_type: 'authorization_code',
      code: String(refresh_token),
      redirect_uri: notes.redirectUri,
      code_verifier: codeVerifier,
    }),
  ],
  [
    'with the token as a password',
    '400 unsupported_grant_type; the tokens still work',
    ({ refresh_token }) => ({
      grant_type: 'password',
      username: 'sam@northlight.example',
      password: String(refresh_token),
    }),
  ],
]

/** Forges a token of the right form. */
function withAnotherLetter(token: string): string {
  const letter = token.at(-5) === 'A' ? 'B' : 'A'
  return token.slice(0, -5) + letter + token.slice(-4)
}

async function changed(form: Fields, change: Change[2], world: World): Promise<Fields> {
  return { ...form, ...(typeof change === 'function' ? await change(form, world) : change) }
}

const exchangeRows = exchanges.map(
  ([what, answer, change], position): Row => [
    1900 + position,
    `code redeemed ${what}`,
    answer,
    async (world) => {
      const form = await changed(await world.code(), change, world)
      return await token(
        world,
        form,
        what.includes('in the header') ? [`${form['client_id']}:`] : [],
      )
    },
  ],
)

async function token({ url }: World, form: Fields, pairs: readonly string[] = []): Promise<Answer> {
  const headers = pairs.flatMap((pair) => ['Authorization', `Basic ${btoa(pair)}`])
  return await postForm(url + paths.token, form, headers)
}

const refreshRows = refreshes.map(
  ([what, answer, change], position): Row => [
    1950 + position,
    `refresh ${what}`,
    answer,
    async (world) => {
      const { refreshToken } = await world.tokens()
      const form = {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: notes.clientId,
      }
      return await token(world, await changed(form, change, world))
    },
  ],
)

/** Tokens without a resource never get one. */
const unbound: readonly Row[] = [
  [
    1980,
    'refresh for this service of a token without a resource',
    '400 invalid_target; the tokens still work',
    async (world) => {
      const { refreshToken } = await world.tokens({ scope: 'openid email', resource: undefined })
      return await token(world, {
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
        client_id: notes.clientId,
        resource: world.url,
      })
    },
  ],
  [
    1981,
    'code without a resource, redeemed for this service',
    '400 invalid_target',
    async (world) => {
      const form = await world.code('notes', { scope: 'openid email', resource: undefined })
      return await token(world, { ...form, resource: world.url })
    },
  ],
  [
    1982,
    'access token of a refresh for fewer scopes, used for the others',
    '403 insufficient_scope',
    async (world) => {
      const { refreshToken } = await world.tokens()
      const { body } = await refresh(world.url, refreshToken, { scope: 'openid email' })
      const query = encodeURIComponent('{ viewer { id } }')
      return await get(`${world.url}${paths.graphql}?query=${query}`, bearer(body.access_token))
    },
  ],
]

/** Revocation by another client is a no-op (RFC 7009 §2.1). */
const revocations: readonly Row[] = [
  ['a platform', { client_id: claude.clientId }],
  ['a confidential client', { client_id, client_secret }],
].map(
  ([who, fields], position): Row => [
    1985 + position,
    `revocation of the tokens of another client by ${who} (workers-oauth-provider #188)`,
    '200 nothing; the tokens still work',
    async (world) => {
      const { accessToken, refreshToken } = await world.tokens()
      const answers: Answer[] = []
      for (const value of [accessToken, refreshToken]) {
        answers.push(
          await postForm(world.url + paths.revocation, { ...Object(fields), token: value }),
        )
      }
      return answers
    },
  ],
)

export const grantCases = tableOf('Codes and refresh tokens', 'grant-cases.ts', [
  ...exchangeRows,
  ...refreshRows,
  ...unbound,
  ...revocations,
])
