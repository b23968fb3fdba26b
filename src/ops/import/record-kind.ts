import type { z } from 'zod'

import type { Schema } from '../../platform/store/schema.ts'

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
 * otherwise, a field is the column of its name (`record-rows.ts: columnOf`).
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
