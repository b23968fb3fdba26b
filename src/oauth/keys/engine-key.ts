import { createPrivateKey, createPublicKey, sign } from 'node:crypto'

import { ExternalSigningKey, type JWK } from 'oidc-provider'

const NUMBER_BYTES = 32

/**
 * Signs the engine's tokens with an ES256 key. Uses `node:crypto` directly. The engine itself would use jose and
 * `crypto.subtle`, which take four times as long for a small token.
 */
export class EngineKey extends ExternalSigningKey {
  readonly #private
  readonly #public

  constructor({ kid, crv = '', x = '', y = '', d = '' }: JWK) {
    super()
    this.#private = createPrivateKey({ key: { kty: 'EC', crv, x, y, d }, format: 'jwk' })
    this.#public = createPublicKey(this.#private)
    Object.assign(this, { kid, alg: 'ES256' })
  }

  override keyObject() {
    return this.#public
  }

  override sign(data: Uint8Array): Buffer {
    return toConcatenated(sign('sha256', data, this.#private))
  }
}

/**
 * Converts an ECDSA signature from DER to the concatenation of R and S (RFC 7518 §3.4). OpenSSL's own conversion
 * (`dsaEncoding`) takes longer than the signature.
 */
function toConcatenated(der: Buffer): Buffer {
  const signature = Buffer.alloc(2 * NUMBER_BYTES)
  // SEQUENCE, length, then two numbers: INTEGER, length, at most 32 bytes and a leading zero. Each length is one byte.
  for (let position = 2, end = NUMBER_BYTES; position < der.length; end += NUMBER_BYTES) {
    const next = position + 2 + (der[position + 1] ?? 0)
    const number = der.subarray(Math.max(position + 2, next - NUMBER_BYTES), next)
    signature.set(number, end - number.length)
    position = next
  }
  return signature
}
