import { recordAuditEvent } from '../audit/audit-log.ts'
import { loadCampus, readCampusFolder } from '../campus/load.ts'
import type { Config } from '../config/config.ts'
import { makePasswords } from '../people/password.ts'
import { withDatabase } from './command.ts'

/**
 * `import <folder>`: loads a campus into the configured database, whole or not at all. It is never
 * marked as the demo campus, because what an operator imports is the operator's own.
 */
export async function importCampus(config: Config, folder: string): Promise<string> {
  const campus = await readFolder(folder)
  return await withDatabase(config, async (database) => {
    const { hash: hashPassword } = makePasswords(config.service.signIn)
    const summary = await loadCampus({ database, campus, hashPassword, now: Date.now })
    const written = Object.entries(summary).filter(([, count]) => count > 0)
    const change = {
      action: 'campus.imported',
      subject: { kind: 'campus', id: folder },
      siteId: undefined,
      after: Object.fromEntries(written),
    } as const
    await recordAuditEvent(database.kysely, { now: Date.now() }, change)
    const counts = written.map(([table, count]) => `${count} ${table.replaceAll('_', ' ')}`)
    return `Imported ${folder}: ${counts.join(', ')}.`
  })
}

async function readFolder(folder: string) {
  try {
    return await readCampusFolder(folder)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new Error(`${folder} cannot be read`, { cause: error })
  }
}
