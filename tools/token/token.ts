import { parseArgs } from 'node:util'

import {
  MEMBER_READ,
  MEMBER_WRITE,
  readScope,
  scopeNames,
} from '../../src/directory/scopes/catalogue.ts'
import { isLoopbackUrl } from '../../src/platform/http/loopback.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { loopbackRedirect, signInWithBrowser, signInWithoutBrowser } from './authorize.ts'
import { openRelyingParty, type Tokens } from './relying-party.ts'

const help = `npm run token -- [options]

Walks the whole flow against a running service (discovery, PKCE, sign-in, site, consent, exchange),
verifies the id_token, and prints the tokens with a request that works.

  --base-url URL    the service (http://127.0.0.1:3000, or BASE_URL)
  --as ROLE         member, for /member/graphql (what it is without this option), or operator, for
                    /admin/graphql: a client registers itself, and an owner of the demo signs in
  --client ID       client_id (a member: northlight-notes, the demo's public application; an
                    operator: one that is registered for it)
  --account LOGIN   demo person who signs in (sam@northlight.example, olivia@northlight.example)
  --password TEXT   its password, when it is none of the demo people
  --scope NAMES     scopes, separated by spaces (who the person is, and all of a member's or of an
                    operator's)
  --browser         opens the pages for you to sign in, instead of signing in without a browser
  --json            prints one JSON object and nothing else
  --help            this text
`

const { values } = parseArgs({
  options: {
    'base-url': { type: 'string' },
    as: { type: 'string', default: 'member' },
    client: { type: 'string' },
    account: { type: 'string' },
    password: { type: 'string' },
    scope: { type: 'string' },
    browser: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** As whom `npm run token` signs in, and what it asks for unless it is told otherwise. */
const roles = {
  member: {
    /** The demo's public member application. */
    clientId: 'northlight-notes',
    account: 'sam@northlight.example',
    scopes: [...scopeNames('identity'), MEMBER_READ, MEMBER_WRITE],
  },
  operator: {
    /** A client of an operator registers itself. */
    clientId: undefined,
    account: 'olivia@northlight.example',
    scopes: [...scopeNames('identity'), ...scopeNames('operator')],
  },
} as const satisfies Record<string, object>

/** @throws with a sentence for any word that names no role */
function readRole(word: string) {
  if (word === 'member' || word === 'operator') return roles[word]
  throw new Error(`--as takes member or operator, not ${word}`)
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

if (values.help) process.stdout.write(help)
else await run()

async function run(): Promise<void> {
  try {
    const role = readRole(values.as)
    const party = await openRelyingParty({
      baseUrl: values['base-url'] ?? process.env['BASE_URL'] ?? 'http://127.0.0.1:3000',
      clientId: values.client ?? role.clientId,
      redirectUri: loopbackRedirect,
      scope: values.scope ?? role.scopes.join(' '),
    })
    const tokens = values.browser
      ? await signInWithBrowser(party)
      : await signInWithoutBrowser(
          party,
          await accountOf(party.baseUrl, values.account ?? role.account),
        )
    process.stdout.write(
      values.json ? `${JSON.stringify(tokens, null, 2)}\n` : describeTokens(tokens),
    )
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

/** The person's password; the demo's are public and stand in its data. */
async function accountOf(
  baseUrl: string,
  login: string,
): Promise<{ login: string; password: string }> {
  const { password } = values
  if (password !== undefined) return { login, password }
  if (!isLoopbackUrl(baseUrl))
    throw new Error('--password is needed for a service that is not local')
  const { readCampusFolder } = await import('../../src/ops/import/campus-folder.ts')
  const { demoPeople } = await import('../../src/ops/import/demo-campus.ts')
  const folder = new URL('../../config/demo', import.meta.url).pathname
  const known = demoPeople(await readCampusFolder(folder)).find((row) => row.login === login)
  if (known) return { login, password: known.password }
  throw new Error(`${login} is none of the demo people: give --password`)
}

/** The tokens as text for a person, with a request that works when it is pasted. */
function describeTokens(tokens: Tokens): string {
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
