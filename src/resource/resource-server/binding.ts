import { type CheckDpop, type ProvenRequest, proofAlgorithms } from '../../oauth/clients/proofs.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'

/** The error code and description to send (RFC 9449 §7.1 and §9), and the reason for the log. */
export interface BindingFault {
  readonly error: 'invalid_token' | 'invalid_dpop_proof' | 'use_dpop_nonce'
  readonly description: string
  readonly reason: string
}

/** The result of `judgeBinding`. A fault means that the token must not be used. The nonce is for the next proof. */
export interface Binding {
  readonly fault?: BindingFault
  readonly nextNonce?: string | undefined
}

/** Which tokens a challenge asks for: only bound tokens (`demanded`), or also bearer tokens (RFC 9449 §7.1). */
export type DpopChallenge = 'offered' | 'demanded'

/** The accepted proof algorithms, as listed in a challenge. */
export const dpopAlgorithms = proofAlgorithms.join(' ')

/** The token of a request before verification. */
export interface SentToken {
  readonly scheme: 'Bearer' | 'DPoP'
  readonly value: string
}

/**
 * Checks that the sender may use the token (RFC 9449 §7). A bound token needs a proof signed with its key; an unbound
 * token must be sent as a bearer token. Rejects bound tokens if DPoP is disabled.
 */
export async function judgeBinding(
  { scheme, value, token: { jkt } }: SentToken & { readonly token: Pick<AccessToken, 'jkt'> },
  request: Omit<ProvenRequest, 'accessToken'>,
  checkDpop: CheckDpop | undefined,
): Promise<Binding> {
  if (jkt === undefined) {
    return scheme === 'Bearer' ? {} : faulty('an unbound token was sent with the DPoP scheme')
  }
  if (scheme === 'Bearer') return faulty('the token is bound to a key: send it with a DPoP proof')
  const proof = checkDpop ? await checkDpop({ ...request, accessToken: value }) : undefined
  switch (proof?.kind) {
    case 'good': {
      const { nextNonce } = proof
      if (proof.thumbprint === jkt) return { nextNonce }
      return {
        ...faulty('the DPoP proof is not signed with the key that the token is bound to'),
        nextNonce,
      }
    }
    case 'stale':
      return {
        nextNonce: proof.nextNonce,
        fault: {
          error: 'use_dpop_nonce',
          description: 'the DPoP proof must contain the nonce from the DPoP-Nonce header',
          reason: 'the DPoP proof is too old or has no valid nonce',
        },
      }
    default:
      return {
        fault: {
          error: 'invalid_dpop_proof',
          description: 'the DPoP proof is missing or wrong; sign one for this request and token',
          reason: proof?.kind === 'bad' ? proof.reason : 'the DPoP proof is missing',
        },
      }
  }
}

function faulty(reason: string): Binding {
  const description =
    'the token type, the Authorization scheme and the proof do not match: send a bound token with the DPoP scheme ' +
    'and a proof signed with its key, or an unbound token as Bearer'
  return { fault: { error: 'invalid_token', description, reason } }
}
