/** Limits of requests: their table, the counts, and the answers 429. The surfaces decide what to count. */

interface LimitRow {
  /**
   * What a limit counts: the network of an address, an authenticated client, or a person by a client. A
   * client or person is counted only after authentication; a claim alone would let others use up its limit.
   */
  readonly by: 'address' | 'client' | 'person'
  /** Path of the maximum in config/service.json. */
  readonly setting: `${keyof typeof windowSettings}.${string}`
  /** What one point is, for the tables in the documents. */
  readonly counts: string
  /** Where it applies, for the tables in the documents. */
  readonly at: string
}

/** Path of a window's length, by the section of config/service.json that has the limit. */
const windowSettings = {
  limits: 'limits.windowSeconds',
  mcp: 'mcp.windowSeconds',
  registration: 'registration.registrationWindowSeconds',
  signIn: 'signIn.failureWindowSeconds',
} as const

const operationCost =
  'an operation: 100 and its cost, as its answer says it; 500 for a document that is read anew or is not valid'

/** Every limit of requests. Tests hold docs/security.md and docs/operations.md to it. */
export const limitTable = {
  authorizations: {
    by: 'address',
    setting: 'limits.authorizationKilobytesPerAddressMax',
    counts: 'a request, once for each kilobyte of it, because it is stored',
    at: 'authorization requests, pushed ones too, and requests to sign out',
  },
  oauthFailures: {
    by: 'address',
    setting: 'limits.oauthFailurePointsPerAddressMax',
    counts: 'a refusal: 10 for a client that does not authenticate, 2 for a grant, 1 for another',
    at: 'token, revocation, introspection, forward auth (its proxies)',
  },
  tokenFailures: {
    by: 'address',
    setting: 'limits.tokenFailurePointsPerAddressMax',
    counts: 'a refusal: 3 for a token that is missing or worthless, 1 for another',
    at: 'UserInfo, both GraphQL APIs, uploads, what is forwarded',
  },
  pagesOfAddress: {
    by: 'address',
    setting: 'limits.pagesPerAddressMax',
    counts: 'a page or a form',
    at: 'sign-in and consent, account, admin, connect, the confirmation of a sign-out',
  },
  downloads: {
    by: 'address',
    setting: 'limits.downloadsPerAddressMax',
    counts: 'a file, ten times for a link that leads nowhere',
    at: 'downloads and logos',
  },
  requestsOfClient: {
    by: 'client',
    setting: 'limits.requestsPerClientMax',
    counts: 'a request of a client that authenticated, 5 times for one that was refused',
    at: 'token, revocation, introspection',
  },
  unknownTokens: {
    by: 'client',
    setting: 'limits.unknownTokensPerClientMax',
    counts: 'an introspection of a value that was never issued',
    at: 'introspection',
  },
  guardedRequests: {
    by: 'client',
    setting: 'limits.guardedRequestsPerClientMax',
    counts: 'a request of a proxy that authenticated',
    at: 'forward auth',
  },
  refreshes: {
    by: 'person',
    setting: 'limits.refreshesPerPersonMax',
    counts: 'a refresh of a grant',
    at: 'token',
  },
  userinfo: {
    by: 'person',
    setting: 'limits.userinfoPerPersonMax',
    counts: 'a request',
    at: 'UserInfo',
  },
  memberApi: {
    by: 'person',
    setting: 'limits.memberApiCostPerPersonMax',
    counts: operationCost,
    at: 'the Member API',
  },
  adminApi: {
    by: 'person',
    setting: 'limits.adminApiCostPerPersonMax',
    counts: operationCost,
    at: 'the Admin API',
  },
  changes: {
    by: 'person',
    setting: 'limits.changesPerPersonMax',
    counts:
      'a change that is asked for, by whichever client: each leaves a line in the audit trail',
    at: 'the Admin API, and the tools over it',
  },
  uploads: {
    by: 'person',
    setting: 'limits.uploadsPerPersonMax',
    counts: 'a file',
    at: 'uploads',
  },
  forwarded: {
    by: 'person',
    setting: 'limits.forwardedRequestsPerPersonMax',
    counts: 'a request',
    at: 'what is forwarded',
  },
  pagesOfPerson: {
    by: 'person',
    setting: 'limits.pagesPerPersonMax',
    counts: 'a page, a form or a query that is tried',
    at: 'account, admin',
  },
  toolsOfAddress: {
    by: 'address',
    setting: 'mcp.requestsPerAddressMax',
    counts: 'a request',
    at: 'the tool endpoint',
  },
  toolsOfCaller: {
    by: 'person',
    setting: 'mcp.requestsPerCallerMax',
    counts: 'a request',
    at: 'the tool endpoint',
  },
  registrations: {
    by: 'address',
    setting: 'registration.registrationsPerAddressMax',
    counts: 'a registration',
    at: 'registration',
  },
  attemptsOfAddress: {
    by: 'address',
    setting: 'signIn.failuresPerAddressMax',
    counts: 'a failed sign-in, of whichever account',
    at: 'sign-in',
  },
  attemptsOfPair: {
    by: 'address',
    setting: 'signIn.failuresPerAccountAndAddressMax',
    counts: 'a failed sign-in of one account from one network',
    at: 'sign-in',
  },
  attemptsOfAccount: {
    by: 'person',
    setting: 'signIn.failuresPerAccountMax',
    counts: 'a failed sign-in of one account in browsers that nobody signed in with before',
    at: 'sign-in',
  },
  attemptsFromAfar: {
    by: 'address',
    setting: 'signIn.reservedAttemptsPerNetworkMax',
    counts: 'a failed sign-in of one account from one wide network (IPv4 /24, IPv6 /48)',
    at: 'sign-in, when the account has no attempts left',
  },
  reservedAttempts: {
    by: 'person',
    setting: 'signIn.reservedAttemptsPerAccountMax',
    counts:
      'a sign-in of one account from a network without failures, after its attempts are used up',
    at: 'sign-in',
  },
  attemptsOfBrowser: {
    by: 'person',
    setting: 'signIn.failuresPerKnownBrowserMax',
    counts: 'a failed sign-in in a browser in which the account was signed in before',
    at: 'sign-in',
  },
  signIns: {
    by: 'person',
    setting: 'signIn.signInsPerAccountMax',
    counts: 'a sign-in, which costs as much as a failed one',
    at: 'sign-in',
  },
} as const satisfies Readonly<Record<string, LimitRow>>

export type LimitName = keyof typeof limitTable

export interface LimitInForce {
  readonly name: LimitName
  readonly max: number
  readonly windowSeconds: number
  /** The name in `RateLimit` and `RateLimit-Policy`. */
  readonly policyName: string
}

/** The limits with the figures of a configuration. */
export function limitsInForce(policy: object): Readonly<Record<LimitName, LimitInForce>> {
  const rows = Object.entries<LimitRow>(limitTable).map(([name, { setting }]) => {
    const section = setting.split('.', 1)[0] as keyof typeof windowSettings
    const limit = {
      name,
      max: figureAt(policy, setting),
      windowSeconds: figureAt(policy, windowSettings[section]),
      policyName: name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    }
    return [name, limit]
  })
  return Object.fromEntries(rows)
}

function figureAt(policy: object, setting: string): number {
  const found = setting.split('.').reduce<unknown>((part, name) => Object(part)[name], policy)
  if (typeof found !== 'number') throw new Error(`the configuration has no number ${setting}`)
  return found
}
