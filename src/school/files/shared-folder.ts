/** Detects hosts that share a database, but not the folder of its files. */

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { otherFilesFolder } from '../../platform/http/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import { readSetting } from '../../platform/store/settings.ts'
import { orUnavailable } from './file-storage.ts'

/** The setting with the id of the folder that has the files of this database, and the marker in that folder. */
export const FOLDER_ID = 'files_folder'

/** Returns the folder for files, which all hosts must share; undefined for S3. */
export function folderOfFiles({ dataDir, filesS3 }: { dataDir: string; filesS3?: unknown }) {
  return filesS3 === undefined ? join(dataDir, 'files') : undefined
}

/** Whether the folder is the one that the database names; true if it names none. */
export async function isFilesFolder({ kysely }: Pick<Database, 'kysely'>, folder: string) {
  const id = await readSetting(kysely, FOLDER_ID)
  return id === undefined || id === (await readMarker(folder, FOLDER_ID))
}

/**
 * Throws unless the folder is the one that the database names. If it names none, it names this one from now on.
 *
 * @throws otherFilesFolder, or storageUnavailable if the folder cannot be written
 */
export async function mustShareFolder({ engine, kysely }: Database, folder: string, nowMs: number) {
  // Processes that share a SQLite file are on one host.
  if (engine === 'sqlite') return
  await kysely.transaction().execute(async (trx) => {
    const value = (await readMarker(folder, FOLDER_ID)) ?? randomUUID()
    const row = { name: FOLDER_ID, value, updated_at: nowMs }
    const insert = trx
      .insertInto('setting')
      .values(row)
      .onConflict((it) => it.doNothing())
    const added = await insert.returning('name').executeTakeFirst()
    // Parallel uploads wait for this row, and so find the marker.
    if (added) await writeMarker(folder, FOLDER_ID, value)
  })
  if (!(await isFilesFolder({ kysely }, folder))) throw otherFilesFolder()
}

/** Reads a marker; undefined if the folder has none. */
export async function readMarker(folder: string, name: string): Promise<string | undefined> {
  return await readFile(join(folder, name), 'utf8').catch(() => undefined)
}

/** Writes a marker, whose name cannot be that of a stored file: these are in subfolders. @throws storageUnavailable */
export async function writeMarker(folder: string, name: string, text: string): Promise<void> {
  await orUnavailable(async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(join(folder, name), text, { mode: 0o600 })
  })
}
