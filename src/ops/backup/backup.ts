/**
 * A copy of what a service keeps: made beside a running service, checked without being restored, brought
 * back into an empty place.
 */

import { existsSync } from 'node:fs'
import { constants, copyFile, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import type { DatabaseLocation } from '../../platform/store/database.ts'
import {
  BACKUP_FORMAT,
  databaseParts,
  FILES_FOLDER,
  type Manifest,
  type Part,
  partOf,
  SECRET_PART,
  writeManifest,
} from './manifest.ts'
import type { Contents } from './sqlite-part.ts'

/** What is backed up, and what is said of it. */
export interface BackupSource {
  readonly location: DatabaseLocation
  readonly dataDir: string
  /** Whether the files of operators are below `dataDir`, and not in a bucket. */
  readonly filesOnDisk: boolean
  /** The file of the generated root secret, when the backup is to have it. */
  readonly secretFile: string | undefined
  readonly issuer: string
  readonly version: string
  readonly now: () => number
  /** For programs that are started. */
  readonly environment: NodeJS.ProcessEnv
}

/**
 * Makes a backup in a folder that is empty or absent. Nothing is stopped and nothing is changed, the
 * schema neither: a version makes a backup of the database of the version before.
 *
 * @throws in a sentence, when the folder is in use or something cannot be read
 */
export async function makeBackup(folder: string, source: BackupSource): Promise<Manifest> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`)
  const { location } = source
  const engine = location.kind
  const madeAt = new Date(source.now()).toISOString()
  const contents = await copyDatabase(source, join(folder, databaseParts[engine]))
  const parts = [await partOf(folder, databaseParts[engine])]
  // After the database, so that each row of the copy has its bytes.
  if (source.filesOnDisk) parts.push(...(await copyFiles(source.dataDir, folder)))
  if (source.secretFile !== undefined) parts.push(await copyPart(source.secretFile, folder))
  const manifest: Manifest = {
    format: BACKUP_FORMAT,
    version: source.version,
    madeAt,
    issuer: source.issuer,
    engine,
    ...contents,
    files: source.filesOnDisk ? 'included' : 'bucket',
    secret: source.secretFile === undefined ? 'left out' : 'included',
    parts,
  }
  await writeManifest(folder, manifest)
  return manifest
}

async function copyDatabase(
  { location, environment }: BackupSource,
  target: string,
): Promise<Contents> {
  // It belongs to its owner alone from its first byte on.
  await writeFile(target, '', { mode: 0o600, flag: 'wx' })
  if (location.kind === 'sqlite') {
    const { copySqlite } = await import('./sqlite-part.ts')
    return await copySqlite(location.file, target)
  }
  const { dumpPostgres } = await import('./postgres-part.ts')
  return await dumpPostgres({ url: location.url, environment }, target)
}

async function copyPart(file: string, folder: string): Promise<Part> {
  await copyFile(file, join(folder, SECRET_PART), constants.COPYFILE_EXCL)
  return await partOf(folder, SECRET_PART)
}

/** Every file of operators. They are written once and never changed, so that each is whole or absent. */
async function copyFiles(dataDir: string, folder: string): Promise<Part[]> {
  const parts: Part[] = []
  for (const path of await listFiles(join(dataDir, FILES_FOLDER))) {
    const part = `${FILES_FOLDER}/${path}`
    const target = join(folder, part)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    try {
      await copyFile(join(dataDir, part), target)
    } catch (error) {
      // An operator removed it since it was listed.
      if (isAbsent(error)) continue
      throw error
    }
    parts.push(await partOf(folder, part))
  }
  return parts
}

/**
 * The files below a folder by their paths; uploads that are under way are none.
 *
 * @throws when something cannot be looked at: what is left out without a word is found out at a restore
 */
export async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    // Nobody has uploaded anything yet.
    if (isAbsent(error) && !existsSync(folder)) return []
    throw error
  })
  const paths: string[] = []
  for (const path of names.sort()) {
    if (path.startsWith('drafts')) continue
    const found = await stat(join(folder, path)).catch((error: unknown) => {
      if (isAbsent(error)) return undefined
      throw error
    })
    if (found?.isFile()) paths.push(path)
  }
  return paths
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
