/** Every path of the service, relative to {base_url}. */

/** Paths for programs (specification, Endpoints), which `/openapi.json` describes. */
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
  /** The platform API. `:path` stands for any number of segments. */
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
  /** The server card of each tool endpoint: the endpoint's path plus `/server-card` (SEP-2127). */
  serverCard: '/mcp/server-card',
  serverCardMember: '/mcp/member/server-card',
  serverCardAdmin: '/mcp/admin/server-card',
  /** The server card's path in an earlier draft of SEP-2127. Site scanners still request it. */
  serverCardEarlier: '/.well-known/mcp/server-card.json',

  health: '/healthz',
  ready: '/readyz',
} as const

/** The tool endpoints and their metadata, except those in `changePaths`. */
export const toolPaths = [
  ...[paths.mcp, paths.mcpMember, paths.mcpAdmin, paths.protectedResourceMcp],
  ...[paths.protectedResourceMcpMember, paths.protectedResourceMcpAdmin],
] as const

/** The operator endpoint for changes in named areas, such as `courses.students`, and its metadata (design 38). */
export const changePaths = {
  mcp: '/mcp/admin/change/:areas',
  protectedResource: '/.well-known/oauth-protected-resource/mcp/admin/change/:areas',
} as const

/** Separates areas in URLs. A comma would not do: some clients percent-encode it, so the path would not match. */
export const AREA_SEPARATOR = '.'

/** Returns the path of the operator endpoint for changes in these areas, which must be in canonical order. */
export function pathForChanges(areas: readonly string[]): string {
  return changePaths.mcp.replace(':areas', areas.join(AREA_SEPARATOR))
}

/** The path of the metrics for Prometheus, on a separate port. */
export const metricsPath = '/metrics'

/** Paths for programs. They respond with 404 unless a setting enables them. */
export const planPaths = {
  /** Pushed authorization requests (RFC 9126). */
  pushedAuthorization: '/api/oauth/par',
  /** Accepts import records from the platform. */
  records: '/platform/records',
} as const

/** The forward-auth prefix for proxies, such as Envoy, that can only prepend a path. Any path may follow. */
export const forwardAuthFor = `${paths.forwardAuth}/for/`

const site = '/admin/:site'
const member = `${site}/people/:person`
const application = `${site}/applications/:client`
const resourceServer = `${site}/resource-servers/:client`

/** The pages shown during an authorization, by engine prompt. */
export const promptPages = {
  login: '/interaction/:uid/login',
  select_account: '/interaction/:uid/select_account',
  consent: '/interaction/:uid/consent',
} as const

/** Paths for people, as router patterns. They are not part of the protocol. */
export const pages = {
  welcome: '/',
  stylesheet: '/assets/:file',
  icon: '/icon.svg',
  iconPng: '/icon.png',
  queryAssets: '/assets/queries/:file',
  /** Assets of a site; the path contains a digest of the content. */
  siteColors: '/assets/colors/:file',
  siteLogo: '/assets/logos/:site/:digest',
  /** A signed download link, valid for one purchase and for a limited time. */
  download: '/files/:token/:name',

  ...promptPages,
  /** Below the sign-in page, because browsers send the cookie of the interaction only there. */
  signInWithPasskey: `${promptPages.login}/passkey`,
  /** The second step of a sign-in, below the sign-in page because of the cookie. */
  secondStep: `${promptPages.login}/second-step`,
  resetSecondStep: `${promptPages.login}/second-step/reset`,
  /** A sign-in with an identity provider: its start, its redirect URI, and the page that reads the response. */
  providerSignIn: `${promptPages.login}/provider/:provider`,
  providerCallback: '/sign-in/callback/:provider',
  providerAnswer: `${promptPages.login}/provider/:provider/answer`,
  /** The page to which a provider redirects the browser after a sign-out. */
  providerSignedOut: '/sign-in/signed-out',
  cancelLogin: `${promptPages.login}/cancel`,
  cancelSiteChoice: `${promptPages.select_account}/cancel`,
  cancelConsent: `${promptPages.consent}/cancel`,

  /** The redirect URI of the sign-in to the account and operator pages (`relying-party/sign-in.ts`). */
  signedIn: '/signed-in',
  signOut: '/sign-out',
  switchAccount: '/switch-account',

  /** Instructions for connecting an assistant: for all sites, and for one site. */
  connectHome: '/connect',
  connect: '/connect/:site',

  /** The mail of the demo. Each message is a file. */
  mail: '/mail',
  mailMessage: '/mail/:file',
  styleGuide: '/style-guide',

  account: '/account',
  language: '/account/language',
  apps: '/account/apps',
  removeApp: '/account/apps/remove',
  notifications: '/account/notifications',
  security: '/account/security',
  passkeys: '/account/passkeys',
  addPasskey: '/account/passkeys/add',
  removePasskey: '/account/passkeys/remove',
  linkedIdentities: '/account/identity-providers',
  removeIdentity: '/account/identity-providers/remove',
  secondFactor: '/account/second-factor',
  addAuthenticator: '/account/second-factor/app',
  confirmAuthenticator: '/account/second-factor/app/confirm',
  recoveryCodes: '/account/second-factor/codes',
  removeSecondFactor: '/account/second-factor/remove',
  /** The person's data: its download, and the deletion of the account. */
  data: '/account/data',
  downloadData: '/account/data/download',
  deleteAccount: '/account/data/delete',
  recover: '/recover',
  recoverySent: '/recover-sent',
  factorResetSent: '/recover-sent/second-factor',
  signUp: '/sign-up/:site',
  signUpSent: '/sign-up-sent/:site',
  memberQueries: '/account/queries',
  runMemberQuery: '/account/queries/:site',
  sessions: '/account/sessions',
  endSession: '/account/sessions/end',
  endOtherSessions: '/account/sessions/end-others',
  signOutEverywhere: '/account/sign-out-everywhere',
  signedOutEverywhere: '/account/signed-out-everywhere',

  admin: '/admin',
  site,
  overview: `${site}/overview`,
  overviewDownload: `${site}/overview/download`,
  audit: `${site}/audit`,
  auditDownload: `${site}/audit/download/:format`,
  queries: `${site}/queries`,
  runQuery: `${site}/queries/run`,
  appearance: `${site}/appearance`,
  appearanceLanguages: `${site}/appearance/languages`,
  appearancePreview: `${site}/appearance/preview`,
  members: `${site}/people`,
  invitations: `${site}/people/invitations`,
  member,
  memberRoles: `${member}/roles`,
  memberRecovery: `${member}/recovery`,
  endMemberAccess: `${member}/end-access`,
  removeMember: `${member}/remove`,
  beta: `${site}/beta`,
  betaOn: `${site}/beta/on`,
  betaOff: `${site}/beta/off`,
  selfSignUp: `${site}/self-sign-up`,
  twoFactors: `${site}/two-factors`,
  identityProviders: `${site}/identity-providers`,
  removeIdentityProvider: `${site}/identity-providers/:provider/remove`,
  providerDomains: `${site}/identity-providers/:provider/domains`,
  ownSignIn: `${site}/only-way-in`,
  approvals: `${site}/approvals`,
  approvalPolicy: `${site}/approvals/policy`,
  webhooks: `${site}/webhooks`,
  webhook: `${site}/webhooks/:endpoint`,
  assistants: `${site}/assistants`,
  ownAssistants: `${site}/assistants/own`,
  documentClients: `${site}/self-declared-clients`,
  approveDocumentClient: `${site}/self-declared-clients/approved`,
  blockDocumentClient: `${site}/self-declared-clients/blocked`,
  applications: `${site}/applications`,
  newApplication: `${site}/applications/new`,
  application,
  editApplication: `${application}/edit`,
  setUpApplication: `${application}/set-up`,
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

/** The pages of one-time links, by kind of link. Opening a page does not use up the link. */
export const linkPages = {
  recovery: '/recover/:token',
  second_factor: '/recover/second-factor/:token',
  invitation: '/invitation/:token',
  address: '/sign-up/:site/:token',
  deletion: '/account/deletion/:token',
  upload: '/upload/:token',
} as const

/** Pages that the engine serves below its two browser paths. */
export const enginePages = {
  resume: `${paths.authorization}/:uid`,
  confirmSignOut: `${paths.endSession}/confirm`,
  signedOut: `${paths.endSession}/success`,
} as const

/** Fills in the parameters of a path pattern, percent-encoded. */
export function addressOf(pattern: string, values: Readonly<Record<string, string>>): string {
  return pattern.replace(/:(\w+)/g, (_, name) => encodeURIComponent(values[name] ?? ''))
}

/** Path segments below /admin/ that the service uses itself, so they cannot name a site. */
export const takenSlugs: ReadonlySet<string> = new Set(
  [...Object.values(paths), ...Object.values(pages)].flatMap((address) => {
    const [, name] = /^\/admin\/([^/:]+)/.exec(address) ?? []
    return name ?? []
  }),
)

/** Returns a site's name in page paths: its slug, or its id if the slug is reserved. */
export function nameOfSite({ id, slug }: { readonly id: string; readonly slug: string }): string {
  return takenSlugs.has(slug) ? id : slug
}
