import { hasRole } from '../../directory/sites/site-choice.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { makeSealing } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import { fitsName, kindOfType } from './file-kinds.ts'

/** The content of a valid link: a purchase of a digital product, and the product's file. */
interface DownloadLink {
  readonly purchaseId: string
  readonly fileId: string
}

export type DownloadLinks = ReturnType<typeof makeDownloadLinks>

interface DownloadPorts {
  /** The HMAC keys. The first key signs, and all keys verify. */
  readonly keys: readonly Buffer[]
  readonly baseUrl: string
  /** The lifetime of a link, in seconds. */
  readonly seconds: number
  readonly now: () => number
}

type SealedLink = readonly [purchaseId: string, fileId: string, expiresAt: number]

/** Creates the functions for download links. The signature (HMAC-SHA256) covers the content and the file name. */
export function makeDownloadLinks({ keys, baseUrl, seconds, now }: DownloadPorts) {
  const links = makeSealing<SealedLink, string>(keys)
  return {
    /** Creates a link, which is a full URL and needs no sign-in. `findDownload` checks whether the link still works. */
    addressFor({ purchaseId, fileId, fileName }: DownloadLink & { readonly fileName: string }) {
      // The route needs a name. URL parsers remove the segments `.` and `..`, and a lone surrogate cannot be encoded.
      const name = /^\.*$/.test(fileName) ? 'file' : fileName.toWellFormed()
      const token = links.seal([purchaseId, fileId, now() + seconds * 1000], name)
      return baseUrl + addressOf(pages.download, { token, name })
    },
    /** Verifies a link. @returns its content; undefined if the link is forged or expired, or if the name was changed */
    open(token: string, name: string): DownloadLink | undefined {
      const content = links.open(token, name)
      if (!content) return undefined
      const [purchaseId, fileId, expiresAt] = content
      return expiresAt > now() ? { purchaseId, fileId } : undefined
    },
  }
}

export type Download = NonNullable<Awaited<ReturnType<typeof findDownload>>>

/**
 * Finds the file for a link with one query. The order, if any, must not have been refunded. The product must still have
 * the file. The buyer must have an enabled account and a role at the site.
 */
export async function findDownload({ kysely }: Database, { purchaseId, fileId }: DownloadLink) {
  const found = await kysely
    .selectFrom('digital_product_purchase as bought')
    .innerJoin('digital_product as product', 'product.id', 'bought.digital_product_id')
    .innerJoin('stored_file as file', 'file.id', 'product.file_id')
    .innerJoin('person', 'person.id', 'bought.person_id')
    .leftJoin('customer_order as placed', 'placed.id', 'bought.order_id')
    .select(['file.id as fileId', 'file.name as storedName', 'file.media_type as mediaType'])
    .select(['file.size_bytes as sizeBytes', 'file.sha256', 'product.file_name as fileName'])
    .where('bought.id', '=', purchaseId)
    .where('file.id', '=', fileId)
    .where('person.disabled_at', 'is', null)
    .where('placed.refunded_at', 'is', null)
    .where(hasRole('bought.person_id', 'product.site_id'))
    .executeTakeFirst()
  if (!found) return undefined
  const { fileName, storedName, ...file } = found
  const kind = kindOfType(file.mediaType)
  // Only an imported file can have a type that uploads do not accept.
  if (!kind) return { ...file, mediaType: 'application/octet-stream', name: storedName }
  // Ignore the product's file name unless its extension fits the type.
  return { ...file, name: fitsName(kind, fileName) ? fileName : storedName }
}
