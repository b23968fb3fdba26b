/** Whom an assertion may name. */
export interface AcceptedAudience {
  readonly issuer: string
  /**
   * What may stand in its place (RFC 7523 §3); nothing for a client that chose a part of the FAPI 2.0 Security
   * Profile, which names the issuer as one text (§5.3.2.1).
   */
  readonly accepted: readonly string[]
}

/**
 * Why an assertion is not for this server alone. One that names another server too is good there as well, and
 * whoever has got it there would be the client here (audience injection, CVE-2025-27370 and CVE-2025-27371).
 */
export function problemOfAudience(
  audience: unknown,
  { issuer, accepted }: AcceptedAudience,
): string | undefined {
  if (audience === issuer) return undefined
  if (accepted.length === 0) return 'audience (aud) must equal the issuer identifier url'
  const named: unknown[] = [audience].flat()
  return named.every((one) => one === issuer || accepted.some((known) => known === one))
    ? undefined
    : 'audience (aud) must name nobody but this server'
}
