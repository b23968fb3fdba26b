import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, link, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import type { DatabaseLocation } from '../../platform/store/database.ts'
import { listFilePaths } from './backup.ts'
import {
  countRelations,
  finishPostgres,
  listDumpedTables,
  readSqliteCopy,
  restorePostgres,
} from './database-parts.ts'
import {
  codeOf,
  databaseParts,
  FILES_FOLDER,
  findDamagedParts,
  findDifferences,
  type Manifest,
  type ServicePlace,
} from './manifest.ts'

/**
 * Checks the digest of every part of a backup. If all digests match, checks the database: the rows and migrations of a
 * SQLite copy, or the tables of a PostgreSQL dump. Returns one message for each problem.
 *
 * @throws if a PostgreSQL program is not installed
 */
export async function findDamage(folder: string, manifest: Manifest): Promise<string[]> {
  const damages = await findDamagedParts(folder, manifest)
  if (damages.length > 0) return damages
  try {
    return await checkDatabasePart(folder, manifest)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (message.includes('is not installed')) throw error
    return [message]
  }
}

async function checkDatabasePart(folder: string, manifest: Manifest): Promise<string[]> {
  const file = join(folder, databaseParts[manifest.engine])
  if (manifest.engine === 'sqlite') return findDifferences(manifest, await readSqliteCopy(file))
  const dumped = await listDumpedTables(file)
  return Object.keys(manifest.rows)
    .filter((table) => !dumped.includes(table))
    .map((table) => `The dump does not contain the table ${table}.`)
}

/** Yields the reasons why a backup cannot be restored with this configuration, as sentences. */
export async function* findObstacles(
  manifest: Manifest,
  target: ServicePlace,
): AsyncGenerator<string> {
  const { location, dataDir, filesOnDisk } = target
  if (location.kind !== manifest.engine) {
    const names = { sqlite: 'the embedded database', postgres: 'PostgreSQL' }
    return yield `The backup was made from ${names[manifest.engine]}, but this configuration uses ` +
      `${names[location.kind]}. Use export and import to move data between them.`
  }
  yield* findExistingDatabase(location)
  const files = join(dataDir, FILES_FOLDER)
  if (filesOnDisk && (await listFilePaths(files)).length > 0) {
    yield `${files} is not empty. Restore into a new DATA_DIR.`
  }
}

/** The suffixes of the additional files that SQLite keeps beside a database. */
const LOGS = ['-wal', '-journal', '-shm']

async function* findExistingDatabase(location: DatabaseLocation): AsyncGenerator<string> {
  if (location.kind === 'postgres') {
    if ((await countRelations(location.url)) === 0) return
    return yield 'The database in DATABASE_URL is not empty. Restore into a new database.'
  }
  const { file } = location
  if (existsSync(file)) return yield `${file} already exists. Restore into a new DATA_DIR.`
  const logs = [file, draftOf(file)].flatMap((database) => LOGS.map((end) => database + end))
  for (const path of logs) {
    if (existsSync(path)) yield `${path} belongs to a previous database. Move this file elsewhere.`
  }
  if (existsSync(draftOf(file))) yield restoreUnderWay(file)
}

/** Returns the temporary name of a database file while it is being restored. */
function draftOf(file: string): string {
  return `${file}.restoring`
}

function restoreUnderWay(file: string): string {
  return (
    `${draftOf(file)} exists: another restore is running or was interrupted. If it was interrupted, remove that ` +
    'file and the restored files, and run restore again.'
  )
}

/**
 * Restores all parts. Until `finish` is called, the SQLite file has a temporary name, or the PostgreSQL database is
 * marked as unfinished. So no service can start with a partial restore.
 *
 * @throws if another restore is unfinished, or if a restored PostgreSQL database differs from the manifest
 */
export async function placeParts(
  folder: string,
  manifest: Manifest,
  target: ServicePlace,
): Promise<{ readonly location: DatabaseLocation; finish(): Promise<void> }> {
  const part = join(folder, databaseParts[manifest.engine])
  const { location, environment } = target
  if (location.kind === 'sqlite') {
    // Restore the database first. If another restore is running, creating the temporary file fails.
    const draft = await createDraft(part, location.file)
    await placeFiles(folder, manifest, target)
    return {
      location: { kind: 'sqlite', file: draft },
      finish: () => renameDraft(draft, location.file),
    }
  }
  await placeFiles(folder, manifest, target)
  const restored = await restorePostgres({ url: location.url, environment }, part)
  const differences = findDifferences(manifest, restored)
  if (differences.length > 0) {
    const advice = 'The database differs from the backup. Empty the database and restore again:'
    throw new Error([advice, ...differences].join('\n'))
  }
  return { location, finish: () => finishPostgres(location.url) }
}

async function createDraft(part: string, file: string): Promise<string> {
  const draft = draftOf(file)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    await copyFile(part, draft, constants.COPYFILE_EXCL)
  } catch (error) {
    throw codeOf(error) === 'EEXIST' ? new Error(restoreUnderWay(file), { cause: error }) : error
  }
  await chmod(draft, 0o600)
  return draft
}

/** Renames the restored file. Does not replace an existing database, except on file systems without hard links. */
async function renameDraft(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
  } catch (error) {
    // Some network drives and operating systems do not support hard links.
    if (['EPERM', 'ENOTSUP', 'ENOSYS'].includes(codeOf(error))) return await rename(draft, file)
    if (codeOf(error) !== 'EEXIST') throw error
    throw new Error(
      `A service started during the restore and created ${file}. Stop it, delete its files and the restored files, ` +
        'then run restore again.',
      { cause: error },
    )
  }
  await rm(draft)
}

async function placeFiles(
  folder: string,
  manifest: Manifest,
  { dataDir, filesOnDisk }: ServicePlace,
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  for (const { path } of manifest.parts) {
    if (!filesOnDisk || !path.startsWith(`${FILES_FOLDER}/`)) continue
    await mkdir(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 })
    await copyFile(join(folder, path), join(dataDir, path))
  }
}
