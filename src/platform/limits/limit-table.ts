/** How often whom may ask for what: the table of limits, the counts, and the answers to whoever asks too often. What is limited is not known here, but for addresses. */

/** Whom a limit counts: the network of an address, an authenticated client, a person by a client. */
type CountedBy = 'address' | 'client' | 'person'

interface LimitRow {
  /**
   * Nobody is counted by what a stranger can claim: a client once it has authenticated, a person once
   * a token or a session of theirs was found good. Otherwise anybody could use up what is another's.
   */
  readonly by: CountedBy
  /** Where its figure stands in config/service.json, and its unit. */
  readonly setting: string
  /** Where the length of its window stands there, in seconds. */
  readonly window: string
  /** What one point is, for the page of limits. */
  readonly counts: string
  /** Where it is asked, for the page of limits. */
  readonly at: string
}

const window = 'limits.windowSeconds'
const attempts = 'signIn.failureWindowSeconds'
const operationCost =
  'an operation: 100 and its cost, as its answer says it; 500 for a document that is read anew or is not valid'

/** Every limit of requests, once. docs/security.md and docs/operations.md are checked against it. */
export const limitTable = {
  authorizations: {
    by: 'address',
    setting: 'limits.authorizationKilobytesPerAddressMax',
    window,
    counts: 'a request, once for each kilobyte of it, because it is stored',
    at: 'authorization requests, pushed ones too, and requests to sign out',
  },
  oauthFailures: {
    by: 'address',
    setting: 'limits.oauthFailurePointsPerAddressMax',
    window,
    counts: 'a refusal: 10 for a client that does not authenticate, 2 for a grant, 1 for another',
    at: 'token, revocation, introspection, forward auth (its proxies)',
  },
  tokenFailures: {
    by: 'address',
    setting: 'limits.tokenFailurePointsPerAddressMax',
    window,
    counts: 'a refusal: 3 for a token that is missing or worthless, 1 for another',
    at: 'UserInfo, both GraphQL APIs, uploads, what is forwarded',
  },
  pagesOfAddress: {
    by: 'address',
    setting: 'limits.pagesPerAddressMax',
    window,
    counts: 'a page or a form',
    at: 'sign-in and consent, account, admin, connect, the confirmation of a sign-out',
  },
  downloads: {
    by: 'address',
    setting: 'limits.downloadsPerAddressMax',
    window,
    counts: 'a file, ten times for a link that leads nowhere',
    at: 'downloads and logos',
  },
  requestsOfClient: {
    by: 'client',
    setting: 'limits.requestsPerClientMax',
    window,
    counts: 'a request of a client that authenticated, 5 times for one that was refused',
    at: 'token, revocation, introspection',
  },
  unknownTokens: {
    by: 'client',
    setting: 'limits.unknownTokensPerClientMax',
    window,
    counts: 'an introspection of a value that was never issued',
    at: 'introspection',
  },
  guardedRequests: {
    by: 'client',
    setting: 'limits.guardedRequestsPerClientMax',
    window,
    counts: 'a request of a proxy that authenticated',
    at: 'forward auth',
  },
  refreshes: {
    by: 'person',
    setting: 'limits.refreshesPerPersonMax',
    window,
    counts: 'a refresh of a grant',
    at: 'token',
  },
  userinfo: {
    by: 'person',
    setting: 'limits.userinfoPerPersonMax',
    window,
    counts: 'a request',
    at: 'UserInfo',
  },
  memberApi: {
    by: 'person',
    setting: 'limits.memberApiCostPerPersonMax',
    window,
    counts: operationCost,
    at: 'the Member API',
  },
  adminApi: {
    by: 'person',
    setting: 'limits.adminApiCostPerPersonMax',
    window,
    counts: operationCost,
    at: 'the Admin API',
  },
  changes: {
    by: 'person',
    setting: 'limits.changesPerPersonMax',
    window,
    counts:
      'a change that is asked for, by whichever client: each leaves a line in the audit trail',
    at: 'the Admin API, and the tools over it',
  },
  uploads: {
    by: 'person',
    setting: 'limits.uploadsPerPersonMax',
    window,
    counts: 'a file',
    at: 'uploads',
  },
  forwarded: {
    by: 'person',
    setting: 'limits.forwardedRequestsPerPersonMax',
    window,
    counts: 'a request',
    at: 'what is forwarded',
  },
  pagesOfPerson: {
    by: 'person',
    setting: 'limits.pagesPerPersonMax',
    window,
    counts: 'a page, a form or a query that is tried',
    at: 'account, admin',
  },
  toolsOfAddress: {
    by: 'address',
    setting: 'mcp.requestsPerAddressMax',
    window: 'mcp.windowSeconds',
    counts: 'a request',
    at: 'the tool endpoint',
  },
  toolsOfCaller: {
    by: 'person',
    setting: 'mcp.requestsPerCallerMax',
    window: 'mcp.windowSeconds',
    counts: 'a request',
    at: 'the tool endpoint',
  },
  registrations: {
    by: 'address',
    setting: 'registration.registrationsPerAddressMax',
    window: 'registration.registrationWindowSeconds',
    counts: 'a registration',
    at: 'registration',
  },
  attemptsOfAddress: {
    by: 'address',
    setting: 'signIn.failuresPerAddressMax',
    window: attempts,
    counts: 'a failed sign-in, of whichever account',
    at: 'sign-in',
  },
  attemptsOfPair: {
    by: 'address',
    setting: 'signIn.failuresPerAccountAndAddressMax',
    window: attempts,
    counts: 'a failed sign-in of one account from one network',
    at: 'sign-in',
  },
  attemptsOfAccount: {
    by: 'person',
    setting: 'signIn.failuresPerAccountMax',
    window: attempts,
    counts: 'a failed sign-in of one account in browsers that nobody signed in with before',
    at: 'sign-in',
  },
  attemptsFromAfar: {
    by: 'address',
    setting: 'signIn.reservedAttemptsPerNetworkMax',
    window: attempts,
    counts: 'a failed sign-in of one account from one wide network (IPv4 /24, IPv6 /48)',
    at: 'sign-in, when the account has no attempts left',
  },
  reservedAttempts: {
    by: 'person',
    setting: 'signIn.reservedAttemptsPerAccountMax',
    window: attempts,
    counts:
      'a sign-in of one account from a network without failures, after its attempts are used up',
    at: 'sign-in',
  },
  attemptsOfBrowser: {
    by: 'person',
    setting: 'signIn.failuresPerKnownBrowserMax',
    window: attempts,
    counts: 'a failed sign-in in a browser in which the account was signed in before',
    at: 'sign-in',
  },
  signIns: {
    by: 'person',
    setting: 'signIn.signInsPerAccountMax',
    window: attempts,
    counts: 'a sign-in, which costs as much as a failed one',
    at: 'sign-in',
  },
} as const satisfies Readonly<Record<string, LimitRow>>

export type LimitName = keyof typeof limitTable

export interface LimitInForce {
  readonly name: LimitName
  readonly max: number
  readonly windowSeconds: number
  /** What `RateLimit` and `RateLimit-Policy` call it. */
  readonly policyName: string
}

/** The limits with the figures of a configuration. */
export function limitsInForce(policy: object): Readonly<Record<LimitName, LimitInForce>> {
  const rows = Object.entries(limitTable).map(([name, { setting, window }]) => [
    name,
    {
      name,
      max: figureAt(policy, setting),
      windowSeconds: figureAt(policy, window),
      policyName: name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    },
  ])
  return Object.fromEntries(rows)
}

function figureAt(policy: object, setting: string): number {
  const found = setting.split('.').reduce<unknown>((part, name) => Object(part)[name], policy)
  if (typeof found !== 'number') throw new Error(`the configuration has no number ${setting}`)
  return found
}
