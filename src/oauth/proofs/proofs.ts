/**
 * What a client proves by a key of its own: who it is, and that it holds the key that a token is bound to.
 * The engine checks the same at its own endpoints.
 */

import type { JSONWebKeySet } from 'jose'

import { paths } from '../../platform/http/paths.ts'
import { makeVerifyAssertion } from './client-assertion.ts'
import { makeCheckDpop } from './dpop-proof.ts'
import { makeUseOnce, type UseOncePorts } from './proof-rules.ts'

export interface ProofPorts extends UseOncePorts {
  readonly baseUrl: string
  readonly secretRoot: { readonly nonceKey: Buffer }
  readonly furtherPlans: { readonly dpop: boolean; readonly privateKeyJwt: boolean }
}

export type Proofs = ReturnType<typeof makeProofs>

/** The checks whose plans are on; the others are undefined. */
export function makeProofs(ports: ProofPorts) {
  const { baseUrl: issuer, secretRoot, furtherPlans, now } = ports
  const { nonceKey } = secretRoot
  const useOnce = makeUseOnce(ports)
  // RFC 7523 §3; the engine's endpoints take the same.
  const accepted = [issuer + paths.token, issuer + paths.introspection]
  return {
    nonceKey,
    useOnce,
    checkDpop: furtherPlans.dpop ? makeCheckDpop({ nonceKey, useOnce, now }) : undefined,
    /** @param findKeys the public keys of a client */
    verifyAssertionWith: (findKeys: (clientId: string) => Promise<JSONWebKeySet>) =>
      furtherPlans.privateKeyJwt
        ? makeVerifyAssertion({ issuer, accepted, findKeys, useOnce, now })
        : undefined,
  }
}
