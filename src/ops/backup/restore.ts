import { constants, existsSync } from 'node:fs'
import { chmod, copyFile, link, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import type { DatabaseLocation } from '../../platform/store/database.ts'
import { listFiles } from './backup.ts'
import { databaseParts, FILES_FOLDER, type Manifest, SECRET_PART } from './manifest.ts'
import { differencesOf } from './verify.ts'

/** Where a backup is brought to. */
export interface RestoreTarget {
  readonly location: DatabaseLocation
  readonly dataDir: string
  readonly filesOnDisk: boolean
  /** The file of the generated root secret, where this service uses one. */
  readonly secretFile: string | undefined
  /** For programs that are started. */
  readonly environment: NodeJS.ProcessEnv
}

/** Why a place cannot take a backup, a sentence each; nothing when it can. */
export async function obstaclesTo(manifest: Manifest, target: RestoreTarget): Promise<string[]> {
  const { location, dataDir, filesOnDisk, secretFile } = target
  if (location.kind !== manifest.engine) {
    const names = { sqlite: 'the embedded database', postgres: 'PostgreSQL' }
    return [
      `The backup is of ${names[manifest.engine]}, and this configuration names ` +
        `${names[location.kind]}. Data move from one to the other by export and import.`,
    ]
  }
  const found = await databasesAt(location)
  const files = join(dataDir, FILES_FOLDER)
  if (filesOnDisk && (await listFiles(files)).length > 0) found.push(`${files} is not empty.`)
  if (manifest.secret === 'included' && secretFile !== undefined && existsSync(secretFile)) {
    found.push(`${secretFile} is there: move it away, the backup has its own.`)
  }
  return found
}

/** Beside a database: SQLite takes what these hold for writes of the database that has the name. */
const LOGS = ['-wal', '-journal', '-shm']

/** What there is of a database where one is to be, a sentence each. */
async function databasesAt(location: DatabaseLocation): Promise<string[]> {
  if (location.kind === 'postgres') {
    const { countRelations } = await import('./postgres-part.ts')
    if ((await countRelations(location.url)) === 0) return []
    return ['The database of DATABASE_URL is there and is not empty: restore into a new one.']
  }
  const { file } = location
  if (existsSync(file)) return [`${file} is there and is not empty: restore into a new one.`]
  const logs = [file, draftOf(file)]
    .flatMap((database) => LOGS.map((end) => database + end))
    .filter((path) => existsSync(path))
  const found = logs.map((path) => `${path} is of the database before: move it away, too.`)
  if (existsSync(draftOf(file))) found.push(brokenOff(file))
  return found
}

/** The name of a database until everything is done that belongs to its restore. */
function draftOf(file: string): string {
  return `${file}.restoring`
}

function brokenOff(file: string): string {
  return (
    `${draftOf(file)} is there: another restore is under way. If it was broken off, remove that file and ` +
    'what it brought, and begin anew.'
  )
}

/**
 * Brings the parts back. The embedded database is not under its own name yet, and one on PostgreSQL says
 * that it is not finished, so that whatever fails leaves nothing that a service would start on; `finish`
 * makes it one.
 *
 * @returns where the database is for what is left to do
 */
export async function placeParts(
  folder: string,
  manifest: Manifest,
  target: RestoreTarget,
): Promise<{ readonly location: DatabaseLocation; finish(): Promise<void> }> {
  const part = join(folder, databaseParts[manifest.engine])
  const { location, environment } = target
  if (location.kind === 'sqlite') {
    const placed = await placeSqlite(part, location.file)
    await placeFiles(folder, manifest, target)
    return placed
  }
  await placeFiles(folder, manifest, target)
  const { finishPostgres, restorePostgres } = await import('./postgres-part.ts')
  const differences = differencesOf(
    manifest,
    await restorePostgres({ url: location.url, environment }, part),
  )
  if (differences.length > 0) throw new Error(differences.join('\n'))
  return { location, finish: async () => await finishPostgres(location.url) }
}

/** Comes before everything else, because only one restore can make the draft. */
async function placeSqlite(part: string, file: string) {
  const draft = draftOf(file)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    await copyFile(part, draft, constants.COPYFILE_EXCL)
  } catch (error) {
    throw isThere(error) ? new Error(brokenOff(file), { cause: error }) : error
  }
  await chmod(draft, 0o600)
  return { location: { kind: 'sqlite', file: draft } as const, finish: () => giveName(draft, file) }
}

/** A name that somebody took meanwhile is not taken away, since the old and the new would share a log. */
async function giveName(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
  } catch (error) {
    if (hasNoLinks(error)) return await rename(draft, file)
    if (!isThere(error)) throw error
    throw new Error(
      `${file} was made meanwhile, by a service that was started: stop it, remove what it made and ` +
        `what was restored, and begin anew.`,
      { cause: error },
    )
  }
  await rm(draft)
}

function isThere(error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

/** Some disks of networks and of other systems know one name for a file. */
function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'ENOSYS'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

async function placeFiles(
  folder: string,
  manifest: Manifest,
  { dataDir, filesOnDisk, secretFile }: RestoreTarget,
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  for (const { path } of manifest.parts) {
    if (!filesOnDisk || !path.startsWith(`${FILES_FOLDER}/`)) continue
    await mkdir(dirname(join(dataDir, path)), { recursive: true, mode: 0o700 })
    await copyFile(join(folder, path), join(dataDir, path))
  }
  if (manifest.secret === 'left out' || secretFile === undefined) return
  await copyFile(join(folder, SECRET_PART), secretFile)
  await chmod(secretFile, 0o600)
}
