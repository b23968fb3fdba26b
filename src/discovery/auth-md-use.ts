import { paths } from '../http/paths.ts'
import { MEMBER_READ, MEMBER_WRITE, OPENID, scopeNames } from '../scopes/catalogue.ts'
import { fenced, inWords, listed } from './auth-md-words.ts'
import type { ServiceFacts } from './facts.ts'

/** Step 4: from a `client_id` to an answer of the API. */
export function useCredential(facts: ServiceFacts): string {
  return `## 4. Use the credential

${[authorize(facts), exchange(facts), idToken(facts), callApi(facts), refresh(facts)].join('\n\n')}`
}

function authorize({ baseUrl }: ServiceFacts): string {
  const request = [
    `${baseUrl}${paths.authorization}`,
    '  ?response_type=code',
    '  &client_id=CLIENT_ID',
    '  &redirect_uri=REDIRECT_URI',
    `  &scope=${encodeURIComponent([OPENID, 'profile', MEMBER_READ].join(' '))}`,
    `  &resource=${encodeURIComponent(baseUrl)}`,
    '  &code_challenge=CODE_CHALLENGE',
    '  &code_challenge_method=S256',
    '  &state=STATE',
    '  &nonce=NONCE',
  ].join('\n')
  const resources = [baseUrl, `${baseUrl}/`, `${baseUrl}${paths.mcp}`, `${baseUrl}${paths.graphql}`]
  return `### Authorize

Make a random \`code_verifier\` of 43 to 128 characters; \`CODE_CHALLENGE\` is the base64url of its
SHA-256 digest. Open this address in the person's browser (one line, every value URL-encoded):

${fenced('text', request)}

- \`scope\`: only the scopes of your kind of client. Asking for all that discovery lists is refused
  with \`invalid_scope\`. An operator client writes for example \`${OPENID} ${scopeNames('operator')[0]}\`.
  A member client that will also change notifications asks for \`${MEMBER_READ} ${MEMBER_WRITE}\` at once.
- \`resource\`: required with member scopes, here and at the token endpoint. Accepted are
  ${listed(resources)};
  all bind the token to this origin. Anything else is \`invalid_target\`. Without
  member scopes it may be left out.
- \`state\` and \`nonce\`: random; \`nonce\` comes back in the id_token.

The browser returns to \`redirect_uri\` with \`code\`, \`state\` and \`iss\`, or with \`error\`. Go on only when
\`state\` is yours and \`iss\` equals \`${baseUrl}\`.`
}

function exchange({ baseUrl, ttl }: ServiceFacts): string {
  const request = `curl ${baseUrl}${paths.token} \\
  -d grant_type=authorization_code \\
  -d code=CODE \\
  --data-urlencode redirect_uri=REDIRECT_URI \\
  -d client_id=CLIENT_ID \\
  -d code_verifier=CODE_VERIFIER \\
  --data-urlencode resource=${baseUrl}`
  return `### Exchange the code

A code lives ${inWords(ttl.authorizationCodeSeconds)} and works once; a second use ends the authorization.

${fenced('sh', request)}

A confidential client adds \`client_secret\`; a public client never sends one. The answer is JSON:
\`access_token\`, \`token_type\` (\`Bearer\`), \`expires_in\`, \`scope\`, \`refresh_token\`, and with the scope
\`${OPENID}\` an \`id_token\`. Access tokens are opaque: do not parse them.`
}

function idToken({ baseUrl, ttl }: ServiceFacts): string {
  return `### Verify the id_token

Rely on it when discovery lists both \`id_token_signing_alg_values_supported\` and \`jwks_uri\`:

- it is signed with ES256 by the key that its header's \`kid\` names at \`${baseUrl}${paths.jwks}\`;
- \`iss\` equals \`${baseUrl}\`, \`aud\` equals your \`client_id\`, \`nonce\` equals yours;
- \`exp\` is in the future; it lives ${inWords(ttl.idTokenSeconds)}.

Its claims are \`sub\`, \`email\`, \`name\`, \`picture\`, \`org_id\` and \`roles\`, as far as the scopes release them.
\`GET ${paths.userinfo}\` with the access token returns the same.`
}

function callApi({ baseUrl }: ServiceFacts): string {
  const query = JSON.stringify({
    query:
      '{ viewer { name enrolledCourses(first: 10) { nodes { slug hasLifetimeAccess lastWatchedLecture { lectureId positionSeconds } } } } }',
  })
  const graphql = `curl ${baseUrl}${paths.graphql} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '${query}'`
  const mcp = `curl ${baseUrl}${paths.mcp} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -H 'Accept: application/json, text/event-stream' \\
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`
  return `### Call

The token goes into the \`Authorization\` header and nowhere else. \`${paths.graphql}\` is the Member API
(GraphQL) and needs \`${MEMBER_READ}\`, its mutations \`${MEMBER_WRITE}\`:

${fenced('sh', graphql)}

\`${paths.mcp}\` is the tool endpoint (MCP). The same member token works there; without the
\`Authorization\` header it offers the public tools only:

${fenced('sh', mcp)}`
}

function refresh({ baseUrl, ttl }: ServiceFacts): string {
  const request = `curl ${baseUrl}${paths.token} \\
  -d grant_type=refresh_token \\
  -d refresh_token=REFRESH_TOKEN \\
  -d client_id=CLIENT_ID`
  const retry =
    ttl.refreshRetrySeconds > 0
      ? `If the answer is lost, repeat the same request within ${inWords(ttl.refreshRetrySeconds)}: it gets the same answer.\n`
      : ''
  return `### Refresh

${fenced('sh', request)}

No person is asked. Every use returns a new \`refresh_token\` that replaces the old one.
${retry}Using an old one later ends the whole authorization. The answer carries no \`id_token\`. There is no
\`offline_access\` scope: a refresh token comes with every authorization.`
}
