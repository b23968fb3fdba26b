import type { Transaction } from 'kysely'
import type { z } from 'zod'

import type { Schema } from '../../platform/store/schema.ts'
import { resolveTime } from './campus-time.ts'

/** The validated fields of a record. */
export type Fields = Readonly<Record<string, unknown>>

type Table = keyof Schema & string

export interface Writing {
  readonly trx: Transaction<Schema>
  readonly nowMs: number
  /** The password hashes by person id. */
  readonly passwordHashes: ReadonlyMap<string, string>
  /** Whether the written records cause events. */
  readonly emitsEvents?: boolean | undefined
  /** Collects the changed records, each as `type id`. */
  readonly changed: Set<string>
}

/** A list inside a record. Its entries are rows of another table. */
export interface InnerList<Values = Fields> {
  readonly field: string
  readonly table: Table
  /** The columns that identify an entry. If entries are strings, the last column contains the string. */
  readonly key: readonly string[]
  /** Whether the table has a column `position`. */
  readonly position?: true
  /** Another field that adds entries to the list. */
  readonly also?: string
  /** Returns the entries. By default, the value of the field contains the entries. */
  entriesOf?(record: Values): readonly unknown[]
}

/** A column whose value is computed. A line changes the stored value only if the line contains one of `fields`. */
interface DerivedColumn<Values> {
  readonly fields: readonly string[]
  make(record: Values, writing: Writing): unknown
}

/** A kind of record. By default, each field is stored in the column that `columnName` returns. */
export interface RecordKind<Shape extends z.ZodObject = z.ZodObject, Values = Fields> {
  readonly table: Table
  readonly schema: Shape
  /** The fields that identify a record; defaults to `id`. */
  readonly key?: readonly string[]
  /** Two time fields. The first must not be later than the second. */
  readonly inOrder?: readonly [first: string, second: string]
  /** The lists of the record, and the column that references the record from their rows. */
  readonly inner?: { readonly parent: string; readonly lists: readonly InnerList<Values>[] }
  /** Fields that have no column. */
  readonly unkept?: readonly string[]
  /** The list fields that are stored as JSON, each in its own column. */
  readonly json?: readonly string[]
  readonly derived?: Readonly<{ [column: string]: DerivedColumn<Values> }>
  /** Whether a line of an import may delete the record. */
  readonly deletable?: true
}

/** Returns the settings unchanged. The compiler checks them and infers the type of the kind. */
export function kind<Shape extends z.ZodObject>(settings: RecordKind<Shape, z.output<Shape>>) {
  return settings
}

/** Returns the problem, as "field: problem", if the two times of `inOrder` are in the wrong order. */
export function findTimeProblem({ inOrder }: RecordKind, record: Fields): string | undefined {
  const [first = '', second = ''] = inOrder ?? []
  const { [first]: from, [second]: to } = record
  if (typeof from !== 'string' || typeof to !== 'string') return undefined
  const nowMs = Date.now()
  if (resolveTime(from, nowMs) <= resolveTime(to, nowMs)) return undefined
  return `${second}: "${to}" is before ${first}, "${from}"`
}

export type Row = Readonly<Record<string, unknown>>

/** Maps field names, at any depth, to the kind of record that the field references. */
const referenced: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['site', 'person', 'course', 'section', 'lecture', 'file', 'event', 'order', 'post']
      .concat('digitalProduct', 'consultingService')
      .map((kind) => [kind, kind]),
  ),
  createdBy: 'person',
  lecturers: 'person',
}

interface Reference {
  /** The top-level field that contains the reference. */
  readonly field: string
  readonly kind: string
  readonly id: string
}

/** Returns the references in a record and its lists, in the fields that `referenced` names. */
export function referencesIn(record: object): Reference[] {
  return Object.entries(record).flatMap(([field, value]) =>
    [value].flat().flatMap((entry) => referencesAt(field, entry)),
  )
}

function referencesAt(field: string, value: unknown): Reference[] {
  const kind = referenced[field]
  if (typeof value === 'string') return kind === undefined ? [] : [{ field, kind, id: value }]
  if (typeof value !== 'object' || value === null) return []
  return referencesIn(value).map((inner) => ({ ...inner, field }))
}

/** Returns the column of a field: `fileName` becomes `file_name`. References, except `createdBy`, end with `_id`. */
export function columnName(field: string): string {
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return field in referenced && field !== 'createdBy' ? `${column}_id` : column
}

/** Converts a record to its row, without the lists (see `innerRows`). */
export function recordRow(kind: RecordKind, record: Fields, writing: Writing): Row {
  const { unkept = [], json = [], derived = {} } = kind
  const kept = Object.entries(record).filter(([field]) => !unkept.includes(field))
  const lists = json.map((field) => [columnName(field), JSON.stringify(record[field])])
  const made = Object.entries(derived).map(([column, { make }]) => [column, make(record, writing)])
  return { ...columns(kept, writing), ...Object.fromEntries([...lists, ...made]) }
}

/** Converts a list of a record to rows. */
export function innerRows(kind: RecordKind, list: InnerList, record: Fields, writing: Writing) {
  const { inner, key = ['id'] } = kind
  const entries = list.entriesOf?.(record) ?? (record[list.field] as readonly unknown[])
  const parent = { [inner?.parent ?? '']: record[key[0] ?? 'id'] }
  return entries.map((entry, index) => ({
    ...parent,
    ...(list.position && { position: index + 1 }),
    ...(typeof entry === 'object' && entry !== null
      ? columns(Object.entries(entry), writing)
      : { [list.key.at(-1) ?? '']: entry }),
  }))
}

/** Converts fields, except lists, to columns. Fields that end with `At` are times, stored in milliseconds. */
function columns(fields: readonly (readonly [string, unknown])[], { nowMs }: Writing): Row {
  const single = fields.filter(([, value]) => !Array.isArray(value))
  return Object.fromEntries(
    single.map(([field, value]) => [
      columnName(field),
      field.endsWith('At') && value !== null ? resolveTime(String(value), nowMs) : value,
    ]),
  )
}

/** Returns the columns whose values depend on the given fields. */
export function columnsGiven({ derived = {} }: RecordKind, given: ReadonlySet<string>, row: Row) {
  const named = new Set([...given].map(columnName))
  return Object.keys(row).filter(
    (column) => derived[column]?.fields.some((field) => given.has(field)) ?? named.has(column),
  )
}

/** Converts a row to the fields of a record, without its lists. */
export function fieldsOf(schema: { readonly shape: object }, row: Row): Record<string, unknown> {
  const known = Object.keys(schema.shape).flatMap((field) => {
    const value = row[columnName(field)]
    if (value === undefined) return []
    const isTime = field.endsWith('At') && value !== null
    return [[field, isTime ? new Date(Number(value)).toISOString() : value]]
  })
  return Object.fromEntries(known)
}
