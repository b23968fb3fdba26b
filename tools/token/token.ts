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

Runs the whole flow against a running service (discovery, PKCE, sign-in, site, consent, code exchange),
verifies the id_token, and prints the tokens with a sample request.

  --base-url URL    the service (http://127.0.0.1:3000, or BASE_URL)
  --as ROLE         member, for /member/graphql (default), or operator, for /admin/graphql
  --client ID       the client_id (for a member: northlight-notes, the demo's public application; for
                    an operator: a new client that registers itself)
  --account LOGIN   the person who signs in (sam@northlight.example, olivia@northlight.example)
  --password TEXT   the person's password; not needed for people of the demo
  --scope NAMES     the scopes, separated by spaces (the identity scopes, and all scopes of a member
                    or an operator)
  --browser         opens your browser to sign in, instead of signing in without one
  --json            prints only a JSON object
  --help            prints this text
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

/** The defaults for each value of `--as`. */
const roles = {
  member: {
    /** The public application of the demo. */
    clientId: 'northlight-notes',
    account: 'sam@northlight.example',
    scopes: [...scopeNames('identity'), MEMBER_READ, MEMBER_WRITE],
  },
  operator: {
    /** Without a client_id, the client registers itself. */
    clientId: undefined,
    account: 'olivia@northlight.example',
    scopes: [...scopeNames('identity'), ...scopeNames('operator')],
  },
} as const satisfies Record<string, object>

/** Returns the defaults of a role. @throws Error for an unknown role */
function readRole(word: string) {
  if (word === 'member' || word === 'operator') return roles[word]
  throw new Error(`--as must be member or operator, not ${word}`)
}

/** Sample queries by scope. The first query that the token allows is used. */
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
else await runCommand()

async function runCommand(): Promise<void> {
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
          await chooseAccount(party.baseUrl, values.account ?? role.account),
        )
    process.stdout.write(
      values.json ? `${JSON.stringify(tokens, null, 2)}\n` : describeTokens(tokens),
    )
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}

/** Returns the login and the password: `--password` or the demo's public password. @throws Error if there is neither */
async function chooseAccount(
  baseUrl: string,
  login: string,
): Promise<{ login: string; password: string }> {
  const { password } = values
  if (password !== undefined) return { login, password }
  if (!isLoopbackUrl(baseUrl))
    throw new Error('--password is required for a service that is not local')
  const { demoPeople, readDemo } = await import('../../src/ops/import/demo-campus.ts')
  const folder = new URL('../../config/demo', import.meta.url).pathname
  const known = demoPeople(await readDemo(folder)).find((row) => row.login === login)
  if (known) return { login, password: known.password }
  throw new Error(`${login} is not a demo account; add --password`)
}

/** Formats the tokens for the terminal, with a sample request to paste. */
function describeTokens(tokens: Tokens): string {
  const { base_url, access_token, refresh_token, claims, expires_in, scope } = tokens
  const who = claims
    ? `${claims['name'] ?? claims.sub} (${claims.sub}), id_token verified (ES256)`
    : 'unknown: the scope openid was not requested'
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
