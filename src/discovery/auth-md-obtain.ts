import { paths } from '../http/paths.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../scopes/catalogue.ts'
import { fenced, listed, table } from './auth-md-words.ts'
import type { ServiceFacts } from './facts.ts'
import { protectedResourcePath } from './protected-resource.ts'

/** Step 1: which documents there are, and which one decides. */
export function discover({ baseUrl }: ServiceFacts): string {
  const documents = table(
    ['GET', 'It says'],
    [
      [`\`${paths.protectedResource}\``, 'the `resource` value, `authorization_servers`, scopes'],
      [`\`${protectedResourcePath('mcp')}\``, `the same for \`${paths.mcp}\``],
      [`\`${protectedResourcePath('graphql')}\``, `the same for \`${paths.graphql}\``],
      [
        `\`${paths.authorizationServer}\``,
        'every endpoint, grant type and scope; it is authoritative where this page differs',
      ],
      [`\`${paths.openidConfiguration}\``, 'the same as OpenID Connect Discovery'],
      [`\`${paths.openApi}\``, 'OpenAPI description of all endpoints'],
    ],
  )
  return `## 1. Discover

Fetch the documents directly, without a token. Do not wait for a 401 to learn where they are.

${documents}

${fenced('sh', `curl ${baseUrl}${paths.protectedResource}\ncurl ${baseUrl}${paths.authorizationServer}`)}`
}

/** Step 2: which kind of client the reader is. Rows follow what the configuration admits. */
export function pickMethod(facts: ServiceFacts): string {
  const rows = [
    [
      'the client of one site, for its members',
      'ask an operator of the site for a `client_id` (admin area: Developers, OAuth applications)',
      `identity, \`${MEMBER_READ}\`, \`${MEMBER_WRITE}\`, as the operator chose`,
    ],
    ...(facts.integrations.length === 0
      ? []
      : [
          [
            'a known platform',
            `\`POST ${paths.registration}\` with your \`client_name\``,
            'identity, operator scopes',
          ],
        ]),
    [
      'a CLI, desktop application or local agent',
      `\`POST ${paths.registration}\` with loopback redirect addresses only`,
      'identity, operator scopes',
    ],
    ...metadataDocumentRow(facts),
    ['without a person', `call \`${paths.mcp}\` without a token: public tools only`, 'none'],
  ]
  return `## 2. Pick a method

${table(['You are', 'Do this', 'Scopes you may request'], rows)}

Member clients are not self-registered. Anyone with a role at the site may authorize its client;
anyone else gets \`access_denied\`. Operator scopes act for a site where the person is owner or admin.

### Not supported

- The agent-authentication extension \`agent_auth\`: no \`identity_assertion\` (ID-JAG), no
  \`service_auth\`, no anonymous claim. There is no \`identity_endpoint\` and no \`register_uri\`:
  do not call one.
- The grants \`password\`, \`client_credentials\`, device code, token exchange and JWT bearer: the
  token endpoint answers \`unsupported_grant_type\`.
- PKCE with \`plain\`, the implicit flow, pushed authorization requests, DPoP.${withoutDocuments(facts)}`
}

function metadataDocumentRow(facts: ServiceFacts): string[][] {
  if (facts.metadataDocuments === 'off') return []
  return [
    [
      'another client with an HTTPS address',
      'publish a Client ID Metadata Document; its URL is your `client_id`',
      'identity and operator read scopes until an operator has reviewed it',
    ],
  ]
}

function withoutDocuments({ metadataDocuments }: ServiceFacts): string {
  return metadataDocuments === 'off' ? '\n- Client ID Metadata Documents.' : ''
}

/** Step 3: how a `client_id` is obtained, and which refusals to expect. */
export function register(facts: ServiceFacts): string {
  return `## 3. Register

Skip this step when an operator gave you a \`client_id\`.

### Local clients

${loopbackRegistration(facts)}${knownPlatforms(facts)}

### Refusals

${table(
  ['`error`', 'Reason'],
  [
    ['`invalid_redirect_uri`', 'an http or https address that is neither loopback nor listed'],
    ['`invalid_client_metadata`', 'an unknown `client_name` without loopback addresses'],
  ],
)}

A fixed HTTPS callback requires a registered integration. A \`scope\` in the body is narrowed to what
the client may have. The registration never answers with a secret.${metadataDocuments(facts)}

### Claim

Not applicable: the person agrees in the browser, at the authorization endpoint.`
}

function loopbackRegistration({ baseUrl, loopbackHosts, serviceName }: ServiceFacts): string {
  const body = JSON.stringify({
    client_name: `${serviceName} example`,
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1:8976/callback'],
    token_endpoint_auth_method: 'none',
  })
  const localhost = loopbackHosts.includes('localhost')
    ? '`localhost` is admitted here beside the addresses; an address is the safer choice.'
    : '`localhost` is not admitted: use the address.'
  return `Every redirect address must be of the form \`http://<host>:<port>/<path>\` with the host
${listed(loopbackHosts, 'or')}. ${localhost}
The port may differ at every authorization, the host and path may not. The client is public and may
have any name.

${fenced(
  'sh',
  `curl ${baseUrl}${paths.registration} \\
  -H 'Content-Type: application/json' \\
  -d '${body.replaceAll("'", "'\\''")}'`,
)}

The answer is 201 with your \`client_id\`. Keep it; a client that nobody uses for a long time is
forgotten and registers again.`
}

function knownPlatforms({ integrations }: ServiceFacts): string {
  if (integrations.length === 0) return ''
  const names = integrations.map((known) => known.clientName)
  return `

### Known platforms

Send your exact \`client_name\`, which is ${listed(names, 'or')},
with your own redirect addresses or none. The answer is 201 with the \`client_id\` that the platform
already has; nothing new is created.`
}

function metadataDocuments({ metadataDocuments, metadataDocumentHosts }: ServiceFacts): string {
  if (metadataDocuments === 'off') return ''
  const hosts =
    metadataDocuments === 'open'
      ? 'Documents of any host are admitted.'
      : `Documents of these hosts are admitted: ${listed(metadataDocumentHosts)}.`
  return `

### Client ID Metadata Document

No request is needed: publish the JSON document over HTTPS and use its URL as \`client_id\`.
${hosts}
Its \`client_id\` must equal its URL, and its \`redirect_uris\` must lie under the document's host or be
loopback addresses. Rely on it only while discovery says \`client_id_metadata_document_supported\`.`
}
