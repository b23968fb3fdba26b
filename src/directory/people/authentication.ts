/** The ways in which people authenticate, and the `acr` and `amr` of each in an id_token. */

/** How and when a person authenticated. */
export interface Authentication {
  readonly personId: string
  readonly methods: readonly [FirstMethod, SecondMethod?]
  /** When the person sent the first credential, in epoch milliseconds by our clock. */
  readonly authenticatedAt: number
  /** The site of the identity provider, if the authentication is valid only there; undefined if valid everywhere. */
  readonly siteId?: string | undefined
  /** The identity provider that was the first method, if any. */
  readonly providerId?: string | undefined
}

export type FirstMethod = keyof typeof firstMethods
export type SecondMethod = keyof typeof secondMethods

/** The `acr` of an authentication with two factors. */
export const MFA_ACR = 'urn:gatehouse:mfa'

// The values of `amr` are from RFC 8176 §2, which defines no value for identity providers.
const firstMethods = {
  password: { acr: 'urn:gatehouse:password', amr: ['pwd'] },
  /** A passkey whose authenticator tested only user presence. */
  passkey: { acr: 'urn:gatehouse:passkey', amr: ['pop'] },
  /** A passkey whose authenticator verified its user, by PIN or biometrics: two factors. */
  verifiedPasskey: { acr: MFA_ACR, amr: ['pop', 'user', 'mfa'] },
  identityProvider: { acr: 'urn:gatehouse:identity-provider', amr: [] },
} as const

const secondMethods = {
  totp: ['otp'],
  recoveryCode: ['otp'],
  passkey: ['pop'],
} as const

export const acrValues: readonly string[] = Object.values(firstMethods).map(({ acr }) => acr)

/** Returns the `acr` and `amr` of an authentication (OpenID Connect Core §2). */
export function assuranceOf([first, second]: Authentication['methods']) {
  const { acr, amr } = firstMethods[first]
  if (!second) return { acr, amr }
  return { acr: MFA_ACR, amr: [...amr, ...secondMethods[second], 'mfa'] }
}

/** Whether the person only needs to add a second factor to reach one of the required `acr` values. */
export function lacksSecondFactor(
  required: readonly string[] | undefined,
  methods: Authentication['methods'],
): boolean {
  return required?.includes(MFA_ACR) === true && !required.includes(assuranceOf(methods).acr)
}

/** Whether a person used two factors within the maximum age. @param authTime in epoch seconds; 0 if unknown */
export function usedTwoFactors(
  { acr, authTime = 0 }: { readonly acr?: string | undefined; authTime?: number | undefined },
  maxAgeSeconds: number | undefined,
  nowMs: number,
): boolean {
  return acr === MFA_ACR && nowMs / 1000 - authTime <= (maxAgeSeconds ?? Number.POSITIVE_INFINITY)
}
