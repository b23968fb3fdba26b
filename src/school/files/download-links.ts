import { createHmac, timingSafeEqual } from 'node:crypto'

import { addressOf, pages } from '../../platform/http/paths.ts'

/** A purchase of a digital product that has a file. */
export interface Downloadable {
  readonly purchaseId: string
  readonly fileId: string
  /** The name under which the file is saved. */
  readonly fileName: string
}

/** What a link that has not expired stands for. */
export type DownloadLink = Pick<Downloadable, 'purchaseId' | 'fileId'>

export interface DownloadLinks {
  /** The full address; whoever has it may fetch the file until it expires. */
  addressFor(bought: Downloadable): string
  /** Nothing for one that this service did not make, for another name, and for one that has expired. */
  open(token: string, fileName: string): DownloadLink | undefined
}

export interface DownloadPorts {
  /** The key that signs first; all are accepted. */
  readonly keys: readonly Buffer[]
  readonly baseUrl: string
  /** How long an address is good for. */
  readonly seconds: number
  readonly now: () => number
}

const MAC_BYTES = 16
const TOKEN_LENGTH_MAX = 2048

/** Addresses that carry what they are for, and a signature (HMAC-SHA256) over it and the name. */
export function makeDownloadLinks({ keys, baseUrl, seconds, now }: DownloadPorts): DownloadLinks {
  const [signingKey] = keys
  if (!signingKey) throw new Error('download links need a key')
  return {
    addressFor({ purchaseId, fileId, fileName }) {
      const name = nameInAddress(fileName)
      const bytes = Buffer.from(JSON.stringify([purchaseId, fileId, now() + seconds * 1000]))
      const mac = macOf(bytes, name, signingKey)
      const token = Buffer.concat([mac, bytes]).toString('base64url')
      return baseUrl + addressOf(pages.download, { token, name })
    },
    open(token, name) {
      if (token.length > TOKEN_LENGTH_MAX) return undefined
      const bytes = Buffer.from(token, 'base64url')
      const mac = bytes.subarray(0, MAC_BYTES)
      const content = bytes.subarray(MAC_BYTES)
      // The decoder is lenient, so that several texts would stand for the same bytes.
      if (mac.length < MAC_BYTES || bytes.toString('base64url') !== token) return undefined
      if (!keys.some((key) => timingSafeEqual(mac, macOf(content, name, key)))) return undefined
      // These bytes are what `addressFor` wrote.
      const [purchaseId, fileId, expiresAt] = JSON.parse(content.toString()) as [
        string,
        string,
        number,
      ]
      return expiresAt > now() ? { purchaseId, fileId } : undefined
    },
  }
}

/** A segment of dots alone would be resolved, and a lone surrogate cannot be written in an address. */
function nameInAddress(fileName: string): string {
  return /^\.*$/.test(fileName) ? 'file' : fileName.toWellFormed()
}

function macOf(content: Buffer, name: string, key: Buffer): Buffer {
  // As JSON, so that no two different names make the same text.
  const hmac = createHmac('sha256', key).update(JSON.stringify(name))
  return hmac.update(content).digest().subarray(0, MAC_BYTES)
}
