import type { Database } from '../../platform/store/database.ts'
import { type DataRecord, readRecord } from './read-record.ts'
import type { Line, Source } from './sources.ts'

/** As many lines as one transaction writes; few, because on SQLite others wait for it. */
const BATCH_LINES = { sqlite: 250, postgres: 1000 } as const

/** Lines that are written together or not at all. */
export interface Batch {
  readonly lines: { readonly number: number; readonly record: DataRecord }[]
  readonly problems: LineProblem[]
  readonly last: number
  /** How much of the source they are. */
  readonly size: number
}

export interface LineProblem {
  readonly number: number
  readonly problem: string
}

/** The lines of a source after a line, in batches. */
export async function* batchesOf(
  source: Source,
  after: number,
  engine: Database['engine'],
): AsyncGenerator<Batch> {
  let lines: Line[] = []
  let ids = new Set<string>()
  for await (const line of source.lines()) {
    if (line.number <= after) continue
    const id = keyOf(line)
    // One statement cannot write one row twice.
    if (lines.length >= BATCH_LINES[engine] || ids.has(id)) {
      yield batchOf(lines)
      lines = []
      ids = new Set()
    }
    lines.push(line)
    ids.add(id)
  }
  if (lines.length > 0) yield batchOf(lines)
}

/** What identifies its record, as far as that is known before it is read. */
function keyOf({ number, value }: Line): string {
  const { type, id, clientId, site, person, lecture } = Object(value) as Record<string, unknown>
  return [type, id ?? clientId ?? lecture ?? site ?? number, person].join(' ')
}

function batchOf(read: readonly Line[]): Batch {
  const batch = { lines: [] as Batch['lines'], problems: [] as LineProblem[] }
  for (const { number, value } of read) {
    const found = value === undefined ? NO_JSON : readRecord(value)
    if ('record' in found) batch.lines.push({ number, record: found.record })
    else batch.problems.push({ number, problem: found.problem })
  }
  const size = read.reduce((sum, line) => sum + line.size, 0)
  return { ...batch, size, last: read.at(-1)?.number ?? 0 }
}

const NO_JSON = { problem: 'is no JSON, or longer than 1 MiB' }
