import type { z } from 'zod'

import type { Schema } from '../../platform/store/schema.ts'
import { isAfter, resolveTime } from './campus-time.ts'

/** What a record has, by the names of its fields; a form has checked it. */
export type Fields = Readonly<Record<string, unknown>>

type Table = keyof Schema & string

/** What a row takes besides its record. */
export interface Writing {
  readonly nowMs: number
  /** The password hash of a person's id. */
  readonly passwordHashes: ReadonlyMap<string, string>
}

/** A list within a record, whose entries are rows of their own. */
export interface InnerList<Values = Fields> {
  readonly field: string
  readonly table: Table
  /** The columns that identify an entry. Where entries are plain texts, the last one is the text. */
  readonly key: readonly string[]
  /** Whether rows have a column `position`, and whether no two of a record may have the same. */
  readonly position?: 'unique' | 'shared'
  /** Another field that adds entries. */
  readonly also?: string
  /** The entries, where they are more than the field has. */
  entriesOf?(record: Values): readonly unknown[]
}

/** A column that is made of fields with other names. */
interface DerivedColumn<Values> {
  readonly fields: readonly string[]
  make(record: Values, writing: Writing): unknown
}

/**
 * One kind of record: a line of an import, and the rows that it is in the database. Unless it says
 * otherwise, a field is the column of its name (`columnOf`).
 */
export interface RecordKind<Form extends z.ZodObject = z.ZodObject, Values = Fields> {
  /** The list of a campus that has them, and how long that may be. */
  readonly list: string
  readonly listMax: number
  readonly table: Table
  readonly form: Form
  /** The fields that identify a record, `id` unless it says otherwise. */
  readonly key?: readonly string[]
  /** Columns in which no two records are the same, beside the key. */
  readonly unique?: readonly string[]
  /** Two times of which the first comes first. */
  readonly inOrder?: readonly [first: string, second: string]
  /** Its lists, and the column by which their rows name the record. */
  readonly inner?: { readonly parent: string; readonly lists: readonly InnerList<Values>[] }
  /** Fields that are no column. */
  readonly unkept?: readonly string[]
  readonly derived?: Readonly<{ [column: string]: DerivedColumn<Values> }>
  /** Whether a line may delete it. The parts of people and sites only end otherwise. */
  readonly deletable?: true
}

/** Types what a kind makes of its records. */
export function kind<const List extends string, Form extends z.ZodObject>(
  settings: RecordKind<Form, z.output<Form>> & { readonly list: List },
): RecordKind<Form> & { readonly list: List } {
  return settings
}

/** Two times of a record in the wrong order, as "field: what is wrong". */
export function findTimeProblem({ inOrder }: RecordKind, record: Fields): string | undefined {
  const [first = '', second = ''] = inOrder ?? []
  const { [first]: from, [second]: to } = record
  if (typeof from !== 'string' || typeof to !== 'string' || !isAfter(from, to)) return undefined
  return `${second}: "${to}" is before ${first}, "${from}"`
}

/** A row of the database, by its columns. */
export type Row = Readonly<Record<string, unknown>>

/** The kinds of records that fields of these names hold the id of, wherever they are. */
const referenced: Readonly<Record<string, string>> = {
  site: 'site',
  person: 'person',
  course: 'course',
  section: 'section',
  lecture: 'lecture',
  file: 'file',
  digitalProduct: 'digitalProduct',
  consultingService: 'consultingService',
  event: 'event',
  order: 'order',
  post: 'post',
  createdBy: 'person',
  lecturers: 'person',
}

/** A name in a record: where it is, and of which kind of record it holds the id. */
export interface Reference {
  readonly path: string
  /** The field of the record in which it is. */
  readonly field: string
  readonly kind: string
  readonly id: string
}

/** The references of a record, those in its lists included. */
export function referencesIn(record: object): Reference[] {
  return Object.entries(record).flatMap(([field, value]) =>
    Array.isArray(value)
      ? value.flatMap((entry, at) => referencesAt(`${field}[${at}]`, field, entry))
      : referencesAt(field, field, value),
  )
}

function referencesAt(path: string, field: string, value: unknown): Reference[] {
  const kind = referenced[field]
  if (typeof value === 'string') return kind === undefined ? [] : [{ path, field, kind, id: value }]
  if (typeof value !== 'object' || value === null) return []
  return referencesIn(value).map((name) => ({ ...name, path: `${path}.${name.path}`, field }))
}

/** The column that a field is: `fileName` is `file_name`, and what names another record `…_id`. */
export function columnOf(field: string): string {
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return field in referenced && field !== 'createdBy' ? `${column}_id` : column
}

/** The row that a record is. Its lists are rows of their own (`innerRows`). */
export function recordRow(kind: RecordKind, record: Fields, writing: Writing): Row {
  const { unkept = [], derived = {} } = kind
  const kept = Object.entries(record).filter(([field]) => !unkept.includes(field))
  const made = Object.entries(derived).map(([column, { make }]) => [column, make(record, writing)])
  return { ...columns(kept, writing), ...Object.fromEntries(made) }
}

/** The rows that a list of a record is. */
export function innerRows(kind: RecordKind, list: InnerList, record: Fields, writing: Writing) {
  const { inner, key = ['id'] } = kind
  const entries = list.entriesOf?.(record) ?? (record[list.field] as readonly unknown[])
  const parent = { [inner?.parent ?? '']: record[key[0] ?? 'id'] }
  return entries.map((entry, index): Row => {
    const position = list.position === 'unique' ? index + 1 : index
    return {
      ...parent,
      ...(list.position && { position }),
      ...(typeof entry === 'object' && entry !== null
        ? columns(Object.entries(entry), writing)
        : { [list.key.at(-1) ?? '']: entry }),
    }
  })
}

/** What ends in `At` is a time, which the database keeps in milliseconds. */
function columns(fields: readonly (readonly [string, unknown])[], { nowMs }: Writing): Row {
  const single = fields.filter(([, value]) => !Array.isArray(value))
  return Object.fromEntries(
    single.map(([field, value]) => [
      columnOf(field),
      field.endsWith('At') && value !== null ? resolveTime(String(value), nowMs) : value,
    ]),
  )
}

/** The columns of a record that come from the fields of a line. */
export function columnsGiven(
  { derived = {} }: RecordKind,
  given: ReadonlySet<string>,
  row: Row,
): string[] {
  const named = new Set([...given].map(columnOf))
  return Object.keys(row).filter(
    (column) => derived[column]?.fields.some((field) => given.has(field)) ?? named.has(column),
  )
}

/** The fields that a row is, of those that a form has: the opposite of `recordRow`. */
export function fieldsOf(form: { readonly shape: object }, row: Row): Record<string, unknown> {
  const known = Object.keys(form.shape).flatMap((field) => {
    const value = row[columnOf(field)]
    if (value === undefined) return []
    const isTime = field.endsWith('At') && value !== null
    return [[field, isTime ? new Date(Number(value)).toISOString() : value]]
  })
  return Object.fromEntries(known)
}
