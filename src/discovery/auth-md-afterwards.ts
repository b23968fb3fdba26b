import { paths } from '../http/paths.ts'
import { type Audience, catalogue } from '../scopes/catalogue.ts'
import { fenced, inWords, table } from './auth-md-words.ts'
import type { ServiceFacts } from './facts.ts'

const errors: readonly (readonly [status: string, error: string, remedy: string])[] = [
  ['400', 'invalid_request', 'a parameter is missing, repeated or malformed: correct the request'],
  [
    '400',
    'invalid_grant',
    'the code or refresh token is used, expired or revoked: authorize again',
  ],
  ['400', 'invalid_scope', 'your kind of client may not have a scope: ask for less'],
  ['400', 'invalid_target', '`resource` is missing or is not this origin'],
  ['400', 'unsupported_grant_type', 'only `authorization_code` and `refresh_token` are offered'],
  ['400', 'invalid_client_metadata', 'registration: see step 3'],
  ['400', 'invalid_redirect_uri', 'registration: see step 3'],
  ['401', 'invalid_client', 'unknown client, or its secret is wrong, missing or not expected'],
  ['401', 'invalid_token', 'missing, expired or revoked token, or of another origin: refresh once'],
  ['403', 'insufficient_scope', 'authorize again with the scopes that the challenge names'],
  ['redirect', 'access_denied', 'the person refused, or has no role at the site'],
  ['429', '', 'too many requests: wait as `Retry-After` says'],
  ['503', 'temporarily_unavailable', 'a fault of the service, not of your token: wait, then retry'],
]

/** Step 5: what a refusal looks like, and what to do about each. */
export function handleErrors({ baseUrl }: ServiceFacts): string {
  const rows = errors.map(([status, error, remedy]) => [status, error && `\`${error}\``, remedy])
  const challenge = `WWW-Authenticate: Bearer error="invalid_token", resource_metadata="${baseUrl}${paths.protectedResource}"`
  return `## 5. Handle errors

The body is JSON with \`error\` and \`error_description\` (RFC 6749 §5.2). At the authorization endpoint the
error goes to \`redirect_uri\`, unless the client or the address itself is in doubt.

${table(['Status', '`error`', 'Do this'], rows)}

A protected resource adds a challenge to 401 and 403, never to 503. \`resource_metadata\` names the
document of step 1 and \`scope\` what the operation needs:

${fenced('http', challenge)}`
}

/** Step 6. */
export function revoke({ baseUrl }: ServiceFacts): string {
  const request = `curl ${baseUrl}${paths.revocation} \\
  -d token=TOKEN \\
  -d client_id=CLIENT_ID`
  return `## 6. Revoke

When the person signs out of your client, hand the access or refresh token back:

${fenced('sh', request)}

A confidential client adds \`client_secret\`. The answer is 200 with an empty body, also for a token that
is unknown or already revoked. People and operators can end an authorization too: the API then
answers \`invalid_token\` and a refresh \`invalid_grant\`; start again at step 1.`
}

/** The numbers. */
export function limits({ ttl, documentCacheSeconds }: ServiceFacts): string {
  const rows = [
    ['authorization code', inWords(ttl.authorizationCodeSeconds)],
    ['access token', inWords(ttl.accessTokenSeconds)],
    ['id_token', inWords(ttl.idTokenSeconds)],
    ['refresh token, unused', inWords(ttl.refreshTokenSeconds)],
    ['refresh tokens of one authorization, in all', inWords(ttl.refreshTokenAbsoluteSeconds)],
    ['these documents, in a cache', inWords(documentCacheSeconds)],
  ]
  return `## Limits

${table(['What', 'Lives'], rows)}

Connections of the Member API take \`first\` from 1 to 100; without it they return 20 nodes.`
}

const audiences: readonly (readonly [Audience, title: string])[] = [
  ['identity', 'Identity: every client'],
  ['member', 'Member: clients that an operator created'],
  ['operator', 'Operator: clients that act for a site'],
]

/** The catalogue, one table per audience. */
export function scopes(): string {
  const parts = audiences.map(([audience, title]) => {
    const rows = catalogue
      .filter((scope) => scope.audience === audience)
      .map(({ name, grants, access }) => [`\`${name}\``, access, grants])
    return `### ${title}\n\n${table(['Scope', 'Access', 'Grants'], rows)}`
  })
  return `## Scopes

A write scope does not include the read scope of the same area.

${parts.join('\n\n')}`
}
