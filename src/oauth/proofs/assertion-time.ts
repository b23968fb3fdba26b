/**
 * So far ahead may be when an assertion says that it was made: as far as the clock of whoever makes a DPoP
 * proof, and for a client that chose a part of the FAPI 2.0 Security Profile as far as that lets it (§5.3.2.1).
 */
const AHEAD_SECONDS_MAX = { others: 300, fapi: 60 }

/**
 * Why an assertion is not of its time. One that was made for later counts as newer than a store that has
 * forgotten which ones were used, and would be good there once more for as long as it lives.
 *
 * @param iat when it says that it was made, in epoch seconds, where it says so
 */
export function problemOfTime(
  iat: number | undefined,
  { choseFapi, nowMs }: { readonly choseFapi: boolean; readonly nowMs: number },
): string | undefined {
  const aheadMax = AHEAD_SECONDS_MAX[choseFapi ? 'fapi' : 'others']
  return iat !== undefined && iat > nowMs / 1000 + aheadMax
    ? `issued at (iat) must not be more than ${aheadMax} seconds ahead`
    : undefined
}
