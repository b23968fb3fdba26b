import { z } from 'zod'

import type { Database } from '../../platform/store/database.ts'
import type { Line, Source } from './import-sources.ts'
import { isKindName, type KindName, kindNames, kindOf } from './record-kinds.ts'
import { type Fields, findTimeProblem } from './record-rows.ts'

/** How many lines one transaction writes; few, because on SQLite others wait for it. */
const BATCH_LINES = { sqlite: 250, postgres: 1000 } as const

/** A record in the form of its kind; whether what it names exists, the database says. */
export interface DataRecord {
  readonly type: KindName
  /** What identifies it among the records of its kind. */
  readonly id: string
  /** Every field, with its default where the line has none. */
  readonly values: Fields
  /** The fields that the line has. All others stay as they are. */
  readonly given: ReadonlySet<string>
  readonly deleted: boolean
}

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
    const id = keyOfLine(line)
    // One statement cannot write one row twice.
    if (lines.length >= BATCH_LINES[engine] || ids.has(id)) {
      yield readBatch(lines)
      lines = []
      ids = new Set()
    }
    lines.push(line)
    ids.add(id)
  }
  if (lines.length > 0) yield readBatch(lines)
}

/** What identifies its record, as far as that is known before it is read. */
function keyOfLine({ number, value }: Line): string {
  const fields = Object(value) as Fields
  const { type } = fields
  const id = isKindName(type) ? idOf(type, fields).trim() : ''
  return id === '' ? String(number) : `${type} ${id}`
}

function readBatch(read: readonly Line[]): Batch {
  const batch = { lines: [] as Batch['lines'], problems: [] as LineProblem[] }
  for (const { number, value } of read) {
    const found = value === undefined ? NO_JSON : readRecord(value)
    if (typeof found === 'string') batch.problems.push({ number, problem: found })
    else batch.lines.push({ number, record: found })
  }
  const size = read.reduce((sum, line) => sum + line.size, 0)
  return { ...batch, size, last: read.at(-1)?.number ?? 0 }
}

const NO_JSON = 'is no JSON, or longer than 1 MiB'

/**
 * Reads a line of an import: an object with `type` and the fields of that kind.
 *
 * @returns the record, or what is wrong with it
 */
export function readRecord(line: unknown): DataRecord | string {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) {
    return 'must be one JSON object'
  }
  const { type, deleted, ...fields } = line as Record<string, unknown>
  if (!isKindName(type)) return `type: must be one of ${kindNames.join(', ')}`
  const kind = kindOf(type)
  if (deleted !== undefined && !kind.deletable) {
    return `deleted: a ${type} cannot be deleted by an import`
  }
  const read =
    deleted === undefined ? kind.form.safeParse(fields) : deletion.safeParse({ deleted, ...fields })
  if (!read.success) {
    const { issues } = read.error
    return issues.map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`).join('; ')
  }
  const values: Fields = read.data
  const given = new Set(deleted === undefined ? Object.keys(fields) : [])
  const record = { type, id: idOf(type, values), values, given, deleted: deleted !== undefined }
  return findTimeProblem(kind, values) ?? record
}

const deletion = z.strictObject({ id: z.string().min(1).max(100), deleted: z.literal(true) })

function idOf(type: KindName, fields: Fields): string {
  return (kindOf(type).key ?? ['id']).map((field) => fields[field]).join(' ')
}
