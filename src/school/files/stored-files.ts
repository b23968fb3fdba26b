import { type Kysely, sql, type Transaction } from 'kysely'

import type { ServicePolicy } from '../../config/config.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { containsText } from '../../platform/store/search.ts'
import { changeSite, differenceOf, newId, type SiteActor, siteChange } from '../changes/change.ts'
import { conflict, limitReached, mustBeThere } from '../changes/refusals.ts'
import { products } from '../commerce/product-store.ts'
import { type Draft, type FileStorage, storageKey } from './file-storage.ts'

export type FileLimits = ServicePolicy['files']

/** Uses up an upload link; for a new file, in the transaction that stores it. Returns values for the audit event. */
export type Spend = (kysely: Kysely<Schema>) => Promise<Record<string, string>>

export type StoredFile = NonNullable<Awaited<ReturnType<typeof findFile>>>

const newestFirst = orderBy('createdAt', 'desc', 'stored_file.created_at', 'stored_file.id')

/** Lists a site's files, newest first. Runs one query for a page, and one for the count. */
export function listFiles(
  { kysely }: Database,
  { siteId, search }: { readonly siteId: string; readonly search?: string | null },
) {
  const found = filesOf(kysely, siteId).$if(search != null, (query) =>
    query.where(containsText('stored_file.name', search ?? '')),
  )
  return pagedRows(found, newestFirst)
}

export async function findFile(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await filesOf(kysely, siteId).where('stored_file.id', '=', id).executeTakeFirst()
}

function filesOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('stored_file')
    .select(['stored_file.id', 'stored_file.name', 'stored_file.media_type as mediaType'])
    .select(['stored_file.size_bytes as sizeBytes', 'stored_file.sha256'])
    .select(['stored_file.created_at as createdAt'])
    .where('stored_file.site_id', '=', siteId)
}

interface Storing {
  readonly storage: FileStorage
  readonly limits: FileLimits
  readonly spend?: Spend | undefined
}

/**
 * Stores a draft as a file of the actor's site. If the site already has the same bytes under the same name, returns
 * that file. Writes the bytes before the row, so a crash can leave bytes without a row, but never a row without bytes.
 *
 * @throws ChangeRefused if a limit is reached, or the file is deleted meanwhile; storageUnavailable; errors of `spend`
 */
export async function storeFile(
  database: Database,
  actor: SiteActor,
  file: { readonly draft: Draft; readonly name: string },
  { storage, limits, spend = async () => ({}) }: Storing,
): Promise<{ readonly file: StoredFile; readonly isNew: boolean }> {
  const { kysely } = database
  const { siteId } = actor
  const { draft, name } = file
  const { mediaType, sizeBytes, sha256 } = draft
  const after = { name, mediaType, sizeBytes, sha256 }
  const bytes = { media_type: mediaType, size_bytes: sizeBytes, sha256 }
  const before = await findByContent(kysely, siteId, after)
  if (before) {
    await spend(kysely)
    return { file: before, isNew: false }
  }
  await mustHaveRoom(kysely, siteId, sizeBytes, limits)
  const id = newId('fil')
  await storage.put(storageKey(id), draft)
  let isNew = false
  try {
    isNew = await changeSite(database, actor, async ({ trx, record }) => {
      const spent = await spend(trx)
      await mustHaveRoom(trx, siteId, sizeBytes, limits)
      const made = await trx
        .insertInto('stored_file')
        .values({
          ...{ id, site_id: siteId, name, ...bytes },
          ...{ created_by: actor.personId, created_at: actor.now },
        })
        // Of two concurrent uploads of the same file, the second finds the row of the first.
        .onConflict((taken) => taken.columns(['site_id', 'sha256', 'name']).doNothing())
        .returning('id')
        .executeTakeFirst()
      if (!made) return false
      record('file.create', { kind: 'file', id }, { after: { ...after, ...spent } })
      return true
    })
  } finally {
    if (!isNew && !(await mayHaveRow(kysely, id))) await removeBytes(storage, id)
  }
  const stored = await findByContent(kysely, siteId, after)
  if (!stored) throw conflict('an identical file was deleted during the upload; upload yours again')
  return { file: stored, isNew }
}

/** Whether the row may exist. Its commit may have succeeded although the response was lost. True if the query fails. */
async function mayHaveRow(kysely: Kysely<Schema>, id: string): Promise<boolean> {
  const row = kysely.selectFrom('stored_file').select('id').where('id', '=', id)
  return await row.executeTakeFirst().then(Boolean, () => true)
}

async function findByContent(
  kysely: Kysely<Schema>,
  siteId: string,
  { name, sha256 }: Pick<StoredFile, 'name' | 'sha256'>,
) {
  return await filesOf(kysely, siteId)
    .where('stored_file.sha256', '=', sha256)
    .where('stored_file.name', '=', name)
    .executeTakeFirst()
}

/** Throws ChangeRefused if another file would exceed a limit of the site. Reads the sizes of the site's files. */
async function mustHaveRoom(
  kysely: Kysely<Schema>,
  siteId: string,
  bytes: number,
  { siteBytesMax, siteFilesMax }: FileLimits,
): Promise<void> {
  const { files, used } = await kysely
    .selectFrom('stored_file')
    .select([sql<number>`count(*)`.as('files'), sql<number>`sum(size_bytes)`.as('used')])
    .where('site_id', '=', siteId)
    .executeTakeFirstOrThrow()
  if (Number(files) >= siteFilesMax)
    throw limitReached(`a site can have up to ${siteFilesMax} files; delete one`)
  if (Number(used ?? 0) + bytes > siteBytesMax) {
    throw limitReached(`a site can have up to ${siteBytesMax} bytes of files; delete some`)
  }
}

/** Deletes a file. @throws ChangeRefused if it does not exist, or is used by a product or as the logo */
export async function deleteFile(
  database: Database,
  actor: SiteActor,
  { id, storage }: { readonly id: string; readonly storage: FileStorage },
): Promise<void> {
  await changeSite(database, actor, async ({ trx, record }) => {
    const { name, mediaType, sizeBytes, sha256 } = await holdFile(trx, actor.siteId, id)
    const product = await trx
      .selectFrom('digital_product')
      .select('slug')
      .where('file_id', '=', id)
      .executeTakeFirst()
    if (product) {
      throw conflict(`the digital product ${product.slug} uses this file; replace it there first`)
    }
    const logo = await trx
      .selectFrom('site_appearance')
      .select('site_id')
      .where('logo_file_id', '=', id)
      .executeTakeFirst()
    if (logo) throw conflict("the file is the site's logo; choose another logo first")
    await trx.deleteFrom('stored_file').where('id', '=', id).execute()
    const before = { name, mediaType, sizeBytes, sha256 }
    record('file.delete', { kind: 'file', id }, { before })
  })
  // Remove the bytes last, so a crash can leave bytes without a row, but never a row without bytes.
  await removeBytes(storage, id)
}

/** Removes the bytes of a file without a row. Ignores storage errors, which only leave unused bytes. */
async function removeBytes(storage: FileStorage, id: string): Promise<void> {
  await storage.remove(storageKey(id)).catch(() => {})
}

/**
 * Locks and reads a file, so it cannot be deleted while another change starts to use it. A no-op update locks the row
 * in both databases.
 *
 * @throws ChangeRefused if the site has no such file
 */
export async function holdFile(trx: Transaction<Schema>, siteId: string, id: string) {
  await trx
    .updateTable('stored_file')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', id)
    .where('site_id', '=', siteId)
    .execute()
  return mustBeThere(await findFile(trx, siteId, id), 'file')
}

export interface ProductFile {
  readonly productId: string
  /** The file; null removes the current file, so buyers have no download. */
  readonly fileId: string | null
}

/** Sets the product's file and file name, or removes the file. Throws ChangeRefused for an unknown product or file. */
export const setProductFile = siteChange(
  async ({ trx, actor, record }, { productId, fileId }: ProductFile) => {
    const file = fileId === null ? undefined : await holdFile(trx, actor.siteId, fileId)
    const product = await products.mustFind(trx, actor.siteId, productId)
    const change = differenceOf(product, { fileId, ...(file && { fileName: file.name }) })
    if (!change) return
    await trx
      .updateTable('digital_product')
      .set({ file_id: fileId, ...(file && { file_name: file.name }) })
      .where('id', '=', productId)
      .execute()
    record('digital_product.file', { kind: 'digital_product', id: productId }, change)
  },
)

export async function findProductFile({ kysely }: Database, siteId: string, id: string) {
  const product = await products.find(kysely, siteId, { id })
  return product?.fileId ? await findFile(kysely, siteId, product.fileId) : undefined
}
