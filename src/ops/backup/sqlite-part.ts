import BetterSqlite from 'better-sqlite3'

import type { Manifest } from './manifest.ts'

/** What is read of a database itself, whichever made it. */
export type Contents = Pick<Manifest, 'schema' | 'rows'>

/** How long a backup waits for a lock that a writer has. */
const LOCK_TIMEOUT_MS = 30_000

/** More pages than any file has. */
const ALL_PAGES = 0x7fffffff

/**
 * Copies a database in use: one read transaction over all of it, so that the copy is of one moment, and
 * those who write go on meanwhile. A copy in steps would begin again at each write of another process.
 */
export async function copySqlite(file: string, target: string): Promise<Contents> {
  const source = new BetterSqlite(file, {
    readonly: true,
    fileMustExist: true,
    timeout: LOCK_TIMEOUT_MS,
  })
  try {
    await source.backup(target, { progress: () => ALL_PAGES })
  } finally {
    source.close()
  }
  const copy = new BetterSqlite(target)
  try {
    // One file, without a log beside it.
    copy.pragma('journal_mode = DELETE')
    return contentsOf(copy)
  } finally {
    copy.close()
  }
}

/**
 * Reads a copy without changing it.
 *
 * @throws in a sentence, when SQLite finds it damaged
 */
export function readSqliteCopy(file: string): Contents {
  const copy = new BetterSqlite(file, { readonly: true, fileMustExist: true })
  try {
    const [found] = copy.pragma('integrity_check(1)', { simple: false }) as {
      integrity_check: string
    }[]
    if (found?.integrity_check !== 'ok') {
      throw new Error(`SQLite finds the copy of the database damaged: ${found?.integrity_check}`)
    }
    return contentsOf(copy)
  } finally {
    copy.close()
  }
}

function contentsOf(connection: BetterSqlite.Database): Contents {
  const names = connection
    .prepare<[], { name: string }>(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by name",
    )
    .all()
  const counts = names.map(({ name }) => {
    const row = connection.prepare<[], { rows: number }>(`select count(*) as rows from "${name}"`)
    return [name, row.get()?.rows ?? 0] as const
  })
  const applied = connection
    .prepare<[], Manifest['schema'][number]>(
      'select name, digest from schema_migration order by name',
    )
    .all()
  return { schema: applied, rows: Object.fromEntries(counts) }
}
