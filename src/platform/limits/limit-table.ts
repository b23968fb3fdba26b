/** The table of request limits. The code that applies a limit decides how many points a request costs. */

interface LimitRow {
  /**
   * What is charged: a client network, a client or a person. Limits per account, e-mail address, site or browser also
   * use `person`. Except for sign-in, sign-up, recovery and mail, clients and people are charged only after
   * authentication, so other callers cannot exhaust these limits.
   */
  readonly by: 'address' | 'client' | 'person'
  /** The path of the maximum in config/service.json. */
  readonly setting: `${keyof typeof windowSettings}.${string}`
}

/** The path of the window length in config/service.json, by section. */
const windowSettings = {
  limits: 'limits.windowSeconds',
  mcp: 'mcp.windowSeconds',
  registration: 'registration.registrationWindowSeconds',
  signIn: 'signIn.failureWindowSeconds',
  mail: 'mail.windowSeconds',
} as const

/** Every request limit. docs/reference/limits.md describes where each limit applies and what costs points. */
export const limitTable = {
  authorizations: { by: 'address', setting: 'limits.authorizationKilobytesPerAddressMax' },
  oauthFailures: { by: 'address', setting: 'limits.oauthFailurePointsPerAddressMax' },
  tokenFailures: { by: 'address', setting: 'limits.tokenFailurePointsPerAddressMax' },
  verifications: { by: 'address', setting: 'limits.verificationPointsPerAddressMax' },
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
  platformRecords: { by: 'client', setting: 'limits.platformRecordsMax' },
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
  codesOfPerson: { by: 'person', setting: 'signIn.wrongCodesPerPersonMax' },
  lockMailsOfPerson: { by: 'person', setting: 'signIn.lockMailsPerPersonMax' },
  mails: { by: 'person', setting: 'mail.messagesPerAddressMax' },
  mailNotices: { by: 'person', setting: 'mail.noticesPerAddressMax' },
  recoveriesOfAddress: { by: 'address', setting: 'signIn.recoveriesPerAddressMax' },
  recoveriesOfAccount: { by: 'person', setting: 'signIn.recoveriesPerAccountMax' },
  signUpsOfAddress: { by: 'address', setting: 'signIn.signUpsPerAddressMax' },
  signUpsOfAccount: { by: 'person', setting: 'signIn.signUpsPerAccountMax' },
  signUpsOfSite: { by: 'person', setting: 'mail.signUpsPerSiteMax' },
  signIns: { by: 'person', setting: 'signIn.signInsPerAccountMax' },
} as const satisfies Readonly<Record<string, LimitRow>>

export type LimitName = keyof typeof limitTable

export interface LimitInForce {
  readonly name: LimitName
  readonly max: number
  readonly windowSeconds: number
  /** The limit's name in the headers `RateLimit` and `RateLimit-Policy`. */
  readonly policyName: string
}

/** Returns every limit with the values in the policy (config/service.json). @throws if a value is missing */
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
  if (typeof found !== 'number')
    throw new Error(`config/service.json must contain a number at ${setting}`)
  return found
}
