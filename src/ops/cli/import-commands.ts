import { createWriteStream } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import type { Config } from '../../config/config.ts'
import { makePasswords } from '../../directory/people/password.ts'
import type { Database } from '../../platform/store/database.ts'
import { exportKind } from '../import/export-records.ts'
import { type ImportReport, importLines } from '../import/import-records.ts'
import { openSources } from '../import/import-sources.ts'
import { type KindName, kindNames } from '../import/record-kinds.ts'
import { asOneLine, CommandRefused } from './command-output.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'

/**
 * `import <folder or file>`: writes records into the database, also beside a running service. Never marks
 * them as the demo campus.
 *
 * @throws CommandRefused with the rejected lines; all other batches are written
 */
export async function importCampus(config: Config, path: string): Promise<string> {
  const sources = await open(path)
  return await withDatabase(config, async (database, now) => {
    const { hash: hashPassword } = makePasswords(config.service.signIn)
    const progress = showProgress(sources.reduce((sum, { size }) => sum + size, 0))
    const settings = { database, sources, hashPassword, now }
    const report = await importLines({ ...settings, onProgress: progress.add })
    progress.end()
    if (Object.keys(report.written).length > 0) {
      await recordCommand(database.kysely, now(), {
        action: 'campus.imported',
        subject: { kind: 'campus', id: path },
        after: report.written,
      })
    }
    if (report.refusedCount > 0) throw new CommandRefused(refusals(report), summary(path, report))
    return summary(path, report)
  })
}

const BAR_WIDTH = 30
/** Progress lines without a terminal, and the time until the first. */
const PROGRESS_LINES = 10
const SILENT_MS = 2000

/** Shows progress on standard error: a bar on a terminal, or a few lines. */
function showProgress(size: number) {
  const { stderr } = process
  const startedMs = performance.now()
  let [lines, read, shown] = [0, 0, 0]
  return {
    add(more: number, moreSize: number) {
      lines += more
      read += moreSize
      const ms = performance.now() - startedMs
      const what = `${lines} lines, ${Math.round(lines / Math.max(ms / 1000, 0.001))} a second`
      const share = size === 0 ? 0 : Math.min(1, read / size)
      const percent = Math.round(share * 100)
      if (stderr.isTTY) {
        const bar = '█'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '░')
        stderr.write(`\r\u001b[Kimport ${bar} ${percent} % ${what}`)
      } else if (Math.floor(share * PROGRESS_LINES) > shown && ms > SILENT_MS) {
        shown = Math.floor(share * PROGRESS_LINES)
        stderr.write(`import ${percent} %: ${what}\n`)
      }
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\u001b[K')
    },
  }
}

function refusals({ refused, refusedCount }: ImportReport): string {
  const lines = refused.map(({ source, line, problem }) =>
    asOneLine(`${source}:${line}: ${problem}`),
  )
  const hidden = refusedCount - refused.length
  return [...lines, ...(hidden > 0 ? [`and ${hidden} more`] : [])].join('\n')
}

function summary(path: string, { written, skipped, refusedCount, leftOut }: ImportReport): string {
  const counts = Object.entries(written).map(([type, count]) => `${count} ${type}`)
  const before = skipped > 0 ? ` An earlier run wrote ${skipped} lines.` : ''
  const wrong =
    refusedCount > 0
      ? ` ${refusedCount} lines were rejected, and ${leftOut} others in their batches were not written.` +
        ' Correct them and import again.'
      : ''
  return `Imported ${path}: ${counts.join(', ') || 'nothing'}.${before}${wrong}`
}

async function open(path: string) {
  try {
    return await openSources(path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new Error(`${path} cannot be read`, { cause: error })
  }
}

/**
 * `export <folder>`: writes one NDJSON file for each kind, numbered so that `import` reads parents before
 * children. Only the owner can read the files, because they contain e-mail addresses and password hashes.
 */
export async function exportCampus(config: Config, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new Error(`${folder} is not empty: name an empty or new folder`)
  return await withDatabase(config, async (database, now) => {
    const counts: string[] = []
    for (const [index, type] of kindNames.entries()) {
      const name = `${String(index + 1).padStart(2, '0')}-${type}.ndjson`
      counts.push(`${await writeFile(database, type, join(folder, name))} ${type}`)
    }
    await recordCommand(database.kysely, now(), {
      action: 'campus.exported',
      subject: { kind: 'campus', id: folder },
      after: { records: counts.join(', ') },
    })
    return `Exported to ${folder}: ${counts.join(', ')}.`
  })
}

/** @returns the number of records */
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
