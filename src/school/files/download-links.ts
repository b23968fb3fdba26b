import { createHmac, timingSafeEqual } from 'node:crypto'

import { addressOf, pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import { fitsName, kindOfType } from './file-kinds.ts'

/** The content of a valid link: a purchase of a digital product and its file. */
interface DownloadLink {
  readonly purchaseId: string
  readonly fileId: string
}

export type DownloadLinks = ReturnType<typeof makeDownloadLinks>

interface DownloadPorts {
  /** The first key signs; all verify. */
  readonly keys: readonly Buffer[]
  readonly baseUrl: string
  /** The lifetime of a link. */
  readonly seconds: number
  readonly now: () => number
}

const MAC_BYTES = 16
const TOKEN_LENGTH_MAX = 2048

/** Makes and verifies download links, which are signed (HMAC-SHA256) over their content and the file name. */
export function makeDownloadLinks({ keys, baseUrl, seconds, now }: DownloadPorts) {
  const [signingKey] = keys
  if (!signingKey) throw new Error('download links need a key')
  return {
    /** Makes a link with the full address. Every holder can fetch the file until it expires. */
    addressFor({ purchaseId, fileId, fileName }: DownloadLink & { readonly fileName: string }) {
      const name = nameInAddress(fileName)
      const bytes = Buffer.from(JSON.stringify([purchaseId, fileId, now() + seconds * 1000]))
      const mac = macOf(bytes, name, signingKey)
      const token = Buffer.concat([mac, bytes]).toString('base64url')
      return baseUrl + addressOf(pages.download, { token, name })
    },
    /** @returns nothing for a forged link, another file name, or an expired link */
    open(token: string, name: string): DownloadLink | undefined {
      if (token.length > TOKEN_LENGTH_MAX) return undefined
      const bytes = Buffer.from(token, 'base64url')
      const mac = bytes.subarray(0, MAC_BYTES)
      const content = bytes.subarray(MAC_BYTES)
      // The decoder is lenient: accept only the one canonical text of these bytes.
      if (mac.length < MAC_BYTES || bytes.toString('base64url') !== token) return undefined
      if (!keys.some((key) => timingSafeEqual(mac, macOf(content, name, key)))) return undefined
      // The signature proves that `addressFor` wrote these bytes.
      type Content = [purchaseId: string, fileId: string, expiresAt: number]
      const [purchaseId, fileId, expiresAt] = JSON.parse(content.toString()) as Content
      return expiresAt > now() ? { purchaseId, fileId } : undefined
    },
  }
}

/** Replaces names that cannot be a path segment: dots only, or lone surrogates. */
function nameInAddress(fileName: string): string {
  return /^\.*$/.test(fileName) ? 'file' : fileName.toWellFormed()
}

function macOf(content: Buffer, name: string, key: Buffer): Buffer {
  // As JSON, to separate the name from the content unambiguously.
  const hmac = createHmac('sha256', key).update(JSON.stringify(name))
  return hmac.update(content).digest().subarray(0, MAC_BYTES)
}

export type Download = NonNullable<Awaited<ReturnType<typeof findDownload>>>

/**
 * Finds the file of a link in one query. The purchase must not be refunded, its product must still have the
 * file, and the buyer must have a role at the site. The extension of the name matches the type.
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
  // An import may bring any type.
  if (!kind) return { ...file, mediaType: 'application/octet-stream', name: storedName }
  // Ignore a name of the product whose extension would open the file as another type.
  return { ...file, name: fitsName(kind, fileName) ? fileName : storedName }
}
