import { isAfter } from './campus-time.ts'
import type { Fields, RecordKind } from './record-kind.ts'
import { type Campus, kindNames, kindOf, kinds } from './record-kinds.ts'
import { columnOf, innerRows, type Row, recordRow, referencesIn } from './record-rows.ts'

/**
 * What no record of a campus can say alone, as "path: what is wrong": a name leads nowhere, something is
 * there twice, an order belongs to another person, or time runs backward.
 */
export function campusProblems(campus: Campus): string[] {
  const records = kindNames.flatMap((type) => {
    const { list } = kinds[type]
    return campus[list].map((record: Fields, at) => ({ type, path: `${list}[${at}]`, record }))
  })
  // One set is enough, because each kind of row has a prefix of its own.
  const ids = new Set(records.flatMap(({ record }) => [...idsIn(record)]))
  const [repeats, contradictions] = [watchRepeats(), watchContradictions(campus)]
  return records.flatMap(({ type, path, record }) => {
    const kind = kindOf(type)
    const unknown = referencesIn(record).filter(({ id }) => !ids.has(id))
    const timeProblem = findTimeProblem(kind, record)
    const problems = [
      ...unknown.map((name) => `.${name.path}: no ${name.kind} has the id ${name.id}`),
      ...repeats(kind, record),
      ...(timeProblem === undefined ? [] : [`.${timeProblem}`]),
      ...contradictions(record),
    ]
    return problems.map((problem) => path + problem)
  })
}

function* idsIn(record: Fields): Generator<unknown> {
  yield record['id']
  for (const entry of Object.values(record).flat()) {
    if (typeof entry === 'object' && entry !== null && 'id' in entry) yield entry.id
  }
}

/** Two times of a record in the wrong order, as "field: what is wrong". */
export function findTimeProblem({ inOrder }: RecordKind, record: Fields): string | undefined {
  const [first = '', second = ''] = inOrder ?? []
  const { [first]: from, [second]: to } = record
  if (typeof from !== 'string' || typeof to !== 'string' || !isAfter(from, to)) return undefined
  return `${second}: "${to}" is before ${first}, "${from}"`
}

/** Tells of every record whose key or unique columns one before it has, and of such entries of its lists. */
function watchRepeats() {
  const tables = new Map<string, string>()
  const repeat = (table: string, row: Row, columns: readonly string[], shownFrom = 0) => {
    const values = columns.map((column) => row[column])
    // Purchases of every kind have one prefix, and an id alone says of which kind its purchase is.
    const space = String(values[0]).startsWith('pur_') ? 'purchase' : table
    const key = JSON.stringify([space, columns, values])
    const before = tables.get(key)
    tables.set(key, table)
    if (before === undefined) return undefined
    const shown = values.slice(shownFrom).join(' ')
    if (before === table) return `: ${shown} is there twice`
    return `.id: ${shown} is there as a purchase of another kind`
  }
  // Rows differ here by what neither the time nor a hash decides.
  const writing = { nowMs: 0, passwordHashes: new Map<string, string>() }
  return (kind: RecordKind, record: Fields): string[] => {
    const { table, key = ['id'], unique, inner } = kind
    const row = recordRow(kind, record, writing)
    const own = [key.map(columnOf), ...(unique ? [unique] : [])]
    const found = own.map((columns) => repeat(table, row, columns))
    for (const list of inner?.lists ?? []) {
      const rows = innerRows(kind, list, record, writing)
      const places = rows.map((entry, at) => {
        const again = repeat(list.table, entry, list.key, Number(list.key[0] === inner?.parent))
        return again && `.${list.field}[${at}]${again}`
      })
      found.push(...places)
    }
    return found.filter((problem) => problem !== undefined)
  }
}

/** Tells of records that exist and do not belong together; `contradictions.ts` does so in the database. */
function watchContradictions(campus: Campus) {
  const orders = new Map<unknown, Campus['orders'][number]>(campus.orders.map((o) => [o.id, o]))
  const { courses, digitalProducts, consultingServices, events } = campus
  const offers = [...courses, ...digitalProducts, ...consultingServices, ...events]
  const siteOf = new Map<unknown, string>(offers.map(({ id, site }) => [id, site]))
  const lectures = courses.flatMap((course) => course.lectures)
  const ends = new Map<unknown, number>(lectures.map((one) => [one.id, one.durationSeconds]))
  return function* (record: Fields): Generator<string> {
    const { person, lecture, positionSeconds } = record
    const order = orders.get(record['order'])
    const bought = ['course', 'digitalProduct', 'consultingService', 'event']
    const site = siteOf.get(bought.map((field) => record[field]).find((id) => id !== undefined))
    // A purchase that named another person's order would show one member's record to the other.
    if (order && site !== undefined && (order.person !== person || order.site !== site)) {
      yield `.order: ${order.id} is another person's order, or of another site`
    }
    const end = ends.get(lecture)
    if (end !== undefined && Number(positionSeconds) > end) {
      yield `.positionSeconds: ${lecture} ends after ${end} seconds`
    }
  }
}
