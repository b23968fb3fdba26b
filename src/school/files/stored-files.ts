import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import {
  countRows,
  type ListOrder,
  type PageRequest,
  readPage,
} from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { holdsWords } from '../../platform/store/search.ts'
import { changeSite, differenceOf, newId, type SiteActor } from '../changes/change.ts'
import { fileName, readInput } from '../changes/input.ts'
import { conflict, limitReached, notFound } from '../changes/refusals.ts'
import { type Draft, type FileStorage, storageKey } from './file-storage.ts'

/** How much a site may keep. */
export interface SiteLimits {
  readonly siteBytesMax: number
  readonly siteFilesMax: number
}

export type StoredFile = NonNullable<Awaited<ReturnType<typeof findFile>>>

const newestFirst: ListOrder<Pick<StoredFile, 'createdAt' | 'id'>> = {
  by: 'stored_file.created_at',
  id: 'stored_file.id',
  direction: 'desc',
  placeOf: ({ createdAt, id }) => [createdAt, id],
}

/** One page of the files of a site, the newest first, and how many there are, each in one query. */
export function listFiles({ kysely }: Database, siteId: string, search?: string | null) {
  const found = filesOf(kysely, siteId).$if(search != null, (query) =>
    query.where(holdsWords('stored_file.name', search ?? '')),
  )
  return {
    page: async (request: PageRequest) => await readPage(found, newestFirst, request),
    count: async () => await countRows(found),
  }
}

/** One file of a site, or nothing. One query. */
export async function findFile(kysely: Kysely<Schema>, siteId: string, id: string) {
  return await filesOf(kysely, siteId).where('stored_file.id', '=', id).executeTakeFirst()
}

function filesOf(kysely: Kysely<Schema>, siteId: string) {
  return kysely
    .selectFrom('stored_file')
    .select([
      'stored_file.id',
      'stored_file.name',
      'stored_file.media_type as mediaType',
      'stored_file.size_bytes as sizeBytes',
      'stored_file.sha256',
      'stored_file.created_at as createdAt',
    ])
    .where('stored_file.site_id', '=', siteId)
}

const naming = z.strictObject({ name: fileName })

/**
 * The name of a file as it is kept.
 *
 * @throws ChangeRefused
 */
export function readFileName(name: string | undefined): string {
  return readInput(naming, { name }).name
}

/**
 * Keeps a draft as a file of the actor's site. The same bytes under the same name are the file that is
 * there already. The bytes come before the row: a crash between leaves bytes without a row, never a row
 * without bytes.
 *
 * @throws ChangeRefused when the site has as much as it may, or storageUnavailable
 */
export async function keepFile(
  database: Database,
  actor: SiteActor,
  file: { readonly draft: Draft; readonly name: string },
  { storage, limits }: { readonly storage: FileStorage; readonly limits: SiteLimits },
): Promise<{ readonly file: StoredFile; readonly isNew: boolean }> {
  const { kysely } = database
  const { siteId } = actor
  const { draft, name } = file
  const { mediaType, sizeBytes, sha256 } = draft
  const content = { name, sha256 }
  const before = await findByContent(kysely, siteId, content)
  if (before) return { file: before, isNew: false }
  await mustHaveRoom(kysely, siteId, sizeBytes, limits)
  const id = newId('fil')
  await storage.put(storageKey(id), draft)
  let isNew = false
  try {
    isNew = await changeSite(database, actor, async (trx, record) => {
      await mustHaveRoom(trx, siteId, sizeBytes, limits)
      const made = await trx
        .insertInto('stored_file')
        .values({
          id,
          site_id: siteId,
          name,
          media_type: mediaType,
          size_bytes: sizeBytes,
          sha256,
          created_by: actor.personId,
          created_at: actor.now,
        })
        // Of two uploads at once the second finds the file of the first.
        .onConflict((taken) => taken.columns(['site_id', 'sha256', 'name']).doNothing())
        .returning('id')
        .executeTakeFirst()
      if (!made) return false
      const after = { name, mediaType, sizeBytes, sha256 }
      await record({ action: 'file.create', subject: { kind: 'file', id }, after })
      return true
    })
  } finally {
    if (!isNew) await removeBytes(storage, id)
  }
  const kept = await findByContent(kysely, siteId, content)
  if (!kept) throw conflict('the file was removed at the same time')
  return { file: kept, isNew }
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

/** A site has few enough files that adding them up is cheap. */
async function mustHaveRoom(
  kysely: Kysely<Schema>,
  siteId: string,
  bytes: number,
  { siteBytesMax, siteFilesMax }: SiteLimits,
): Promise<void> {
  const { files, kept } = await kysely
    .selectFrom('stored_file')
    .select([sql<number>`count(*)`.as('files'), sql<number>`sum(size_bytes)`.as('kept')])
    .where('site_id', '=', siteId)
    .executeTakeFirstOrThrow()
  if (Number(files) >= siteFilesMax) throw limitReached(`a site has at most ${siteFilesMax} files`)
  if (Number(kept ?? 0) + bytes > siteBytesMax) {
    throw limitReached(`the files of a site have at most ${siteBytesMax} bytes together`)
  }
}

/**
 * Removes a file that nothing uses.
 *
 * @throws ChangeRefused when a product or the appearance of the site uses it
 */
export async function deleteFile(
  database: Database,
  actor: SiteActor,
  { id, storage }: { readonly id: string; readonly storage: FileStorage },
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const { name, mediaType, sizeBytes, sha256 } = await holdFile(trx, actor.siteId, id)
    const product = await trx
      .selectFrom('digital_product')
      .select('slug')
      .where('file_id', '=', id)
      .executeTakeFirst()
    if (product) throw conflict(`the digital product ${product.slug} has this file`)
    const logo = await trx
      .selectFrom('site_appearance')
      .select('site_id')
      .where('logo_file_id', '=', id)
      .executeTakeFirst()
    if (logo) throw conflict('it is the logo of the site')
    await trx.deleteFrom('stored_file').where('id', '=', id).execute()
    const before = { name, mediaType, sizeBytes, sha256 }
    await record({ action: 'file.delete', subject: { kind: 'file', id }, before })
  })
  // After the row: bytes without a row do no harm, a row without bytes would.
  await removeBytes(storage, id)
}

/** The change of the row stands even if the storage is out of reach now. */
async function removeBytes(storage: FileStorage, id: string): Promise<void> {
  await storage.remove(storageKey(id)).catch(() => {})
}

/**
 * A file that is about to be used or removed. Its row is written as it is, by which the two wait for
 * each other: nothing removes a file while something begins to use it.
 *
 * @throws ChangeRefused when the site has no such file
 */
export async function holdFile(
  trx: Transaction<Schema>,
  siteId: string,
  id: string,
): Promise<StoredFile> {
  await trx
    .updateTable('stored_file')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', id)
    .where('site_id', '=', siteId)
    .execute()
  const file = await findFile(trx, siteId, id)
  if (!file) throw notFound('file')
  return file
}

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
