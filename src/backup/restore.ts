import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import type { DatabaseLocation } from '../store/database.ts'
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
  const found: string[] = []
  if (await isInUse(location)) {
    const place = location.kind === 'sqlite' ? location.file : 'The database of DATABASE_URL'
    found.push(`${place} is there and is not empty: restore into a new one.`)
  }
  const files = join(dataDir, FILES_FOLDER)
  if (filesOnDisk && (await listFiles(files)).length > 0) found.push(`${files} is not empty.`)
  if (manifest.secret === 'included' && secretFile !== undefined && existsSync(secretFile)) {
    found.push(`${secretFile} is there: move it away, the backup has its own.`)
  }
  return found
}

async function isInUse(location: DatabaseLocation): Promise<boolean> {
  if (location.kind === 'sqlite') return existsSync(location.file)
  const { countRelations } = await import('./postgres-part.ts')
  return (await countRelations(location.url)) > 0
}

/**
 * Brings the parts back. The embedded database is not under its own name yet, so that whatever fails
 * leaves nothing that a service would start on; `finish` gives it its name.
 *
 * @returns where the database is for what is left to do
 */
export async function placeParts(
  folder: string,
  manifest: Manifest,
  target: RestoreTarget,
): Promise<{ readonly location: DatabaseLocation; finish(): Promise<void> }> {
  const part = join(folder, databaseParts[manifest.engine])
  await placeFiles(folder, manifest, target)
  const { location, environment } = target
  if (location.kind === 'sqlite') return await placeSqlite(part, location.file)
  const { restorePostgres } = await import('./postgres-part.ts')
  const differences = differencesOf(
    manifest,
    await restorePostgres({ url: location.url, environment }, part),
  )
  if (differences.length > 0) throw new Error(differences.join('\n'))
  return { location, finish: async () => {} }
}

async function placeSqlite(part: string, file: string) {
  const draft = `${file}.restoring`
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  for (const rest of ['', '-wal', '-shm']) await rm(draft + rest, { force: true })
  await copyFile(part, draft)
  await chmod(draft, 0o600)
  return {
    location: { kind: 'sqlite', file: draft } as const,
    finish: async () => await rename(draft, file),
  }
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
