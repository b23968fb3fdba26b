import { join } from 'node:path'

import { damagesOf, databaseParts, type Manifest, readManifest } from './manifest.ts'
import type { Contents } from './sqlite-part.ts'

/** What a check of a backup found. */
export interface Verification {
  readonly manifest: Manifest
  /** What is wrong, a sentence each; nothing when it can be restored. */
  readonly damages: readonly string[]
  /** What could not be looked at here. */
  readonly notes: readonly string[]
}

/**
 * Checks a backup without restoring it: that every part is what was written, and that the database in it
 * is readable and has the tables, rows and migrations that the manifest says.
 *
 * @throws in a sentence, when there is no manifest to check by
 */
export async function verifyBackup(folder: string): Promise<Verification> {
  const manifest = await readManifest(folder)
  const damages = await damagesOf(folder, manifest)
  const notes: string[] = []
  if (damages.length === 0) {
    try {
      damages.push(...(await lookInside(folder, manifest)))
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error)
      // Its bytes are those that were written; the rest needs the program.
      if (said.includes('is not installed')) notes.push(said)
      else damages.push(said)
    }
  }
  return { manifest, damages, notes }
}

async function lookInside(folder: string, manifest: Manifest): Promise<string[]> {
  const file = join(folder, databaseParts[manifest.engine])
  if (manifest.engine === 'sqlite') {
    const { readSqliteCopy } = await import('./sqlite-part.ts')
    return differencesOf(manifest, readSqliteCopy(file))
  }
  const { listDumpedTables } = await import('./postgres-part.ts')
  const dumped = await listDumpedTables(file)
  return Object.keys(manifest.rows)
    .filter((table) => !dumped.includes(table))
    .map((table) => `The dump has no rows of the table ${table}.`)
}

/** Where a database is not what a manifest says, a sentence each. */
export function differencesOf(manifest: Contents, found: Contents): string[] {
  const tables = new Set([...Object.keys(manifest.rows), ...Object.keys(found.rows)])
  const differences = [...tables]
    .filter((table) => manifest.rows[table] !== found.rows[table])
    .map((table) => {
      const [said, there] = [manifest, found].map(({ rows }) => rows[table] ?? 'no table and no')
      return `The table ${table} has ${there} rows instead of ${said}.`
    })
  const names = ({ schema }: Contents) => schema.map((row) => `${row.name} ${row.digest}`).join()
  if (names(manifest) !== names(found)) differences.push('Its migrations are not those it names.')
  return differences
}
