import type { Database } from '../../platform/store/database.ts'
import { changeSite, differenceOf, type SiteActor } from '../changes/change.ts'
import { notFound } from '../changes/refused.ts'
import { findFile, holdFile, type StoredFile } from './stored-files.ts'

export interface ProductFile {
  readonly productId: string
  /** Null takes the file away; who bought the product then has nothing to download. */
  readonly fileId: string | null
}

/**
 * Gives a digital product of the actor's site a file, whose name it takes.
 *
 * @throws ChangeRefused when the site has no such product or file
 */
export async function setProductFile(
  database: Database,
  actor: SiteActor,
  { productId, fileId }: ProductFile,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const file = fileId === null ? undefined : await holdFile(trx, actor.siteId, fileId)
    const product = await trx
      .selectFrom('digital_product')
      .select(['file_id as fileId', 'file_name as fileName'])
      .where('id', '=', productId)
      .where('site_id', '=', actor.siteId)
      .executeTakeFirst()
    if (!product) throw notFound('digital product')
    const wanted = { fileId, ...(file && { fileName: file.name }) }
    const change = differenceOf(product, wanted)
    if (!change) return
    await trx
      .updateTable('digital_product')
      .set({ file_id: fileId, ...(file && { file_name: file.name }) })
      .where('id', '=', productId)
      .execute()
    const subject = { kind: 'digital_product', id: productId }
    await record({ action: 'digital_product.file', subject, ...change })
  })
}

/** The file of a digital product of a site, or nothing. */
export async function findProductFile(
  { kysely }: Database,
  siteId: string,
  productId: string,
): Promise<StoredFile | undefined> {
  const product = await kysely
    .selectFrom('digital_product')
    .select('file_id')
    .where('id', '=', productId)
    .where('site_id', '=', siteId)
    .executeTakeFirst()
  return product?.file_id ? await findFile(kysely, siteId, product.file_id) : undefined
}
