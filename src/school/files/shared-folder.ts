/** Detects hosts that share a database, but not the folder for uploaded files. */

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { otherFilesFolder } from '../../platform/http/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import { readSetting } from '../../platform/store/settings.ts'
import { onDisk } from './file-storage.ts'

/** The name of a setting in the database, and of a file in the shared folder. Both contain the id of the folder. */
const MARKER = 'files_folder'

/** Whether the folder and the database contain the same id. Also true if the database has no id yet. */
export async function isSharedFolder({ kysely }: Pick<Database, 'kysely'>, folder: string) {
  const id = await readSetting(kysely, MARKER)
  return id === undefined || id === (await readMarker(folder))
}

/**
 * Before an upload, checks that this host uses the shared folder. The first upload stores the id of its folder.
 *
 * @throws otherFilesFolder if the host uses another folder; storageUnavailable if the id cannot be written
 */
export async function mustShareFolder({ engine, kysely }: Database, folder: string, nowMs: number) {
  // Processes that share a SQLite file are on one host.
  if (engine === 'sqlite') return
  await kysely.transaction().execute(async (trx) => {
    const value = (await readMarker(folder)) ?? randomUUID()
    const row = { name: MARKER, value, updated_at: nowMs }
    if (!(await insertNew(trx, 'setting', row))) return
    // Parallel uploads wait until the inserted row is committed, so they find this file.
    await onDisk(async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(join(folder, MARKER), value, { mode: 0o600 })
    })
  })
  if (!(await isSharedFolder({ kysely }, folder))) throw otherFilesFolder()
}

async function readMarker(folder: string): Promise<string | undefined> {
  return await readFile(join(folder, MARKER), 'utf8').catch(() => undefined)
}
