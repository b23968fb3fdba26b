import type { Config } from '../../config/config.ts'
import { makePasswords } from '../../directory/people/password.ts'
import { recordAuditEvent } from '../../platform/audit/audit-log.ts'
import { type ImportReport, importLines } from '../import/import-records.ts'
import { openSources } from '../import/import-sources.ts'
import { asOneLine, CommandRefused, withDatabase } from './command.ts'
import { showProgress } from './progress.ts'

/**
 * `import <folder or file>`: makes the database be as the records say, beside a running service too.
 * It is never marked as the demo campus, because what an operator imports is the operator's own.
 *
 * @throws CommandRefused with the lines that were refused; all other batches are written
 */
export async function importCampus(config: Config, path: string): Promise<string> {
  const sources = await open(path)
  return await withDatabase(config, async (database, now) => {
    const { hash: hashPassword } = makePasswords(config.service.signIn)
    const progress = showSpeed(sources.reduce((sum, { size }) => sum + size, 0))
    const settings = { database, sources, hashPassword, now }
    const report = await importLines({ ...settings, onProgress: progress.batch })
    progress.end()
    if (Object.keys(report.written).length > 0) {
      await recordAuditEvent(
        database.kysely,
        { now: now() },
        {
          action: 'campus.imported',
          subject: { kind: 'campus', id: path },
          siteId: undefined,
          after: report.written,
        },
      )
    }
    if (report.refusedCount > 0) throw new CommandRefused(refusals(report), summary(path, report))
    return summary(path, report)
  })
}

function showSpeed(size: number) {
  const bar = showProgress('import')
  const startedMs = performance.now()
  let [lines, read] = [0, 0]
  return {
    batch(more: number, moreSize: number) {
      lines += more
      read += moreSize
      const seconds = (performance.now() - startedMs) / 1000
      const rate = Math.round(lines / Math.max(seconds, 0.001))
      bar.at(size === 0 ? 0 : Math.min(1, read / size), `${lines} lines, ${rate} a second`)
    },
    end: bar.end,
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
  const before = skipped > 0 ? ` ${skipped} lines were there from an earlier run.` : ''
  const wrong =
    refusedCount > 0
      ? ` ${refusedCount} lines were refused, and ${leftOut} others in their batches were not written:` +
        ' mend them and import again.'
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
