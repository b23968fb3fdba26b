/** A platform's data as lines, in and out: what is there becomes as the lines say, however many. What a record is, campus says. */

import { setTimeout as pause } from 'node:timers/promises'

import { sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { type Batch, batchesOf, type LineProblem } from './batches.ts'
import { type KindName, kindOf } from './kinds.ts'
import { forgetPlace, keepPlace, openPlace, type Place } from './place.ts'
import type { DataRecord } from './read-record.ts'
import { explainFailure } from './refused-lines.ts'
import type { Source } from './sources.ts'
import { writeBatch } from './write-batch.ts'

const HASHES_AT_ONCE = 8
/** Of every kind of mistake the first ones say enough. */
const REFUSED_SHOWN_MAX = 200

export interface ImportSettings {
  readonly database: Database
  readonly sources: readonly Source[]
  readonly hashPassword: (password: string) => Promise<string>
  readonly now: () => number
  /** Hears of each batch: how many lines there were, and how much of the source they are. */
  readonly onProgress: (source: Source, lines: number, size: number) => void
}

export interface RefusedLine {
  readonly source: string
  readonly line: number
  readonly problem: string
}

export interface ImportReport {
  /** Records that were brought in, by kind, those included that were so already. */
  readonly written: Readonly<Partial<Record<KindName, number>>>
  readonly refused: readonly RefusedLine[]
  /** How many lines were refused; `refused` has the first of them. */
  readonly refusedCount: number
  /** Lines of batches that were left out whole, because one line of each was refused. */
  readonly leftOut: number
  /** Lines that an earlier run had written. */
  readonly skipped: number
}

/**
 * Brings records into the database, batch by batch. A batch is one transaction: when one of its lines
 * is refused nothing of it is written, and the import goes on with the next. A run that is broken off
 * goes on, when it is started again with the same file, after the last batch before which all is
 * written.
 */
export async function importLines(settings: ImportSettings): Promise<ImportReport> {
  const report = new Tally()
  for (const source of settings.sources) {
    const place = await openPlace(settings.database, source)
    report.skipped += place.line
    for await (const batch of batchesOf(source, place.line, settings.database.engine)) {
      const problems = await write(settings, batch, place)
      place.goesOn &&= problems.length === 0
      report.add(source, batch, problems)
      settings.onProgress(source, batch.lines.length, batch.size)
    }
    if (place.goesOn) await forgetPlace(settings.database, place)
  }
  await refreshStatistics(settings.database, report)
  return report
}

/** So many rows change what a table is like. */
const MANY_ROWS = 10_000

/**
 * Tells PostgreSQL what its tables are like now. Its own autovacuum would, some minutes later, and until
 * then it plans for tables that are nearly empty. SQLite's plans need no statistics here.
 */
async function refreshStatistics({ kysely, engine }: Database, { written }: ImportReport) {
  if (engine === 'sqlite') return
  const types = (Object.keys(written) as KindName[]).filter(
    (type) => (written[type] ?? 0) >= MANY_ROWS,
  )
  const tables = types.flatMap((type) => {
    const { table, inner = [] } = kindOf(type)
    return [table, ...inner.map((list) => list.table)]
  })
  for (const table of tables) await sql`analyze ${sql.table(table)}`.execute(kysely)
}

/** An import as it is counted. */
class Tally implements ImportReport {
  readonly written: Partial<Record<KindName, number>> = {}
  readonly refused: RefusedLine[] = []
  refusedCount = 0
  leftOut = 0
  skipped = 0

  add({ name }: Source, { lines }: Batch, problems: readonly LineProblem[]): void {
    if (problems.length === 0) {
      for (const { record } of lines)
        this.written[record.type] = (this.written[record.type] ?? 0) + 1
      return
    }
    this.refusedCount += problems.length
    this.leftOut += lines.filter(
      ({ number }) => !problems.some((one) => one.number === number),
    ).length
    const shown = problems.slice(0, REFUSED_SHOWN_MAX - this.refused.length)
    this.refused.push(
      ...shown.map(({ number, problem }) => ({ source: name, line: number, problem })),
    )
  }
}

/** @returns what is wrong with lines of the batch; nothing of it was written then */
async function write(settings: ImportSettings, batch: Batch, place: Place) {
  if (batch.problems.length > 0) return batch.problems
  const { database, now } = settings
  const records = batch.lines.map(({ record }) => record)
  const writing = { nowMs: now(), passwordHashes: await hashPasswords(settings, records) }
  const startedMs = performance.now()
  try {
    await database.kysely.transaction().execute(async (trx) => {
      await writeBatch(trx, records, writing)
      await keepPlace(trx, place, { line: batch.last, nowMs: writing.nowMs })
    })
  } catch (cause) {
    return await explainFailure(database, { lines: batch.lines, writing, cause })
  }
  // Whoever waits for SQLite's one writer asks again and again, and would never find it free.
  if (database.engine === 'sqlite') await pause((performance.now() - startedMs) / 4)
  return []
}

async function hashPasswords({ hashPassword }: ImportSettings, records: readonly DataRecord[]) {
  const hashes = new Map<string, string>()
  const withPassword = records.filter(({ values }) => typeof values['password'] === 'string')
  for (let at = 0; at < withPassword.length; at += HASHES_AT_ONCE) {
    const some = withPassword.slice(at, at + HASHES_AT_ONCE)
    await Promise.all(
      some.map(async ({ id, values }) =>
        hashes.set(id, await hashPassword(String(values['password']))),
      ),
    )
  }
  return hashes
}
