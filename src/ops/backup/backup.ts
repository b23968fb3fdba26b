/** Backs up a running or stopped service. */

import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { copySqlite, dumpPostgres } from './database-parts.ts'
import {
  BACKUP_FORMAT,
  codeOf,
  databaseParts,
  FILES_FOLDER,
  type Manifest,
  partOf,
  type ServicePlace,
  writeManifest,
} from './manifest.ts'

interface BackupSource extends ServicePlace {
  /** Returns the path of an uploaded file, relative to DATA_DIR/files. */
  readonly pathOfFile: (id: string) => string
  readonly issuer: string
  readonly version: string
}

/**
 * Creates a backup in a new or empty folder. Throws if the folder is not empty. Does not migrate the database, so a new
 * version can back up the database of the previous one.
 */
export async function makeBackup(folder: string, source: BackupSource): Promise<Manifest> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new Error(`${folder} is not empty. Choose an empty or new folder.`)
  const { location, environment, filesOnDisk, pathOfFile } = source
  const madeAt = new Date().toISOString()
  const database = databaseParts[location.kind]
  const target = join(folder, database)
  // Create the file with its mode first. Otherwise, other users could read it until its mode is set.
  await writeFile(target, '', { mode: 0o600, flag: 'wx' })
  const { fileIds, ...contents } =
    location.kind === 'sqlite'
      ? await copySqlite(location.file, target)
      : await dumpPostgres({ url: location.url, environment }, target)
  // Copy files after the database. Otherwise, its copy could list files that were uploaded too late to be copied.
  const files = filesOnDisk ? await copyFiles(source.dataDir, folder) : []
  const paths = new Set<string>([database, ...files])
  const manifest: Manifest = {
    format: BACKUP_FORMAT,
    version: source.version,
    madeAt,
    issuer: source.issuer,
    engine: location.kind,
    ...contents,
    files: filesOnDisk ? 'included' : 'bucket',
    missingFiles: filesOnDisk
      ? fileIds.filter((id) => !paths.has(`${FILES_FOLDER}/${pathOfFile(id)}`))
      : [],
    parts: [],
  }
  for (const path of paths) manifest.parts.push(await partOf(folder, path))
  await writeManifest(folder, manifest)
  return manifest
}

/** Copies uploaded files, and returns the paths of the copies. Files never change, so every copy is consistent. */
async function copyFiles(dataDir: string, folder: string): Promise<string[]> {
  const copied: string[] = []
  for (const path of await listFilePaths(join(dataDir, FILES_FOLDER))) {
    const part = `${FILES_FOLDER}/${path}`
    const target = join(folder, part)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    try {
      await copyFile(join(dataDir, part), target)
      copied.push(part)
    } catch (error) {
      // An operator may have deleted the file since it was listed.
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }
  return copied
}

/** Lists the paths of all files in a folder, if it exists. Skips unfinished uploads. */
export async function listFilePaths(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    // The folder does not exist before the first upload.
    if (codeOf(error) === 'ENOENT' && !existsSync(folder)) return []
    throw error
  })
  const paths: string[] = []
  for (const path of names.sort()) {
    if (path.startsWith('drafts')) continue
    const found = await stat(join(folder, path)).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
    })
    if (found?.isFile()) paths.push(path)
  }
  return paths
}
