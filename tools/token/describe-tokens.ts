import { MEMBER_READ, readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import type { Tokens } from './relying-party.ts'

/** The tokens as text for a person, with a request that works when it is pasted. */
export function describeTokens(tokens: Tokens): string {
  const { base_url, access_token, refresh_token, claims, expires_in, scope } = tokens
  const who = claims
    ? `${claims['name'] ?? claims.sub} (${claims.sub}), id_token verified (ES256)`
    : 'not told: the scope openid was not asked for'
  return [
    `signed in      ${who}`,
    `scope          ${scope}`,
    `access token   ${access_token}   (${expires_in} s)`,
    `refresh token  ${refresh_token ?? 'none'}`,
    '',
    'Try it:',
    requestFor(base_url, access_token, scope.split(' ')),
    '',
  ].join('\n')
}

function requestFor(baseUrl: string, accessToken: string, scopes: readonly string[]): string {
  const header = `-H 'Authorization: Bearer ${accessToken}'`
  const [path, query] = queries.find(({ scope }) => scopes.includes(scope))?.ask ?? []
  if (path === undefined) return `curl ${baseUrl}${paths.userinfo} ${header}`
  return [
    `curl ${baseUrl}${path} \\`,
    `  ${header} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ query })}'`,
  ].join('\n')
}

/** What each scope can ask, the first that a token has. */
const queries = [
  {
    scope: MEMBER_READ,
    ask: [
      paths.graphql,
      '{ viewer { name email schools { name roles } enrolledCourses(first: 5) { nodes { slug expireDate hasLifetimeAccess } } } }',
    ],
  },
  {
    scope: readScope('courses'),
    ask: [paths.adminGraphql, '{ courses(first: 5) { totalCount nodes { id title state } } }'],
  },
  { scope: readScope('school'), ask: [paths.adminGraphql, '{ site { id name slug } }'] },
] as const
