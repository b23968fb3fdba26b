import type { Database } from '../../platform/store/database.ts'
import type { DownloadLink } from './download-links.ts'
import { fitsName, kindOfType } from './file-kinds.ts'

/** What is sent for a download. */
export interface Download {
  readonly fileId: string
  /** The name under which it is saved, whose end fits its type. */
  readonly name: string
  readonly mediaType: string
  readonly sizeBytes: number
  readonly sha256: string
}

/**
 * What a link still stands for: the purchase is there and was not refunded, its product still has the
 * file, and whoever bought it still holds a role at the site. One query.
 */
export async function findDownload(
  { kysely }: Database,
  { purchaseId, fileId }: DownloadLink,
): Promise<Download | undefined> {
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
