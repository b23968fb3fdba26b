import { createWriteStream } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import type { Config } from '../../config/config.ts'
import { recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import { exportKind } from '../import/export-records.ts'
import { type KindName, kindNames } from '../import/record-kinds.ts'
import { withDatabase } from './command.ts'

/**
 * `export <folder>`: writes what a platform keeps as one NDJSON file for each kind, numbered so that
 * `import` reads parents before their children. The files are for their owner alone: they hold
 * addresses, and digests of passwords.
 */
export async function exportCampus(config: Config, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`)
  return await withDatabase(config, async (database) => {
    const counts: string[] = []
    for (const [index, type] of kindNames.entries()) {
      const name = `${String(index + 1).padStart(2, '0')}-${type}.ndjson`
      counts.push(`${await writeFile(database, type, join(folder, name))} ${type}`)
    }
    await recordAuditEvent(
      database.kysely,
      { now: Date.now() },
      {
        action: 'campus.exported',
        subject: { kind: 'campus', id: folder },
        siteId: undefined,
        after: { records: counts.join(', ') },
      },
    )
    return `Exported to ${folder}: ${counts.join(', ')}.`
  })
}

/** @returns how many records there were */
async function writeFile(database: Database, type: KindName, path: string): Promise<number> {
  let count = 0
  const lines = async function* () {
    for await (const record of exportKind(database, type)) {
      count += 1
      yield `${JSON.stringify(record)}\n`
    }
  }
  await pipeline(lines, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  return count
}
