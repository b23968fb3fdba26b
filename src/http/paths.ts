/**
 * Every fixed address that the service answers, relative to {base_url} (specification, Endpoints).
 * Routers, the engine's routes, discovery documents and the request log read this one table.
 */
export const paths = {
  authorization: '/oauth/authorize',
  token: '/api/oauth/token',
  userinfo: '/api/oauth/userinfo',
  revocation: '/api/oauth/revoke',
  introspection: '/api/oauth/introspect',
  jwks: '/api/oauth/jwks',
  registration: '/api/oauth/register',
  endSession: '/oauth/logout',
  graphql: '/member/graphql',
  memberSchema: '/member/schema.graphql',
  mcp: '/mcp',
  protectedResource: '/.well-known/oauth-protected-resource',
  authorizationServer: '/.well-known/oauth-authorization-server',
  openidConfiguration: '/.well-known/openid-configuration',
  openApi: '/openapi.json',
  authMd: '/auth.md',
  health: '/healthz',
  ready: '/readyz',
} as const
