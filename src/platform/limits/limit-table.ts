/** Request limits: their table, the counts, and the 429 answers. Each surface decides what to charge. */

interface LimitRow {
  /**
   * Who is charged: the network of an address, an authenticated client, or a person by client. A client or
   * person is charged only after authentication, or others could use up its limit.
   */
  readonly by: 'address' | 'client' | 'person'
  /** Path of the maximum in config/service.json. */
  readonly setting: `${keyof typeof windowSettings}.${string}`
}

/** Path of the window length, by the section of config/service.json that has the limit. */
const windowSettings = {
  limits: 'limits.windowSeconds',
  mcp: 'mcp.windowSeconds',
  registration: 'registration.registrationWindowSeconds',
  signIn: 'signIn.failureWindowSeconds',
} as const

/** Every request limit. docs/reference/limits.md says where each applies and what costs a point. */
export const limitTable = {
  authorizations: { by: 'address', setting: 'limits.authorizationKilobytesPerAddressMax' },
  oauthFailures: { by: 'address', setting: 'limits.oauthFailurePointsPerAddressMax' },
  tokenFailures: { by: 'address', setting: 'limits.tokenFailurePointsPerAddressMax' },
  pagesOfAddress: { by: 'address', setting: 'limits.pagesPerAddressMax' },
  downloads: { by: 'address', setting: 'limits.downloadsPerAddressMax' },
  requestsOfClient: { by: 'client', setting: 'limits.requestsPerClientMax' },
  unknownTokens: { by: 'client', setting: 'limits.unknownTokensPerClientMax' },
  guardedRequests: { by: 'client', setting: 'limits.guardedRequestsPerClientMax' },
  refreshes: { by: 'person', setting: 'limits.refreshesPerPersonMax' },
  userinfo: { by: 'person', setting: 'limits.userinfoPerPersonMax' },
  memberApi: { by: 'person', setting: 'limits.memberApiCostPerPersonMax' },
  adminApi: { by: 'person', setting: 'limits.adminApiCostPerPersonMax' },
  changes: { by: 'person', setting: 'limits.changesPerPersonMax' },
  uploads: { by: 'person', setting: 'limits.uploadsPerPersonMax' },
  forwarded: { by: 'person', setting: 'limits.forwardedRequestsPerPersonMax' },
  pagesOfPerson: { by: 'person', setting: 'limits.pagesPerPersonMax' },
  toolsOfAddress: { by: 'address', setting: 'mcp.requestsPerAddressMax' },
  toolsOfCaller: { by: 'person', setting: 'mcp.requestsPerCallerMax' },
  registrations: { by: 'address', setting: 'registration.registrationsPerAddressMax' },
  attemptsOfAddress: { by: 'address', setting: 'signIn.failuresPerAddressMax' },
  attemptsOfPair: { by: 'address', setting: 'signIn.failuresPerAccountAndAddressMax' },
  attemptsOfAccount: { by: 'person', setting: 'signIn.failuresPerAccountMax' },
  attemptsFromAfar: { by: 'address', setting: 'signIn.reservedAttemptsPerNetworkMax' },
  reservedAttempts: { by: 'person', setting: 'signIn.reservedAttemptsPerAccountMax' },
  attemptsOfBrowser: { by: 'person', setting: 'signIn.failuresPerKnownBrowserMax' },
  signIns: { by: 'person', setting: 'signIn.signInsPerAccountMax' },
} as const satisfies Readonly<Record<string, LimitRow>>

export type LimitName = keyof typeof limitTable

export interface LimitInForce {
  readonly name: LimitName
  readonly max: number
  readonly windowSeconds: number
  /** The name in `RateLimit` and `RateLimit-Policy`. */
  readonly policyName: string
}

/** Returns the limits with the values of a configuration. */
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
