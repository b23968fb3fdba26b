/**
 * What a client proves by a key of its own: who it is, and that a token is in the hands that it was
 * issued to. The engine checks the same at its own endpoints.
 */

import type { JSONWebKeySet } from 'jose'

import { paths } from '../../platform/http/paths.ts'
import { makeVerifyAssertion } from './client-assertion.ts'
import { makeDpopNonces } from './dpop-nonces.ts'
import { makeCheckDpop } from './dpop-proof.ts'
import { makeUseOnce, type UseOncePorts } from './used-proofs.ts'

export interface ProofPorts extends UseOncePorts {
  readonly baseUrl: string
  readonly secretRoot: { readonly nonceKey: Buffer }
  readonly furtherPlans: { readonly dpop: boolean; readonly privateKeyJwt: boolean }
}

/** The checks whose plans are on; those of the others are left out. */
export function makeProofs(ports: ProofPorts) {
  const { baseUrl, secretRoot, furtherPlans, now } = ports
  const { nonceKey } = secretRoot
  const useOnce = makeUseOnce(ports)
  const nonces = makeDpopNonces(nonceKey, now)
  // RFC 7523 §3; the engine's endpoints take the same.
  const accepted = [baseUrl + paths.token, baseUrl + paths.introspection]
  const audience = { issuer: baseUrl, accepted }
  return {
    nonceKey,
    useOnce,
    checkDpop: furtherPlans.dpop ? makeCheckDpop({ nonces, useOnce, now }) : undefined,
    /** @param findKeys the public keys of a client */
    verifyAssertionWith: (findKeys: (clientId: string) => Promise<JSONWebKeySet>) =>
      furtherPlans.privateKeyJwt
        ? makeVerifyAssertion({ audience, findKeys, useOnce, now })
        : undefined,
  }
}
