import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'

import { CLOCK_TOLERANCE_SECONDS, proofAlgorithms, type UseOnce } from './proof-rules.ts'

/** Verifies a client's signed statement that it is the client (RFC 7523 §3). @returns the fault, for the log */
export type VerifyAssertion = (presented: {
  readonly clientId: string
  readonly assertion: string
  readonly choseFapi: boolean
}) => Promise<string | undefined>

export interface AssertionDependencies {
  readonly issuer: string
  /** What may stand as `aud` in place of the issuer: the token endpoint, and the endpoint itself (RFC 7523 §3). */
  readonly accepted: readonly string[]
  /** The public keys of a client, fetched where they are at an address of its own. */
  readonly findKeys: (clientId: string) => Promise<JSONWebKeySet>
  readonly useOnce: UseOnce
  readonly now: () => number
}

/** Checks the assertions of clients at an endpoint that is not the engine's. */
export function makeVerifyAssertion(dependencies: AssertionDependencies): VerifyAssertion {
  const { issuer, accepted, findKeys, useOnce, now } = dependencies
  return async ({ clientId, assertion, choseFapi }) => {
    const keys = await findKeys(clientId).catch(() => undefined)
    if (!keys) return 'the keys of the client cannot be read'
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys), {
        algorithms: [...proofAlgorithms],
        issuer: clientId,
        subject: clientId,
        audience: [issuer, ...accepted],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(now()),
        requiredClaims: ['exp', 'jti'],
      })
      const { jti, exp = 0, iat } = payload
      if (typeof jti !== 'string' || jti === '') return 'the assertion has no jti'
      const problem = problemOfAssertion(payload, { issuer, accepted, choseFapi, nowMs: now() })
      if (problem !== undefined) return problem
      const endsAtSeconds = exp + CLOCK_TOLERANCE_SECONDS
      return replayProblems[
        await useOnce({ whose: clientId, jti, endsAtSeconds, madeAtSeconds: iat })
      ]
    } catch (error) {
      // Every other error is a fault of ours, or of a store.
      const isOfJose = error instanceof Error && 'code' in error && /^ERR_J/.test(`${error.code}`)
      if (!isOfJose) throw error
      return `the assertion is not good: ${error.message}`
    }
  }
}

const replayProblems = {
  first: undefined,
  again: 'the assertion was used before',
  forgotten: 'the assertion was made before Redis began to remember: a new one is good',
} as const

export interface AssertionRules extends Pick<AssertionDependencies, 'issuer' | 'accepted'> {
  /**
   * Whether the client chose a part of the FAPI 2.0 Security Profile, which accepts the issuer as the only
   * `aud`, and `iat` at most a minute ahead (§5.3.2.1).
   */
  readonly choseFapi: boolean
  readonly nowMs: number
}

/** How far ahead `iat` may be; others get what the clock of a client that makes DPoP proofs gets. */
const AHEAD_SECONDS_MAX = { others: 300, fapi: 60 }

/**
 * What RFC 7523 leaves to the server: for whom an assertion is, and when it was made.
 *
 * An assertion that also names another server could be replayed here by that server (audience injection,
 * CVE-2025-27370 and CVE-2025-27371). One from the future counts as newer than a store that has forgotten
 * which assertions were used, and would be good once more for as long as it lives.
 */
export function problemOfAssertion(
  { aud, iat }: { readonly aud?: unknown; readonly iat?: number },
  { issuer, accepted, choseFapi, nowMs }: AssertionRules,
): string | undefined {
  if (aud !== issuer) {
    if (choseFapi) return 'audience (aud) must equal the issuer identifier url'
    const named: unknown[] = [aud].flat()
    const areOurs = named.every((one) => one === issuer || accepted.some((known) => known === one))
    if (!areOurs) return 'audience (aud) must name nobody but this server'
  }
  const aheadMax = AHEAD_SECONDS_MAX[choseFapi ? 'fapi' : 'others']
  return iat !== undefined && iat > nowMs / 1000 + aheadMax
    ? `issued at (iat) must not be more than ${aheadMax} seconds ahead`
    : undefined
}
