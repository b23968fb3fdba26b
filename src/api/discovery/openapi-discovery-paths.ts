import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { publicDocument } from './openapi-answers.ts'
import { planMetadata, planResourceMetadata } from './openapi-plans.ts'
import {
  type Content,
  closed,
  json,
  list,
  named,
  open,
  publicRead,
  text,
  uri,
} from './openapi-shapes.ts'
import { type ProtectedResource, protectedResourcePath } from './protected-resource.ts'
import { catalogType, serverCardType } from './server-card.ts'

const scope = { enum: scopeNames() }

function resourceMetadata(facts: ServiceFacts) {
  return closed({
    resource: uri,
    authorization_servers: { ...list(uri), minItems: 1 },
    scopes_supported: list(scope),
    bearer_methods_supported: list({ const: 'header' }),
    resource_name: text,
    resource_documentation: uri,
    ...planResourceMetadata(facts),
  })
}

/** The components that the answers below name. */
export function discoverySchemas(facts: ServiceFacts) {
  const authMethods = [
    ...['none', 'client_secret_post'],
    ...(facts.service.furtherPlans.privateKeyJwt ? ['private_key_jwt'] : []),
  ]
  return {
    AuthorizationServer: open({
      issuer: uri,
      authorization_endpoint: uri,
      token_endpoint: uri,
      'userinfo_endpoint?': uri,
      jwks_uri: uri,
      registration_endpoint: uri,
      'revocation_endpoint?': uri,
      'introspection_endpoint?': uri,
      'end_session_endpoint?': uri,
      'service_documentation?': uri,
      scopes_supported: list(scope),
      response_types_supported: list({ const: 'code' }),
      grant_types_supported: list({ enum: ['authorization_code', 'refresh_token'] }),
      code_challenge_methods_supported: list({ const: 'S256' }),
      token_endpoint_auth_methods_supported: list({ enum: authMethods }),
      id_token_signing_alg_values_supported: list(text),
      'subject_types_supported?': list(text),
      'claims_supported?': list(text),
      authorization_response_iss_parameter_supported: { const: true },
      'client_id_metadata_document_supported?': { type: 'boolean' },
      // The extension is unsupported, and a client must find no trace of it.
      'agent_auth?': { not: {} },
      ...planMetadata(facts),
    }),
  }
}

const publicKey = closed({
  kty: { const: 'EC' },
  crv: { const: 'P-256' },
  x: text,
  y: text,
  kid: text,
  alg: { const: 'ES256' },
  use: { const: 'sig' },
})

const keySet = {
  'application/jwk-set+json': {
    schema: closed({ keys: { ...list(publicKey), minItems: 1 } }),
  },
}

const catalog = closed({
  specVersion: { const: '1.0' },
  entries: list(closed({ identifier: text, type: { const: serverCardType }, url: uri })),
})

const serverCardSchema = closed({
  $schema: uri,
  name: { type: 'string', pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
  version: text,
  title: { type: 'string', maxLength: 100 },
  description: { type: 'string', maxLength: 100 },
  websiteUrl: uri,
  icons: list(closed({ src: uri, mimeType: text, sizes: list(text) })),
  remotes: list(
    closed({ type: { const: 'streamable-http' }, url: uri, supportedProtocolVersions: list(text) }),
  ),
})

/** The documents a client reads before it does anything else. */
export function discoveryPaths(facts: ServiceFacts) {
  return {
    ...protectedResource(facts, 'origin', 'getProtectedResource'),
    ...protectedResource(facts, 'mcp', 'getToolEndpointResource'),
    ...protectedResource(facts, 'mcpMember', 'getMemberToolsResource'),
    ...protectedResource(facts, 'mcpAdmin', 'getOperatorToolsResource'),
    ...protectedResource(facts, 'graphql', 'getMemberApiResource'),
    ...protectedResource(facts, 'admin', 'getAdminApiResource'),
    [paths.authorizationServer]: read(
      'getAuthorizationServer',
      'Authorization Server Metadata (RFC 8414)',
      json(named('AuthorizationServer')),
    ),
    [paths.openidConfiguration]: read(
      'getOpenidConfiguration',
      'OpenID Connect Discovery 1.0',
      json(named('AuthorizationServer')),
    ),
    [paths.jwks]: read('getKeySet', 'The keys that verify an id_token (RFC 7517)', keySet),
    [paths.openApi]: read('getOpenApi', 'This document', json({ type: 'object' })),
    [paths.authMd]: read('getWalkthrough', 'The authentication walkthrough', {
      'text/markdown': { schema: text },
    }),
    [paths.llmsTxt]: read('getLlmsTxt', 'What is where, for language models (llmstxt.org)', {
      'text/plain': { schema: text },
    }),
    [paths.aiCatalog]: read('getAiCatalog', 'Where the server cards are (AI Catalog 1.0)', {
      [catalogType]: { schema: catalog },
    }),
    [paths.serverCard]: card('getServerCard'),
    [paths.serverCardMember]: card('getMemberServerCard'),
    [paths.serverCardAdmin]: card('getOperatorServerCard'),
    [paths.serverCardEarlier]: card('getEarlierServerCard'),
  }
}

function protectedResource(facts: ServiceFacts, resource: ProtectedResource, operationId: string) {
  const summary = 'Protected Resource Metadata (RFC 9728)'
  return {
    [protectedResourcePath(resource)]: read(operationId, summary, json(resourceMetadata(facts))),
  }
}

function card(operationId: string) {
  const summary = 'How to connect to the tools of one address (MCP Server Card)'
  return read(operationId, summary, { [serverCardType]: { schema: serverCardSchema } })
}

function read(operationId: string, summary: string, content: Content) {
  return publicRead('Discovery', {
    operationId,
    summary,
    responses: publicDocument(summary, content),
  })
}
