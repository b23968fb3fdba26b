import { createHmac, timingSafeEqual } from 'node:crypto'

import { addressOf, pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import { fitsName, kindOfType } from './file-kinds.ts'

/** What a link that has not expired stands for: a purchase of a digital product that has a file. */
export interface DownloadLink {
  readonly purchaseId: string
  readonly fileId: string
}

export type DownloadLinks = ReturnType<typeof makeDownloadLinks>

interface DownloadPorts {
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
export function makeDownloadLinks({ keys, baseUrl, seconds, now }: DownloadPorts) {
  const [signingKey] = keys
  if (!signingKey) throw new Error('download links need a key')
  return {
    /**
     * The full address, with which anyone may fetch the file until it expires.
     *
     * @param fileName the name under which the file is saved
     */
    addressFor({ purchaseId, fileId, fileName }: DownloadLink & { readonly fileName: string }) {
      const name = nameInAddress(fileName)
      const bytes = Buffer.from(JSON.stringify([purchaseId, fileId, now() + seconds * 1000]))
      const mac = macOf(bytes, name, signingKey)
      const token = Buffer.concat([mac, bytes]).toString('base64url')
      return baseUrl + addressOf(pages.download, { token, name })
    },
    /** Nothing for a link that this service did not make, for another name, and for an expired one. */
    open(token: string, name: string): DownloadLink | undefined {
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

export type Download = NonNullable<Awaited<ReturnType<typeof findDownload>>>

/**
 * The file that a link still stands for, with a name whose end fits its type: the purchase is there and was not refunded, its product still has the
 * file, and the buyer still holds a role at the site. One query.
 */
export async function findDownload({ kysely }: Database, { purchaseId, fileId }: DownloadLink) {
  const found = await kysely
    .selectFrom('digital_product_purchase as bought')
    .innerJoin('digital_product as product', 'product.id', 'bought.digital_product_id')
    .innerJoin('stored_file as file', 'file.id', 'product.file_id')
    .innerJoin('person', 'person.id', 'bought.person_id')
    .leftJoin('customer_order as placed', 'placed.id', 'bought.order_id')
    .select([
      'file.id as fileId',
      'file.name as storedName',
      'file.media_type as mediaType',
      'file.size_bytes as sizeBytes',
      'file.sha256',
      'product.file_name as fileName',
    ])
    .where('bought.id', '=', purchaseId)
    .where('file.id', '=', fileId)
    .where('person.disabled_at', 'is', null)
    .where('placed.refunded_at', 'is', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('site_role')
          .select('site_role.role')
          .whereRef('site_role.person_id', '=', 'bought.person_id')
          .whereRef('site_role.site_id', '=', 'product.site_id'),
      ),
    )
    .executeTakeFirst()
  if (!found) return undefined
  const { fileName, storedName, ...file } = found
  const kind = kindOfType(file.mediaType)
  // An import brings rows of any type.
  if (!kind) return { ...file, mediaType: 'application/octet-stream', name: storedName }
  // A product may call its file as it likes, but for an end that would have it opened as something else.
  return { ...file, name: fitsName(kind, fileName) ? fileName : storedName }
}
