import { createWriteStream, writeSync } from 'node:fs'
import { mkdir, open as openFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import type { Config } from '../../config/config.ts'
import { makePasswords } from '../../directory/people/password.ts'
import type { Database } from '../../platform/store/database.ts'
import { codeOf } from '../backup/manifest.ts'
import { type Missing, missingChoices } from '../import/absent-people.ts'
import { exportKind } from '../import/export-records.ts'
import { type ImportReport, importLines } from '../import/import-records.ts'
import { openSources } from '../import/import-sources.ts'
import { type KindName, kindNames } from '../import/record-kinds.ts'
import { asOneLine, CommandRefused, type Given } from './command-line.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'

/**
 * `import <path>`: writes records into the database, even while the service is running. Never marks them as demo data.
 *
 * @param rejects the file for rejected lines. It may be the imported file itself, because it is replaced at the end
 * @throws {CommandRefused} afterwards, if a line was rejected or the number of missing people is unknown or too high
 */
export async function importCampus(
  config: Config,
  { argument: path, rejects, missing: choice, events: emitsEvents }: Given,
): Promise<string> {
  const missing = missingChoices.find((known) => known === choice)
  if (missing !== choice) throw new Error(`--missing must be one of ${missingChoices.join(', ')}`)
  const sources = await openSources(path).catch((cause: unknown) => {
    throw codeOf(cause) === '' ? cause : new Error(`${path} cannot be read`, { cause })
  })
  await using lines = rejects === undefined ? undefined : await openRejects(rejects)
  return await withDatabase(config, 'writes', async (database, now) => {
    const { firebaseSignerKey } = config
    const passwords = makePasswords(config.service.signIn, 1, firebaseSignerKey)
    const progress = showProgress(sources.reduce((sum, { size }) => sum + size, 0))
    const hashing = { hashPassword: passwords.hash, verifyPassword: passwords.verify }
    const settings = { database, sources, ...hashing, firebaseSignerKey, now, missing, emitsEvents }
    const report = await importLines({
      ...settings,
      onProgress: progress.add,
      onReject: (text) => lines?.add(text),
    })
    progress.end()
    await lines?.finish()
    if (Object.keys(report.written).length > 0 || report.absent) {
      await recordCommand(database.kysely, now(), {
        action: 'campus.imported',
        subject: { kind: 'campus', id: path },
        after: { ...report.written, ...(missing !== 'keep' && { absent: report.absent }) },
      })
    }
    const text = importSummary(path, report, missing)
    if (report.rejectedCount > 0 || typeof report.absent === 'string')
      throw new CommandRefused(problems(report), text)
    return text
  })
}

/**
 * Collects rejected lines in a temporary file, which `finish` renames to `path`. Only the owner can read the file,
 * because lines may contain password hashes.
 */
async function openRejects(path: string) {
  const temporary = `${path}.part`
  const file = await openFile(temporary, 'w', 0o600)
  return {
    add: (text: string) => writeSync(file.fd, `${text}\n`),
    finish: async () => await rename(temporary, path),
    async [Symbol.asyncDispose]() {
      await file.close()
      await rm(temporary, { force: true })
    },
  }
}

const BAR_WIDTH = 30

/** Shows progress as a bar on standard error, if it is a terminal. */
function showProgress(size: number) {
  const { stderr } = process
  const startedMs = performance.now()
  let [lines, read] = [0, 0]
  return {
    add(more: number, moreSize: number) {
      lines += more
      read += moreSize
      if (!stderr.isTTY) return
      const seconds = Math.max((performance.now() - startedMs) / 1000, 0.001)
      const share = size === 0 ? 0 : Math.min(1, read / size)
      const bar = '█'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '░')
      const what = `lines: ${lines}, per second: ${Math.round(lines / seconds)}`
      stderr.write(`\r\u001b[Kimport ${bar} ${Math.round(share * 100)} % ${what}`)
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u001b[K')
    },
  }
}

/** Describes an import's problems: invalid lines, records that refer to them, and missing people left unchanged. */
function problems({ rejected, rejectedCount, dependents, absent }: ImportReport): string {
  const lines = rejected.map(({ source, line, problem }) =>
    asOneLine(`${source}:${line}: ${problem}`),
  )
  const hidden = rejectedCount - rejected.length
  if (hidden > 0) lines.push(`and ${hidden} more rejected lines`)
  const counts = listCounts(dependents)
  if (counts !== '') lines.push(`Not written, because they refer to rejected records: ${counts}`)
  if (typeof absent === 'string') lines.push(`Missing people were not changed, because ${absent}.`)
  return lines.join('\n')
}

function importSummary(path: string, report: ImportReport, missing: Missing | undefined): string {
  const { written, skipped, rejectedCount, absent, deleted } = report
  const parts = [`Imported ${path}: ${listCounts(written) || 'nothing'}.`]
  if (skipped > 0) parts.push(`Lines already written by an earlier run: ${skipped}.`)
  if (typeof absent === 'number') {
    const what = missing === 'keep' ? 'kept' : 'disabled and signed out'
    parts.push(`People from earlier imports who are missing from this one (${what}): ${absent}.`)
  }
  if (Object.keys(deleted).length > 0) {
    parts.push(`Skipped, because the people deleted their accounts: ${listCounts(deleted)}.`)
  }
  if (rejectedCount > 0) {
    parts.push(`Invalid lines: ${rejectedCount}. Correct them and import them again.`)
  }
  return parts.join(' ')
}

function listCounts(counts: Readonly<Partial<Record<KindName, number>>>): string {
  return Object.entries(counts)
    .map(([type, count]) => `${type} ${count}`)
    .join(', ')
}

/**
 * `export <folder>`: writes one NDJSON file per kind to a new or empty folder. Names are numbered, so `import` reads
 * parents before children. The files are private, because they contain e-mail addresses and password hashes.
 */
export async function exportCampus(config: Config, { argument: folder }: Given): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new Error(`${folder} is not empty. Choose an empty or new folder.`)
  return await withDatabase(config, 'reads', async (database, now) => {
    const counts: Partial<Record<KindName, number>> = {}
    for (const [index, type] of kindNames.entries()) {
      const name = `${String(index + 1).padStart(2, '0')}-${type}.ndjson`
      counts[type] = await writeFile(database, type, join(folder, name))
    }
    await recordCommand(database.kysely, now(), {
      action: 'campus.exported',
      subject: { kind: 'campus', id: folder },
      after: counts,
    })
    return `Exported to ${folder}: ${listCounts(counts)}.`
  })
}

/** Writes the records of one kind to a file. @returns the number of records */
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
