import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

/** A self-signed certificate and its private key, both in PEM. */
export interface Certificate {
  readonly certificate: string
  readonly privateKey: string
}

// Clocks of clients may be slow, so the certificate is valid from yesterday.
const VALID_BEFORE_MS = 24 * 60 * 60 * 1000
const VALID_DAYS = 30

/**
 * Creates a self-signed certificate (RFC 5280), without openssl, which may not be installed. `hosts` has the name or IP
 * address in the issuer URL, or several. The key is RSA, because the second draft of FAPI 2.0 permits only cipher suites
 * for RSA keys.
 */
export function makeCertificate(hosts: string | readonly string[], now = Date.now()): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicInfo = publicKey.export({ type: 'spki', format: 'der' })
  const name = sequence(set(sequence(identifier(2, 5, 4, 3), utf8('Gatehouse conformance'))))
  // A serial number must be positive and have at most 20 octets; this one has 19.
  const serial = Buffer.concat([Buffer.of(0x40), randomBytes(18)])
  const certified = sequence(
    tagged(0, integer(Buffer.of(2))),
    integer(serial),
    sha256WithRsa,
    name,
    sequence(time(now - VALID_BEFORE_MS), time(now + VALID_DAYS * 24 * 60 * 60 * 1000)),
    name,
    publicInfo,
    tagged(3, extensions([hosts].flat(), createHash('sha1').update(publicInfo).digest())),
  )
  const signature = sign('sha256', certified, privateKey)
  const der = sequence(certified, sha256WithRsa, bits(signature))
  return {
    certificate: pem(der),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** Returns the extensions. They mark the certificate as a CA, so clients can add it to their trusted certificates. */
function extensions(hosts: readonly string[], keyId: Buffer): Buffer {
  const alternatives = hosts.map((host) => {
    const address = host.replace(/^\[|\]$/g, '')
    return isIP(address)
      ? element(0x87, Buffer.from(ipaddr.parse(address).toByteArray()))
      : element(0x82, Buffer.from(host, 'ascii'))
  })
  return sequence(
    extension(identifier(2, 5, 29, 14), octets(keyId)),
    extension(identifier(2, 5, 29, 17), sequence(...alternatives)),
    extension(identifier(2, 5, 29, 19), sequence(element(0x01, Buffer.of(0xff)))),
  )
}

const extension = (id: Buffer, value: Buffer) => sequence(id, octets(value))

// The functions below encode DER (X.690): a tag, the length of the content, and the content.

function element(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  const long = Buffer.of(length >> 8, length & 0xff)
  return Buffer.concat([Buffer.of(tag, 0x82), long, content])
}

const sequence = (...parts: readonly Buffer[]) => element(0x30, ...parts)
const set = (...parts: readonly Buffer[]) => element(0x31, ...parts)
const integer = (value: Buffer) => element(0x02, value)
const octets = (value: Buffer) => element(0x04, value)
const bits = (value: Buffer) => element(0x03, Buffer.of(0), value)
const utf8 = (text: string) => element(0x0c, Buffer.from(text))
const tagged = (number: number, value: Buffer) => element(0xa0 + number, value)

/** Encodes a UTCTime, which can represent times until 2049. */
function time(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replaceAll(/[-:T]|\..*/g, '')
  return element(0x17, Buffer.from(`${digits.slice(2)}Z`))
}

function identifier(first: number, second: number, ...rest: readonly number[]): Buffer {
  const octetsOf = (arc: number): number[] =>
    arc < 0x80 ? [arc] : [...octetsOf(arc >> 7).map((octet) => octet | 0x80), arc & 0x7f]
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(octetsOf)]))
}

/** The signature algorithm. Its parameters must be NULL (RFC 4055 §5). */
const sha256WithRsa = sequence(identifier(1, 2, 840, 113_549, 1, 1, 11), element(0x05))

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
