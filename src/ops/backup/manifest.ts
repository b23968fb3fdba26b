import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { z } from 'zod'

import { parseJson } from '../../platform/http/strict-json.ts'
import type { DatabaseLocation } from '../../platform/store/database.ts'

/** The location of a service's data, for backup and restore. */
export interface ServicePlace {
  readonly location: DatabaseLocation
  readonly dataDir: string
  /** Whether uploaded files are below `dataDir` instead of in a bucket. */
  readonly filesOnDisk: boolean
  readonly environment: NodeJS.ProcessEnv
}

/** The version of the manifest format. Manifests of other versions are rejected. */
export const BACKUP_FORMAT = 1

/** Matches paths that stay below their folder. Names consist of letters, digits, `-`, `_` and single dots. */
const partPath = z.string().regex(/^(?!.*\.\.)[\w-][\w.-]*(\/[\w-][\w.-]*)*$/)

const manifestShape = z.strictObject({
  format: z.literal(BACKUP_FORMAT),
  /** The version of the service that created the backup. */
  version: z.string(),
  /** When the backup was created, according to the clock of the machine that created it. */
  madeAt: z.iso.datetime(),
  issuer: z.string(),
  engine: z.enum(['sqlite', 'postgres']),
  /** The migrations that were applied to the database, sorted by name. */
  schema: z.array(z.object({ name: z.string(), digest: z.string() })),
  /** The number of rows in each table. */
  rows: z.record(z.string(), z.int().min(0)),
  /** Where the uploaded files are: included in the backup, or in their bucket. */
  files: z.enum(['included', 'bucket']),
  /** The ids of files that the database lists but DATA_DIR lacks. Another host may have these files. */
  missingFiles: z.array(z.string()),
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

type Counted = Pick<Manifest, 'schema' | 'rows'>
export type Contents = Counted & { readonly fileIds: readonly string[] }

const MANIFEST_FILE = 'manifest.json'

/** The name of the database file in a backup, by engine. */
export const databaseParts = { sqlite: 'database.sqlite', postgres: 'database.pgdump' } as const
export const FILES_FOLDER = 'files'

/** Writes the manifest, as the last step of a backup. A folder without a manifest is not a complete backup. */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  const draft = join(folder, `${MANIFEST_FILE}.part`)
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, join(folder, MANIFEST_FILE))
}

/** Reads the manifest of a backup. @throws if there is none, or if this version cannot read it */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, MANIFEST_FILE), 'utf8').catch((cause) => {
    throw new Error(
      `${folder} is not a complete backup: it has no ${MANIFEST_FILE}. Choose another folder, or repeat the backup.`,
      { cause },
    )
  })
  const { data, error } = manifestShape.safeParse(parseJson(text))
  if (data) return data
  const field = error.issues[0]?.path.join('.') || 'the whole document'
  throw new Error(
    `${MANIFEST_FILE} in ${folder} cannot be used (${field} is invalid): it is damaged, or was written by a ` +
      'newer version. Use that version, or another backup.',
  )
}

/** Returns the code of a system or database error; empty if there is none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Flushes a file of a backup to disk and hashes it. Throws on a symbolic link, because its target may change. */
export async function partOf(folder: string, path: string): Promise<Part> {
  const file = join(folder, path)
  if ((await realpath(file)) !== join(await realpath(folder), path)) {
    throw new Error(`${path} contains a symbolic link. Replace the link with its target.`)
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

/** Describes missing and damaged parts, with one sentence per part. */
export async function findDamagedParts(folder: string, { parts }: Manifest): Promise<string[]> {
  const damages: string[] = []
  for (const part of parts) {
    const found = await partOf(folder, part.path).catch(() => undefined)
    if (found === undefined) damages.push(`${part.path} is missing or cannot be read.`)
    else if (found.bytes !== part.bytes)
      damages.push(`${part.path} has ${found.bytes} bytes instead of ${part.bytes}.`)
    else if (found.sha256 !== part.sha256)
      damages.push(`${part.path} has changed: its SHA-256 digest is different.`)
  }
  return damages
}

/** Describes how a database differs from its manifest, with one sentence per difference. */
export function findDifferences(manifest: Counted, found: Counted): string[] {
  const tables = new Set([...Object.keys(manifest.rows), ...Object.keys(found.rows)])
  const differences = [...tables]
    .filter((table) => manifest.rows[table] !== found.rows[table])
    .map((table) => {
      const [expected, actual] = [manifest, found].map(({ rows }) => rows[table] ?? 'none')
      return `Rows in the table ${table}: ${actual} instead of ${expected}.`
    })
  const names = ({ schema }: Counted) => schema.map((row) => `${row.name} ${row.digest}`).join()
  if (names(manifest) !== names(found))
    differences.push('The migrations of the database differ from those in the manifest.')
  return differences
}
