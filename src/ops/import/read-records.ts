import { z } from 'zod'

import { validate } from './field-schemas.ts'
import type { Line, Source } from './import-sources.ts'
import { isKindName, type KindName, kindNames, kindOf } from './record-kinds.ts'
import { type Fields, findTimeProblem } from './record-rows.ts'

/**
 * The maximum number of lines per transaction, except for the demo. It is small, because a transaction on SQLite blocks
 * all other writers, and PostgreSQL cancels slow statements of an HTTP request (`storage.answerWithinMs`).
 */
export const BATCH_LINES = 250

/** A record that matches its schema. The database checks its references. */
export interface DataRecord {
  readonly type: KindName
  /** The values of the key fields, separated by spaces. Unique among records of the same kind. */
  readonly id: string
  /** All fields, with defaults for missing fields. */
  readonly values: Fields
  /** The fields that the line contains. All other fields of a stored record keep their values. */
  readonly given: ReadonlySet<string>
  readonly deleted: boolean
}

/** The lines of one transaction: valid lines (parents before children) and rejected lines. */
export interface Batch {
  readonly lines: ReadLine[]
  readonly rejected: RejectedLine[]
  /** The number of the last line. */
  readonly last: number
  /** The total size of the lines, in bytes. */
  readonly size: number
}

/** A line whose record matches its schema. */
export interface ReadLine {
  readonly line: Line
  readonly record: DataRecord
}

export interface RejectedLine {
  readonly line: Line
  readonly problem: string
  /** The record's kind if the line was rejected only because it refers to a rejected record. */
  readonly dependent?: KindName
}

/** Reads and validates the lines of a source in batches, starting after line number `after`. */
export async function* batchesOf(source: Source, after: number) {
  let lines: Line[] = []
  let ids = new Set<string>()
  for await (const line of source.lines) {
    if (line.number <= after) continue
    const id = keyOfLine(line)
    // A statement cannot write the same row twice, so start a new batch.
    if (lines.length >= BATCH_LINES || ids.has(id)) {
      yield readBatch(lines)
      lines = []
      ids = new Set()
    }
    lines.push(line)
    ids.add(id)
  }
  if (lines.length > 0) yield readBatch(lines)
}

/** Returns the type and key of the record in a line, or the line number if the type or key is unknown. */
function keyOfLine({ number, value }: Line): string {
  const fields = Object(value) as Fields
  const { type } = fields
  const id = isKindName(type) ? recordId(type, fields).trim() : ''
  return id === '' ? String(number) : `${type} ${id}`
}

/** Validates lines, and sorts the valid lines by kind, parents before children. */
export function readBatch(read: readonly Line[]): Batch {
  const size = read.reduce((sum, line) => sum + line.size, 0)
  const batch: Batch = { lines: [], rejected: [], size, last: read.at(-1)?.number ?? 0 }
  for (const line of read) {
    const record = line.value === undefined ? NO_JSON : readRecord(line.value)
    if (typeof record === 'string') batch.rejected.push({ line, problem: record })
    else batch.lines.push({ line, record })
  }
  batch.lines.sort((a, b) => kindNames.indexOf(a.record.type) - kindNames.indexOf(b.record.type))
  return batch
}

const NO_JSON = 'the line is not valid JSON, or is longer than 1 MiB'

/** Returns the record in a parsed line, or a description of its problems. */
function readRecord(line: unknown): DataRecord | string {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) {
    return 'the record must be a JSON object'
  }
  const { type, deleted, ...fields } = line as Record<string, unknown>
  if (!isKindName(type)) return `type: must be one of ${kindNames.join(', ')}`
  const kind = kindOf(type)
  if (deleted !== undefined && !kind.deletable) {
    return `deleted: must not be set for type ${type}`
  }
  const isDeleted = deleted !== undefined
  const { data: values, problems } = isDeleted
    ? validate<z.ZodObject>(deletion, { deleted, ...fields })
    : validate(kind.schema, fields)
  if (!values) return problems?.join('; ') ?? ''
  const given = new Set(isDeleted ? [] : Object.keys(fields))
  const record = { type, id: recordId(type, values), values, given, deleted: isDeleted }
  return findTimeProblem(kind, values) ?? record
}

const deletion = z.strictObject({ id: z.string().min(1).max(100), deleted: z.literal(true) })

function recordId(type: KindName, fields: Fields): string {
  return (kindOf(type).key ?? ['id']).map((field) => fields[field]).join(' ')
}
