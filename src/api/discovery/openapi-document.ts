import { catalogue } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { sharedComponents } from './openapi-answers.ts'
import { authorizationPaths } from './openapi-authorization-paths.ts'
import { discoveryPaths, discoverySchemas } from './openapi-discovery-paths.ts'
import { filePaths, fileSchemas } from './openapi-file-paths.ts'
import { graphqlPaths, graphqlSchemas } from './openapi-graphql-paths.ts'
import { healthPaths } from './openapi-health-paths.ts'
import { pathsOfPlans, planResponses } from './openapi-plans.ts'
import { registrationPaths } from './openapi-registration-paths.ts'
import type { Paths } from './openapi-shapes.ts'
import { tokenPaths } from './openapi-token-paths.ts'
import { toolPaths, toolSchemas } from './openapi-tool-paths.ts'
import { upstreamPaths } from './openapi-upstream-paths.ts'

const tags = [
  { name: 'Discovery', description: 'Public documents, to be read first' },
  { name: 'Registration', description: 'How a client gets its client_id' },
  { name: 'Authorization', description: 'Where a browser is sent' },
  { name: 'Tokens', description: 'The back channel of a client' },
  { name: 'Member API', description: "A member's own data" },
  { name: 'Admin API', description: 'What operators read and change of a site' },
  { name: 'Tools', description: 'Tools for agents' },
  { name: 'Health', description: 'For load balancers and orchestrators' },
]

/** The OpenAPI 3.1 description of every fixed address of the service. */
export function openApiDocument(facts: ServiceFacts) {
  const described: Paths = {
    ...discoveryPaths(facts),
    ...pathsOfPlans(facts),
    ...registrationPaths(facts),
    ...authorizationPaths(facts),
    ...tokenPaths(facts),
    ...graphqlPaths,
    ...upstreamPaths,
    ...filePaths(facts),
    ...toolPaths,
    ...healthPaths,
  }
  return {
    openapi: '3.1.0',
    info: {
      title: facts.service.name,
      summary: 'OAuth 2.0 and OpenID Connect authorization, Member API, Admin API and tools',
      description: `Read ${facts.baseUrl}${paths.authMd} for the walkthrough.`,
      version: '1.0.0',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: facts.baseUrl }],
    tags,
    paths: described,
    components: {
      ...sharedComponents,
      responses: { ...sharedComponents.responses, ...planResponses(facts) },
      schemas: {
        ...sharedComponents.schemas,
        ...discoverySchemas(facts),
        ...graphqlSchemas,
        ...fileSchemas,
        ...toolSchemas,
      },
      securitySchemes: securitySchemes(facts),
    },
  }
}

function securitySchemes({ baseUrl, service }: ServiceFacts) {
  return {
    oauth: {
      type: 'oauth2',
      description: 'Authorization code with PKCE (S256)',
      flows: {
        authorizationCode: {
          authorizationUrl: `${baseUrl}${paths.authorization}`,
          tokenUrl: `${baseUrl}${paths.token}`,
          refreshUrl: `${baseUrl}${paths.token}`,
          scopes: Object.fromEntries(catalogue.map(({ name, grants }) => [name, grants])),
        },
      },
    },
    proxy: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Forward-Auth-Client',
      description: 'The client_id and client_secret of a resource server, as HTTP Basic has them',
    },
    bearer: { type: 'http', scheme: 'bearer', description: 'An access token of this service' },
    clientSecretBasic: {
      type: 'http',
      scheme: 'basic',
      description: 'Accepted for confidential clients beside client_secret in the form',
    },
    ...(service.furtherPlans.dpop && {
      dpop: { type: 'http', scheme: 'dpop', description: 'A token with a proof (RFC 9449)' },
    }),
  }
}
