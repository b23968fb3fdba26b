import { z } from 'zod'

/** As many of something as one window has. A folder of an older version has no such figure. */
const perWindow = (usual: number) => z.int().min(1).max(1_000_000_000).default(usual)

/** How often whom may ask (platform/limits/limit-table.ts says what each counts); the defaults are those of config/. */
export const requestLimits = z
  .strictObject({
    windowSeconds: z.int().min(1).max(3600).default(60),
    authorizationKilobytesPerAddressMax: perWindow(2000),
    oauthFailurePointsPerAddressMax: perWindow(3000),
    tokenFailurePointsPerAddressMax: perWindow(6000),
    pagesPerAddressMax: perWindow(12_000),
    downloadsPerAddressMax: perWindow(6000),
    requestsPerClientMax: perWindow(120_000),
    unknownTokensPerClientMax: perWindow(1200),
    guardedRequestsPerClientMax: perWindow(600_000),
    refreshesPerPersonMax: perWindow(600),
    userinfoPerPersonMax: perWindow(1200),
    memberApiCostPerPersonMax: perWindow(600_000),
    adminApiCostPerPersonMax: perWindow(1_200_000),
    changesPerPersonMax: perWindow(1200),
    uploadsPerPersonMax: perWindow(600),
    forwardedRequestsPerPersonMax: perWindow(6000),
    pagesPerPersonMax: perWindow(1200),
  })
  .prefault({})

const DAY_SECONDS = 86_400

/** How often somebody may try to sign in (directory/people/attempt-limits.ts). */
export const signInLimits = {
  failuresPerAccountAndAddressMax: z.int().min(1).max(1000),
  failuresPerAccountMax: z.int().min(1).max(100_000),
  failuresPerAddressMax: z.int().min(1).max(100_000),
  // When strangers have used up the attempts of an account: of one wide network, and of all.
  reservedAttemptsPerNetworkMax: z.int().min(1).max(100).default(2),
  reservedAttemptsPerAccountMax: z.int().min(1).max(100_000).default(100),
  failuresPerKnownBrowserMax: z.int().min(1).max(1000).default(10),
  // With the right password; each takes its time of a processor.
  signInsPerAccountMax: z.int().min(1).max(1_000_000).default(300),
  failureWindowSeconds: z.int().min(1).max(DAY_SECONDS),
  // A browser is known for so long after its last sign-in.
  knownBrowserSeconds: z
    .int()
    .min(1)
    .max(400 * DAY_SECONDS)
    .default(90 * DAY_SECONDS),
}
