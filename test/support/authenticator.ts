import { createHash, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { isoCBOR } from '@simplewebauthn/server/helpers'

import { decode } from './page-person.ts'

/** Reads the options for a passkey from a page. */
export const optionsOf = (page: string) =>
  JSON.parse(decode(/data-options="([^"]*)"/.exec(page)?.[1] ?? ''))

type Cbor = Parameters<typeof isoCBOR.encode>[0]
const mapOf = (entries: [string | number, Cbor][]) => new Map(entries)

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()

/** The key and the certificate of a fictitious manufacturer. */
const manufacturer = readFileSync(join(import.meta.dirname, '../data/attestation.pem'))

/** False values for a response. `format` is the format of an attestation with a certificate. */
export type Lies = Partial<
  Record<'origin' | 'rpId' | 'type' | 'challenge' | 'format', string> &
    Record<'flags' | 'counter', number>
>

const [PRESENT, VERIFIED, ATTESTED] = [1, 4, 64]

const newPasskey = () => ({
  key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  ...{ id: randomBytes(32), counter: 0 },
})

/** Creates an authenticator with one ES256 passkey, in memory. `copy` clones it with its key and counter. */
export function makeAuthenticator(origin: string, { key, id, counter } = newPasskey()) {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const cose = mapOf([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ])
  const clientData = (given: { type: string; challenge: string }, lies: Lies) => {
    const { type, challenge, origin: page } = { origin, ...given, ...lies }
    return Buffer.from(JSON.stringify({ type, challenge, origin: page, crossOrigin: false }))
  }
  const data = (flags: number, lies: Lies, more = Buffer.alloc(0)) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(lies.counter ?? counter)
    const rp = sha256(lies.rpId ?? new URL(origin).hostname)
    return Buffer.concat([rp, Buffer.from([lies.flags ?? flags]), count, more])
  }
  const text = (response: Record<string, Buffer>) =>
    JSON.stringify({
      ...{ id: id.toString('base64url'), rawId: id.toString('base64url'), type: 'public-key' },
      clientExtensionResults: {},
      response: Object.fromEntries(
        Object.entries(response).map(([name, bytes]) => [name, bytes.toString('base64url')]),
      ),
    })
  return {
    id: id.toString('base64url'),
    copy: () => makeAuthenticator(origin, { key, id, counter }),
    /** Creates a passkey and the registration response for these options. `lies.counter` sets the passkey's counter. */
    create(options: { challenge: string }, lies: Lies = {}) {
      counter = lies.counter ?? counter
      const length = Buffer.from([id.length >> 8, id.length & 255])
      const more = Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(cose)])
      const authData = data(PRESENT | VERIFIED | ATTESTED, lies, more)
      const clientDataJSON = clientData({ ...options, type: 'webauthn.create' }, lies)
      const signed = Buffer.concat([authData, sha256(clientDataJSON)])
      const x5c = [new X509Certificate(manufacturer).raw]
      const attested = { alg: -7, sig: sign('sha256', signed, manufacturer), x5c }
      const attestation = mapOf([
        ['fmt', lies.format ?? 'none'],
        ['attStmt', mapOf(lies.format ? Object.entries(attested) : [])],
        ['authData', authData],
      ])
      const attestationObject = Buffer.from(isoCBOR.encode(attestation))
      return text({ clientDataJSON, attestationObject })
    },
    /** Creates the authentication response for the options of the sign-in page. */
    use(options: { challenge: string }, lies: Lies = {}) {
      if (counter > 0) counter += 1
      const clientDataJSON = clientData({ ...options, type: 'webauthn.get' }, lies)
      const authenticatorData = data(PRESENT | VERIFIED, lies)
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      return text({ clientDataJSON, authenticatorData, signature: sign('sha256', signed, key) })
    },
  }
}
