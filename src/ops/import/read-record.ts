import { z } from 'zod'

import { isKindName, type KindName, kindNames, kindOf } from './kinds.ts'
import { rules } from './references.ts'
import { lists } from './shape.ts'
import { isAfter } from './time.ts'

/** A record that is in form; whether what it names is there, the database says. */
export interface DataRecord {
  readonly type: KindName
  /** What identifies it among the records of its kind. */
  readonly id: string
  /** Every field, with its default where the line has none. */
  readonly values: Readonly<Record<string, unknown>>
  /** The fields that the line has. What is not among them stays as it is. */
  readonly given: ReadonlySet<string>
  readonly deleted: boolean
}

/** What a line is: a record, or what is wrong with it. */
export type ReadRecord = { readonly record: DataRecord } | { readonly problem: string }

/** Reads a line of an import: an object with `type` and the fields of that kind. */
export function readRecord(line: unknown): ReadRecord {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) {
    return { problem: 'must be one JSON object' }
  }
  const { type, deleted, ...fields } = line as Record<string, unknown>
  if (!isKindName(type)) return { problem: `type: must be one of ${kindNames.join(', ')}` }
  if (deleted !== undefined) return readDeletion(type, { deleted, ...fields })
  const read = forms[type].safeParse(fields)
  if (!read.success) return { problem: problemsOf(read.error) }
  const values = read.data as Record<string, unknown>
  const [first = '', second = ''] = (rules[kindOf(type).list] as TimeRule).inOrder ?? []
  const [from, to] = [values[first], values[second]]
  if (typeof from === 'string' && typeof to === 'string' && isAfter(from, to)) {
    return { problem: `${second}: "${to}" is before ${first}, "${from}"` }
  }
  const given = new Set(Object.keys(fields))
  return { record: { type, id: idOf(values), values, given, deleted: false } }
}

interface TimeRule {
  readonly inOrder?: readonly [first: string, second: string]
}

/** A list of the campus has its default around the form of its rows. */
const forms = Object.fromEntries(
  kindNames.map((name) => [name, lists[kindOf(name).list].unwrap().element]),
) as unknown as Readonly<Record<KindName, z.ZodType>>

/** The fields that a record of this kind may have. */
export function fieldNames(type: KindName): ReadonlySet<string> {
  const form = forms[type]
  if (!(form instanceof z.ZodObject)) throw new Error(`a ${type} is no object`)
  return new Set(Object.keys(form.shape))
}

const deletion = z.strictObject({ id: z.string().min(1).max(100), deleted: z.literal(true) })

function readDeletion(type: KindName, fields: object): ReadRecord {
  if (kindOf(type).deletable === undefined) {
    return { problem: `deleted: a ${type} cannot be deleted by an import` }
  }
  const read = deletion.safeParse(fields)
  if (!read.success) return { problem: problemsOf(read.error) }
  const { id } = read.data
  return { record: { type, id, values: { id }, given: new Set(), deleted: true } }
}

function problemsOf({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`).join('; ')
}

/** Where somebody stopped in a lecture, and how a site looks, have no id of their own. */
function idOf({ id, clientId, site, person, lecture }: Readonly<Record<string, unknown>>): string {
  return String(id ?? clientId ?? (lecture === undefined ? site : `${person} ${lecture}`))
}
