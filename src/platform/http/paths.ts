/**
 * HTTP without a domain: the addresses, the middleware in front of everything, and how answers are
 * sent.
 */

// Every address that the service answers stands here, relative to {base_url}, and nowhere else. Routers,
// the engine's routes, discovery documents, pages and the request log read these tables.

/** The addresses for programs (specification, Endpoints). `/openapi.json` describes exactly these. */
export const paths = {
  authorization: '/oauth/authorize',
  token: '/api/oauth/token',
  userinfo: '/api/oauth/userinfo',
  revocation: '/api/oauth/revoke',
  introspection: '/api/oauth/introspect',
  forwardAuth: '/api/oauth/forward-auth',
  jwks: '/api/oauth/jwks',
  registration: '/api/oauth/register',
  endSession: '/oauth/logout',

  graphql: '/member/graphql',
  memberSchema: '/member/schema.graphql',
  adminGraphql: '/admin/graphql',
  adminSchema: '/admin/schema.graphql',
  /** What the platform serves itself; the path may have any number of segments. */
  upstream: '/admin/api/:path',
  adminFiles: '/admin/files',
  mcp: '/mcp',
  mcpMember: '/mcp/member',
  mcpAdmin: '/mcp/admin',

  protectedResource: '/.well-known/oauth-protected-resource',
  protectedResourceMcp: '/.well-known/oauth-protected-resource/mcp',
  protectedResourceMcpMember: '/.well-known/oauth-protected-resource/mcp/member',
  protectedResourceMcpAdmin: '/.well-known/oauth-protected-resource/mcp/admin',
  protectedResourceGraphql: '/.well-known/oauth-protected-resource/member/graphql',
  protectedResourceAdmin: '/.well-known/oauth-protected-resource/admin/graphql',
  authorizationServer: '/.well-known/oauth-authorization-server',
  openidConfiguration: '/.well-known/openid-configuration',
  openApi: '/openapi.json',
  authMd: '/auth.md',
  llmsTxt: '/llms.txt',
  aiCatalog: '/.well-known/ai-catalog.json',
  /** Each is the address of its tools and `/server-card` (SEP-2127). */
  serverCard: '/mcp/server-card',
  serverCardMember: '/mcp/member/server-card',
  serverCardAdmin: '/mcp/admin/server-card',
  /** Where an earlier draft had it, and where tools that rate sites look. */
  serverCardEarlier: '/.well-known/mcp/server-card.json',

  health: '/healthz',
  ready: '/readyz',
} as const

/** Where Prometheus reads metrics: at a port of its own, and not among the addresses of the service. */
export const metricsPath = '/metrics'

/** Addresses for programs that are answered while a setting has their plan on, and 404 otherwise. */
export const planPaths = {
  /** RFC 9126. */
  pushedAuthorization: '/api/oauth/par',
} as const

/**
 * Below it stands the address that a proxy guards, for proxies which can only put something before it
 * (Envoy). It may be anything, so that it is no pattern of the table.
 */
export const forwardAuthFor = `${paths.forwardAuth}/for/`

const site = '/admin/:site'
const application = `${site}/applications/:client`
const resourceServer = `${site}/resource-servers/:client`

/** The pages between an authorization request and its answer, by the name of the engine's prompt. */
export const promptPages = {
  login: '/interaction/:uid/login',
  select_account: '/interaction/:uid/select_account',
  consent: '/interaction/:uid/consent',
} as const

/** The addresses for people, as patterns of a router. They are no part of the protocol. */
export const pages = {
  welcome: '/',
  stylesheet: '/assets/:file',
  icon: '/icon.svg',
  iconPng: '/icon.png',
  /** The parts of GraphiQL, which the pages below load. */
  queryAssets: '/assets/queries/:file',
  /** Both are of one site, and their names say their content. */
  siteColors: '/assets/colors/:file',
  siteLogo: '/assets/logos/:site/:digest',
  /** Signed, and good for one purchase and some minutes. */
  download: '/files/:token/:name',

  ...promptPages,
  cancelLogin: `${promptPages.login}/cancel`,
  cancelSiteChoice: `${promptPages.select_account}/cancel`,
  cancelConsent: `${promptPages.consent}/cancel`,

  /** Where the sign-in to the pages below comes back to; the redirect address of `relying-party/sign-in.ts`. */
  signedIn: '/signed-in',
  signOut: '/sign-out',

  /** How a person connects an assistant: whichever site it is for, and one site. */
  connectHome: '/connect',
  connect: '/connect/:site',

  account: '/account',
  apps: '/account/apps',
  removeApp: '/account/apps/remove',
  memberQueries: '/account/queries',
  runMemberQuery: '/account/queries/:site',
  signOutEverywhere: '/account/sign-out-everywhere',
  signedOutEverywhere: '/account/signed-out-everywhere',

  admin: '/admin',
  site,
  overview: `${site}/overview`,
  audit: `${site}/audit`,
  queries: `${site}/queries`,
  runQuery: `${site}/queries/run`,
  beta: `${site}/beta`,
  betaOn: `${site}/beta/on`,
  betaOff: `${site}/beta/off`,
  assistants: `${site}/assistants`,
  ownAssistants: `${site}/assistants/own`,
  documentClients: `${site}/self-declared-clients`,
  approveDocumentClient: `${site}/self-declared-clients/approved`,
  blockDocumentClient: `${site}/self-declared-clients/blocked`,
  applications: `${site}/applications`,
  newApplication: `${site}/applications/new`,
  application,
  editApplication: `${application}/edit`,
  applicationSecurity: `${application}/security`,
  enableApplication: `${application}/enable`,
  disableApplication: `${application}/disable`,
  deleteApplication: `${application}/delete`,
  secrets: `${application}/secrets`,
  removeSecret: `${application}/secrets/:secret/remove`,
  people: `${application}/people`,
  endAllGrants: `${application}/people/end-all`,
  endGrant: `${application}/people/:person/end`,
  refusals: `${application}/refusals`,
  resourceServers: `${site}/resource-servers`,
  resourceServer,
  enableResourceServer: `${resourceServer}/enable`,
  disableResourceServer: `${resourceServer}/disable`,
  deleteResourceServer: `${resourceServer}/delete`,
  resourceServerSecrets: `${resourceServer}/secrets`,
  removeResourceServerSecret: `${resourceServer}/secrets/:secret/remove`,
  resourceServerRefusals: `${resourceServer}/refusals`,
} as const

/** What the engine makes of the two addresses to which a browser is sent. */
export const enginePages = {
  resume: `${paths.authorization}/:uid`,
  confirmSignOut: `${paths.endSession}/confirm`,
  signedOut: `${paths.endSession}/success`,
} as const

/** The address that a pattern stands for. */
export function addressOf(pattern: string, values: Readonly<Record<string, string>>): string {
  return pattern.replace(/:(\w+)/g, (_, name) => encodeURIComponent(values[name] ?? ''))
}

/** What follows /admin/ in an address of something else, and so cannot be the slug of a site. */
export const takenSlugs: ReadonlySet<string> = new Set(
  [...Object.values(paths), ...Object.values(pages)].flatMap((address) => {
    const [, name] = /^\/admin\/([^/:]+)/.exec(address) ?? []
    return name ?? []
  }),
)

/** By which name the pages of a site are found: its slug, or its id where something else has that address. */
export function nameOfSite({ id, slug }: { readonly id: string; readonly slug: string }): string {
  return takenSlugs.has(slug) ? id : slug
}
