import { createLocalJWKSet, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose'

import { type AcceptedAudience, problemOfAudience } from './assertion-audience.ts'
import { problemOfTime } from './assertion-time.ts'
import { CLOCK_TOLERANCE_SECONDS, proofAlgorithms } from './proof-algorithms.ts'
import type { UseOnce } from './used-proofs.ts'

/** A signed statement of a client that it is the client (RFC 7523 §3). */
export interface AssertionOfClient {
  readonly clientId: string
  readonly assertion: string
  /** Whether the client chose a part of the FAPI 2.0 Security Profile. */
  readonly choseFapi: boolean
}

/** @returns why the assertion proves nothing, for the log; nothing when it is good */
export type VerifyAssertion = (presented: AssertionOfClient) => Promise<string | undefined>

export interface AssertionDependencies {
  /** What may stand as `aud`: the issuer, the token endpoint, and the endpoint itself (RFC 7523 §3). */
  readonly audience: AcceptedAudience
  /** The public keys of a client, fetched where they are at an address of its own. */
  readonly findKeys: (clientId: string) => Promise<JSONWebKeySet>
  readonly useOnce: UseOnce
  readonly now: () => number
}

/** Checks the assertions of clients at an endpoint that is not the engine's. */
export function makeVerifyAssertion(dependencies: AssertionDependencies): VerifyAssertion {
  const { audience, findKeys, useOnce, now } = dependencies
  const { issuer } = audience
  return async ({ clientId, assertion, choseFapi }) => {
    const keys = await keysOf(clientId, findKeys)
    if (!keys) return 'the keys of the client cannot be read'
    try {
      const { payload } = await jwtVerify(assertion, createLocalJWKSet(keys), {
        algorithms: [...proofAlgorithms],
        issuer: clientId,
        subject: clientId,
        audience: [issuer, ...audience.accepted],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        currentDate: new Date(now()),
        requiredClaims: ['exp', 'jti'],
      })
      const problem =
        problemOf(payload, choseFapi ? { issuer, accepted: [] } : audience) ??
        problemOfTime(payload.iat, { choseFapi, nowMs: now() })
      if (problem !== undefined) return problem
      const { jti = '', exp = 0, iat } = payload
      const endsAtSeconds = exp + CLOCK_TOLERANCE_SECONDS
      const used = await useOnce({ whose: clientId, jti, endsAtSeconds, madeAtSeconds: iat })
      return problems[used]
    } catch (error) {
      if (!isOfJose(error)) throw error
      return `the assertion is not good: ${error.message}`
    }
  }
}

/** What the signature does not say, and the standard leaves to whoever reads it. */
function problemOf({ jti, aud }: JWTPayload, audience: AcceptedAudience): string | undefined {
  if (typeof jti !== 'string' || jti === '') return 'the assertion has no jti'
  return problemOfAudience(aud, audience)
}

const problems = {
  first: undefined,
  again: 'the assertion was used before',
  forgotten: 'the assertion was made before Redis began to remember: a new one is good',
} as const

async function keysOf(clientId: string, findKeys: AssertionDependencies['findKeys']) {
  try {
    return await findKeys(clientId)
  } catch {
    return undefined
  }
}

/** Every other error is a fault of ours, or of a store. */
function isOfJose(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J')
}
