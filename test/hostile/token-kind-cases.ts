import { paths } from '../../src/platform/http/paths.ts'
import { introspect } from '../support/client.ts'
import { portal } from '../support/gatehouse.ts'
import { unsignedJwt } from '../support/proofs.ts'
import { basic, bearer, send } from '../support/wire.ts'
import { answered, numbered, tableOf } from './case.ts'
import { altered, type Held, type World } from './world.ts'

/** An endpoint that accepts access tokens, and the body of a valid request. */
type Place = readonly [first: number, at: string, path: string, body?: string, type?: string]

const toolsList = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
const userinfo: Place = [2000, 'UserInfo', paths.userinfo]
const memberApi: Place = [2030, 'the Member API', paths.graphql, '{"query":"{ viewer { id } }"}']
const adminApi: Place = [2060, 'the Admin API', paths.adminGraphql, '{"query":"{ site { id } }"}']
const mcp: Place = [2090, '/mcp', paths.mcp, toolsList]
const mcpMember: Place = [2120, '/mcp/member', paths.mcpMember, toolsList]
const mcpAdmin: Place = [2150, '/mcp/admin', paths.mcpAdmin, toolsList]
const upload: Place = [2180, 'the file upload', paths.adminFiles, 'x', 'image/png']
const places = [userinfo, memberApi, adminApi, mcp, mcpMember, mcpAdmin, upload]

async function ask({ url }: World, place: Place, headers: readonly string[], query = '') {
  const [, , path, body, type = 'application/json'] = place
  const target = { path: path + query, headers }
  if (body === undefined) return await send(url, target)
  const typed = ['Content-Type', type, ...headers]
  return await send(url, { ...target, method: 'POST', headers: typed, body })
}

const unsigned = unsignedJwt({ sub: 'per_sam', scope: 'account:read', aud: 'x' })

/** Values that are not access tokens. */
const kinds: readonly (readonly [what: string, value: (held: Held) => string])[] = [
  ['refresh token', ({ refreshToken }) => refreshToken],
  ['id_token', ({ idToken }) => idToken],
  ['code', ({ form }) => String(form['code'])],
  ['client secret', () => portal.clientSecret],
  ['truncated access token (CVE-2026-27840)', ({ accessToken }) => accessToken.slice(0, -1)],
  ['half an access token (CVE-2026-27840)', ({ accessToken }) => accessToken.slice(0, 22)],
  ['access token with an extra character', ({ accessToken }) => `${accessToken}A`],
  ['access token in upper case', ({ accessToken }) => accessToken.toUpperCase()],
  ['unsigned JWT (CVE-2026-55669)', () => unsigned],
  ['id_token of this service without signature', ({ idToken }) => idToken.replace(/[^.]+$/, '')],
  ['name of an inherited property', () => '__proto__'],
  ['8,000 characters', () => 'x'.repeat(8000)],
  ['access token with a changed character near its end', ({ accessToken }) => altered(accessToken)],
]

const kindRows = places.flatMap((place) =>
  numbered(
    { first: place[0], attack: (what) => [what, `at ${place[1]}`] },
    answered('401 invalid_token', kinds),
    async (world, [value]) => await ask(world, place, bearer(value(await world.shared()))),
  ),
)

type Why = 'in the query' | 'as without' | 'malformed' | 'unknown'
type Way = readonly [what: string, why: Why, headers: (token: string) => readonly string[]]

const twice = (token: string) => ['Authorization', `Bearer ${token}, Bearer ${token}`]
const inProxyHeaders = (token: string) => [
  ...['X-Forwarded-Access-Token', token, 'X-Access-Token', token],
]

/** Valid tokens, sent in a wrong way (RFC 6750 §2). */
const ways: readonly Way[] = [
  ['in the query', 'in the query', () => []],
  ['in a cookie', 'as without', (token) => ['Cookie', `access_token=${token}; token=${token}`]],
  ['as a password (Basic)', 'malformed', (token) => basic('x', token)],
  ['with another scheme', 'malformed', (token) => ['Authorization', `Token ${token}`]],
  ['without a space before it', 'malformed', (token) => ['Authorization', `Bearer${token}`]],
  ['followed by a comma and a second token', 'malformed', twice],
  ['in quotation marks', 'unknown', (token) => bearer(`"${token}"`)],
  ['in the second of two headers', 'malformed', (token) => [...bearer('x'), ...bearer(token)]],
  ['as DPoP without a proof', 'malformed', (token) => ['Authorization', `DPoP ${token}`]],
  ['as a user name (CVE-2026-28699)', 'malformed', (token) => basic(token, 'x-oauth-basic')],
  ['in headers of proxies', 'as without', inProxyHeaders],
]

/** Returns the expected answer. UserInfo rejects tokens in the query. Public tools need no token. */
function answerOf(place: Place, why: string): string {
  if (place === userinfo && why === 'in the query') return '400 invalid_request'
  const isIgnored = why === 'in the query' || why === 'as without'
  return place === mcp && isIgnored ? '200' : '401 invalid_token'
}

const wayRows = places.flatMap((place) =>
  numbered(
    { first: place[0] + 15, attack: (what) => [`access token ${what}`, `at ${place[1]}`] },
    ways.map(([what, why, headers]) => [what, answerOf(place, why), why, headers] as const),
    async (world, [why, headers]) => {
      const { accessToken } = await world.shared()
      const query = why === 'in the query' ? `?access_token=${accessToken}` : ''
      return await ask(world, place, headers(accessToken), query)
    },
  ),
)

/** Introspection reveals nothing about values other than access and refresh tokens (RFC 7662 §2.2, CVE-2026-33496). */
const introspections = numbered(
  { first: 2220, attack: (what) => `introspection: ${what}` },
  answered('200 inactive', kinds.slice(1)),
  async (world, [value]) => {
    const held = await world.shared()
    const good = await introspect(world.url, held.accessToken)
    if (good.body.active !== true) throw new Error('the good token is not active')
    return await Promise.all(
      [undefined, 'access_token', 'refresh_token'].map(
        async (token_type_hint) => await introspect(world.url, value(held), { token_type_hint }),
      ),
    )
  },
)

const member = async (world: World) => (await world.shared()).accessToken
const operator = async (world: World) => await world.operator()

const audiences = numbered(
  2240,
  answered<[token: typeof member, place: Place, query?: string]>('403 insufficient_scope', [
    ['member token at the Admin API', member, adminApi],
    ['operator token at the Member API', operator, memberApi],
    ['member token at the operator tools', member, mcpAdmin],
    ['operator token at the member tools', operator, mcpMember],
    ['member token at the file upload', member, upload, '?name=a.png'],
  ]),
  async (world, [token, place, query]) =>
    await ask(world, place, bearer(await token(world)), query),
)

export const tokenKindCases = tableOf('Access tokens', 'token-kind-cases.ts', [
  ...kindRows,
  ...wayRows,
  ...introspections,
  ...audiences,
])
