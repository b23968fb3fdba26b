/** Verifies the responses of passkeys (WebAuthn). Loads @simplewebauthn/server only when it is needed. */

import { isIP } from 'node:net'

import type * as server from '@simplewebauthn/server'

export type UseInfo = server.VerifiedAuthenticationResponse['authenticationInfo']
export type NewInfo = NonNullable<server.VerifiedRegistrationResponse['registrationInfo']>

/** The values that a response must contain: the host (`id`) and origin of our pages, and the challenge. */
interface Expected {
  readonly party: Readonly<Record<'id' | 'origin', string>>
  readonly challenge: string
}

/** Returns the host and origin for passkeys; undefined for an IP address, which cannot have passkeys. */
export function relyingPartyOf(baseUrl: string): Expected['party'] | undefined {
  const { hostname: id, origin } = new URL(baseUrl)
  return isIP(id.replace(/^\[|\]$/g, '')) === 0 ? { id, origin } : undefined
}

/** A credential id has at most 1023 bytes (WebAuthn §4). */
const CREDENTIAL_ID = /^[\w-]{1,1364}$/

/** Reads the output of `PublicKeyCredential.toJSON`, without verifying it. Returns undefined if it has no valid id. */
export function readCredential(text: string): { readonly id: string } | undefined {
  try {
    const sent = Object(JSON.parse(text))
    return typeof sent.id === 'string' && CREDENTIAL_ID.test(sent.id) ? sent : undefined
  } catch {
    return undefined
  }
}

/** ES256, EdDSA and RS256, the best first. */
export const COSE_ALGORITHMS: readonly number[] = [-7, -8, -257]

const optionsOf = ({ party: { id, origin }, challenge }: Expected) => ({
  ...{ expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: id },
  requireUserVerification: false,
})

/**
 * Verifies the response of a passkey that was used (WebAuthn §7.2). Returns undefined if it is invalid. The caller
 * compares the counter, because the library would compare it before verifying the signature.
 */
export async function verifyUse(sent: { id: string }, publicKey: string, expected: Expected) {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  const key = new Uint8Array(Buffer.from(publicKey, 'base64url'))
  const credential = { id: sent.id, publicKey: key, counter: 0 }
  const options = {
    response: sent as server.AuthenticationResponseJSON,
    credential,
    ...optionsOf(expected),
  }
  const found = await verifyAuthenticationResponse(options).catch(() => undefined)
  return found?.verified ? found.authenticationInfo : undefined
}

/**
 * Verifies the response of a new passkey (WebAuthn §7.1). Returns undefined if the response is invalid or contains a
 * certificate. We request no certificate, and the library would fetch revocation lists from any URL in a certificate.
 */
export async function verifyNew(sent: { id: string }, expected: Expected) {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  const { decodeAttestationObject, isoBase64URL } = await import('@simplewebauthn/server/helpers')
  const response = sent as server.RegistrationResponseJSON
  try {
    const encoded = isoBase64URL.toBuffer(response.response.attestationObject)
    const attestation = decodeAttestationObject(encoded)
    const format = attestation.get('fmt')
    const isSelfMade = format === 'packed' && !attestation.get('attStmt').get('x5c')
    if (format !== 'none' && !isSelfMade) return undefined
    const supportedAlgorithmIDs = [...COSE_ALGORITHMS]
    const options = { response, supportedAlgorithmIDs, ...optionsOf(expected) }
    const { registrationInfo: info } = await verifyRegistrationResponse(options)
    return info && CREDENTIAL_ID.test(info.credential.id) ? info : undefined
  } catch {
    return undefined
  }
}
