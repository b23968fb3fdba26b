import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { exportKind } from '../../src/ops/import/export-records.ts'
import { type ImportSettings, importLines } from '../../src/ops/import/import-records.ts'
import { openSources } from '../../src/ops/import/import-sources.ts'
import { kindNames } from '../../src/ops/import/record-kinds.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { temporaryFolder } from './programs.ts'

/** Imports records, or the files at a path. Uses a constant hash, because other tests cover password hashing. */
export async function importRecords(
  database: Database,
  records: string | readonly object[],
  changes: Partial<ImportSettings> = {},
) {
  const sources = await openSources(typeof records === 'string' ? records : linesFile(records))
  const hashPassword = async () =>
    `$argon2id$v=19$m=19456,t=2,p=1$${'c2FsdA'.repeat(4)}$${'aGFzaA'.repeat(7)}`
  const verifyPassword = async () => false
  const settings = { hashPassword, verifyPassword, now: Date.now, ...changes }
  return await importLines({ database, sources, ...settings })
}

export function linesFile(records: readonly object[]): string {
  const path = join(temporaryFolder(), 'records.ndjson')
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return path
}

export async function exportRecords(database: Database): Promise<Record<string, unknown>[]> {
  const exported = async (type: (typeof kindNames)[number]) =>
    await Array.fromAsync(exportKind(database, type))
  return (await Array.fromAsync(kindNames, exported)).flat()
}

/** Imports exported records into an empty database. Expects that the database then exports the same records. */
export async function expectSameElsewhere(records: Record<string, unknown>[], other: Database) {
  expect((await importRecords(other, records)).rejected).to.deep.equal([])
  expect(await exportRecords(other)).to.deep.equal(records)
}
