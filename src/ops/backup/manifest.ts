import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { z } from 'zod'

import type { DatabaseLocation } from '../../platform/store/database.ts'

/** The locations of the data that a backup copies. */
export interface ServicePlace {
  readonly location: DatabaseLocation
  readonly dataDir: string
  /** Whether the files of operators are below `dataDir`, and not in a bucket. */
  readonly filesOnDisk: boolean
  /** The file of the generated root secret, if the backup includes it. */
  readonly secretFile: string | undefined
  /** For child processes. */
  readonly environment: NodeJS.ProcessEnv
}

/** The format of the manifest; a reader rejects every other. */
export const BACKUP_FORMAT = 1

/** Paths of parts stay in the folder: letters, digits, `-`, `_`, a dot, subfolders. */
const partPath = z.string().regex(/^(?!.*\.\.)[\w-][\w.-]*(\/[\w-][\w.-]*)*$/)

const manifestShape = z.strictObject({
  format: z.literal(BACKUP_FORMAT),
  /** The version of the service that made it. */
  version: z.string(),
  /** ISO 8601, by the clock of the machine that made it. */
  madeAt: z.iso.datetime(),
  issuer: z.string(),
  engine: z.enum(['sqlite', 'postgres']),
  /** The migrations that the database had applied, sorted by name. */
  schema: z.array(z.object({ name: z.string(), digest: z.string() })),
  /** How many rows each table had. */
  rows: z.record(z.string(), z.int().min(0)),
  /** Whether the files of operators are included, or stay in their bucket. */
  files: z.enum(['included', 'bucket']),
  secret: z.enum(['included', 'left out']),
  parts: z.array(
    z.strictObject({
      path: partPath,
      bytes: z.int().min(0),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
})

export type Manifest = z.infer<typeof manifestShape>
type Part = Manifest['parts'][number]

export type Contents = Pick<Manifest, 'schema' | 'rows'>

const MANIFEST_FILE = 'manifest.json'

/** The file of the database in a backup, by engine. */
export const databaseParts = { sqlite: 'database.sqlite', postgres: 'database.pgdump' } as const
export const SECRET_PART = 'secret'
export const FILES_FOLDER = 'files'

/** Writes the manifest under its final name last: a folder without one is not a backup. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const draft = join(folder, `${MANIFEST_FILE}.part`)
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, join(folder, MANIFEST_FILE))
}

/** @throws if there is no manifest, or this version cannot read it */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST_FILE), 'utf8').catch((cause) => {
    throw new Error(
      `${folder} is no complete backup: it has no ${MANIFEST_FILE}, which is written last.`,
      { cause },
    )
  })
  const { data, error } = manifestShape.safeParse(parseOrNothing(text))
  if (data) return data
  const field = error.issues[0]?.path.join('.') || 'all of it'
  throw new Error(
    `The ${MANIFEST_FILE} of ${folder} cannot be used (${field} is invalid): it is damaged, or a newer ` +
      'version made it. Use that version, or another backup.',
  )
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The code of an error of the system or the database; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/**
 * Reads and hashes a file of a backup, and flushes it to the disk.
 *
 * @throws if the path has a symbolic link, whose target may change
 */
export async function partOf(folder: string, path: string): Promise<Part> {
  const file = join(folder, path)
  if ((await realpath(file)) !== join(await realpath(folder), path)) {
    throw new Error(`${path} is or lies behind a symbolic link: replace it with the file itself`)
  }
  const handle = await open(file, 'r')
  try {
    await handle.sync()
    const { size: bytes } = await handle.stat()
    const hash = createHash('sha256')
    await pipeline(createReadStream(file), hash)
    return { path, bytes, sha256: hash.digest('hex') }
  } finally {
    await handle.close()
  }
}

/** Lists missing and damaged parts, as sentences. */
export async function findDamagedParts(folder: string, { parts }: Manifest): Promise<string[]> {
  const damages: string[] = []
  for (const part of parts) {
    const found = await partOf(folder, part.path).catch(() => undefined)
    if (found === undefined) damages.push(`${part.path} is missing or cannot be read.`)
    else if (found.bytes !== part.bytes)
      damages.push(`${part.path} has ${found.bytes} bytes instead of ${part.bytes}.`)
    else if (found.sha256 !== part.sha256)
      damages.push(`${part.path} has changed: its SHA-256 differs.`)
  }
  return damages
}

/** Lists differences between a database and its manifest, as sentences. */
export function findDifferences(manifest: Contents, found: Contents): string[] {
  const tables = new Set([...Object.keys(manifest.rows), ...Object.keys(found.rows)])
  const differences = [...tables]
    .filter((table) => manifest.rows[table] !== found.rows[table])
    .map((table) => {
      const [said, there] = [manifest, found].map(({ rows }) => rows[table] ?? 'no table and no')
      return `The table ${table} has ${there} rows instead of ${said}.`
    })
  const names = ({ schema }: Contents) => schema.map((row) => `${row.name} ${row.digest}`).join()
  if (names(manifest) !== names(found)) differences.push('Its migrations differ from the manifest.')
  return differences
}
