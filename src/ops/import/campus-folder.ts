import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { list, parseJson, readForm } from './field-forms.ts'
import { type Campus, kindNames, kindOf, kinds } from './record-kinds.ts'
import {
  columnOf,
  type Fields,
  findTimeProblem,
  innerRows,
  type RecordKind,
  type Row,
  recordRow,
  referencesIn,
} from './record-rows.ts'

const FILES_MAX = 100
const FILE_BYTES_MAX = 64 * 1024 * 1024
const PROBLEMS_SHOWN_MAX = 200

const form = z.strictObject(
  Object.fromEntries(
    kindNames.map((name) => {
      const kind = kindOf(name)
      return [kind.list, list(kind.form, kind.listMax)]
    }),
  ),
)

/** Reads all .json files of a folder as one campus. A list may be split between files. */
export async function readCampusFolder(folder: string): Promise<Campus> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  if (files.length === 0) throw new Error(`${folder} does not contain a .json file`)
  if (files.length > FILES_MAX)
    throw new Error(`${folder} contains more than ${FILES_MAX} .json files`)

  const merged = new Map<string, unknown>()
  for (const file of files) {
    for (const [key, value] of Object.entries(await readCampusFile(join(folder, file)))) {
      const before = merged.get(key)
      merged.set(key, Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value)
    }
  }
  return parseCampus(Object.fromEntries(merged))
}

async function readCampusFile(path: string): Promise<object> {
  if ((await stat(path)).size > FILE_BYTES_MAX) {
    throw new Error(`${path} is larger than 64 MiB. Split its lists into several .json files.`)
  }
  const data = parseJson(await readFile(path, 'utf8'))
  if (data === undefined) throw new Error(`${path} is not valid JSON`)
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data
  throw new Error(`${path} must contain one JSON object with lists such as "sites" and "people"`)
}

/**
 * Validates a campus. References are checked only if all records have a valid form. The result can be validated again
 * and stays the same.
 *
 * @throws an error that lists every problem with its path
 */
export function parseCampus(data: unknown): Campus {
  const read = readForm(form, data)
  if (read.problems) throw withProblems(read.problems)
  const campus = read.data as unknown as Campus
  const problems = findProblems(campus)
  if (problems.length > 0) throw withProblems(problems)
  return campus
}

function withProblems(problems: readonly string[]): Error {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  const hidden = problems.length - shown.length
  const rest = hidden > 0 ? [`and ${hidden} more`] : []
  return new Error(`The campus has problems:\n- ${[...shown, ...rest].join('\n- ')}`)
}

/**
 * Finds contradictions between records, as "path: problem": unknown references, duplicates, orders of another person,
 * and times in the wrong order.
 */
function findProblems(campus: Campus): string[] {
  const records = kindNames.flatMap((type) => {
    const { list } = kinds[type]
    return campus[list].map((record: Fields, at) => ({ type, path: `${list}[${at}]`, record }))
  })
  // One set is enough, because ids of different kinds have different prefixes.
  const rows = records.flatMap(({ record }) => [record, ...Object.values(record).flat()])
  const ids = new Set(rows.map((row) => Object(row).id))
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

/** Makes a check for records, and list entries, whose key or unique columns are already used. */
function watchRepeats() {
  const tables = new Map<string, string>()
  const repeat = (table: string, row: Row, columns: readonly string[], shownFrom = 0) => {
    const values = columns.map((column) => row[column])
    // All kinds of purchases share one prefix, so ids must differ between kinds.
    const space = String(values[0]).startsWith('pur_') ? 'purchase' : table
    const key = JSON.stringify([space, columns, values])
    const before = tables.get(key)
    tables.set(key, table)
    if (before === undefined) return undefined
    const shown = values.slice(shownFrom).join(' ')
    if (before === table) return `: ${shown} occurs twice`
    return `.id: ${shown} is already the id of a purchase of another kind`
  }
  // The check needs neither the time nor password hashes.
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

/** Makes a check for records that contradict each other. `write-batch.ts` checks the same in the database. */
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
    // Otherwise, the purchase would show one member's order to another.
    if (order && site !== undefined && (order.person !== person || order.site !== site)) {
      yield `.order: ${order.id} belongs to another person or site`
    }
    const end = ends.get(lecture)
    if (end !== undefined && Number(positionSeconds) > end) {
      yield `.positionSeconds: ${lecture} ends after ${end} seconds`
    }
  }
}
