import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'

import { isoCBOR } from '@simplewebauthn/server/helpers'

import { decode } from './page-person.ts'

/** Reads the options for a passkey from a page. */
export const optionsOf = (page: string) =>
  JSON.parse(decode(/data-options="([^"]*)"/.exec(page)?.[1] ?? ''))

type Cbor = Parameters<typeof isoCBOR.encode>[0]
const mapOf = (entries: [string | number, Cbor][]) => new Map(entries)

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()

/** The key and the certificate of a fictitious manufacturer. */
const attestationKey = createPrivateKey({
  key: Buffer.from(
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghZgfItmQc2AOsraf1WUyeIM3eMjqhLGm4/KUGyGChEah' +
      'RANCAAQS+7QTJXkZPbLvaVEgPrwCb+PYc8SBDuuFnY4NwHflWpKzia8ZLTbnQQulrhJa10eVhq0wau+FUzb2J86HL3sa',
    'base64',
  ),
  ...{ format: 'der', type: 'pkcs8' },
})
const certificate = Buffer.from(
  'MIIB8TCCAZigAwIBAgIUZuzY/47qykclg91Lqw1wJ2S8KiwwCgYIKoZIzj0EAwIwTzELMAkGA1UEBhMCU0UxDTALBgNV' +
    'BAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24xDTALBgNVBAMMBFRlc3QwIBcNMjYxMTIz' +
    'MjEyMTM5WhgPMjEyNjEwMzAyMTIxMzlaME8xCzAJBgNVBAYTAlNFMQ0wCwYDVQQKDARUZXN0MSIwIAYDVQQLDBlBdXRo' +
    'ZW50aWNhdG9yIEF0dGVzdGF0aW9uMQ0wCwYDVQQDDARUZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEvu0EyV5' +
    'GT2y72lRID68Am/j2HPEgQ7rhZ2ODcB35VqSs4mvGS0250ELpa4SWtdHlYatMGrvhVM29ifOhy97GqNQME4wHQYDVR0O' +
    'BBYEFNHB3+x+FdqI70iSGWWvPH3JlwsiMB8GA1UdIwQYMBaAFNHB3+x+FdqI70iSGWWvPH3JlwsiMAwGA1UdEwEB/wQC' +
    'MAAwCgYIKoZIzj0EAwIDRwAwRAIgQdHSt7D/zmzUsEoQjF4ujLtXuchFZusZnwliuZx4gioCIHlOpU4mt4BvWOx8sIx0' +
    'sv4jBpCYBpK3kliRjJt0rkMg',
  'base64',
)

/** False values for a response. */
export interface Lies {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly challenge?: string
  readonly flags?: number
  readonly counter?: number
  readonly format?: string
  /** Whether a certificate attests the passkey. */
  readonly certified?: boolean
}

const [PRESENT, VERIFIED, ATTESTED] = [1, 4, 64]

type Made = { readonly key: KeyObject; readonly id: Buffer; readonly counter: number }

/** Creates an authenticator with one ES256 passkey, in memory. `copy` clones it with its key and counter. */
export function makeAuthenticator(origin: string, made?: Made) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = made?.key ?? privateKey
  const id = made?.id ?? randomBytes(32)
  let counter = made?.counter ?? 0
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
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
    /** Creates the response to the options of the page that adds a passkey. */
    create(options: { challenge: string }, lies: Lies = {}) {
      const length = Buffer.from([id.length >> 8, id.length & 255])
      const more = Buffer.concat([Buffer.alloc(16), length, id, isoCBOR.encode(cose)])
      const authData = data(PRESENT | VERIFIED | ATTESTED, lies, more)
      const clientDataJSON = clientData({ ...options, type: 'webauthn.create' }, lies)
      const signed = Buffer.concat([authData, sha256(clientDataJSON)])
      const attested = { alg: -7, sig: sign('sha256', signed, attestationKey), x5c: [certificate] }
      const attestation = mapOf([
        ['fmt', lies.format ?? 'none'],
        ['attStmt', mapOf(lies.certified ? Object.entries(attested) : [])],
        ['authData', authData],
      ])
      const attestationObject = Buffer.from(isoCBOR.encode(attestation))
      return text({ clientDataJSON, attestationObject })
    },
    /** Creates the response to the options of the sign-in page. */
    use(options: { challenge: string }, lies: Lies = {}) {
      if (counter > 0) counter += 1
      const clientDataJSON = clientData({ ...options, type: 'webauthn.get' }, lies)
      const authenticatorData = data(PRESENT | VERIFIED, lies)
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)])
      return text({ clientDataJSON, authenticatorData, signature: sign('sha256', signed, key) })
    },
    countFrom(start: number) {
      counter = start
    },
  }
}
