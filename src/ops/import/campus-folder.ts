import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { list } from './field-forms.ts'
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

/** Reads every .json file of a folder as one campus; a list may be spread over several files. */
export async function readCampusFolder(folder: string): Promise<Campus> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  if (files.length === 0) throw new Error(`${folder} holds no .json file of a campus`)
  if (files.length > FILES_MAX) throw new Error(`${folder} holds more than ${FILES_MAX} files`)

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
  if ((await stat(path)).size > FILE_BYTES_MAX) throw new Error(`${path} is too large for a campus`)
  const data = parseJson(await readFile(path, 'utf8'), path)
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data
  throw new Error(`${path} must hold one JSON object with lists like "sites" and "people"`)
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`${path} is not JSON`, { cause })
  }
}

/**
 * Reads a campus, or throws with every problem and its path. Forms come first: only when all of them are
 * right are names followed. Reading a campus that was read before gives the same one.
 */
export function parseCampus(data: unknown): Campus {
  const { success, error, data: read } = form.safeParse(data)
  if (!success) {
    const issues = error.issues.map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`)
    throw withProblems(issues, error)
  }
  const campus = read as unknown as Campus
  const problems = findProblems(campus)
  if (problems.length > 0) throw withProblems(problems)
  return campus
}

function withProblems(problems: readonly string[], cause?: unknown): Error {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  const hidden = problems.length - shown.length
  const rest = hidden > 0 ? [`and ${hidden} more`] : []
  return new Error(`The campus has problems:\n- ${[...shown, ...rest].join('\n- ')}`, { cause })
}

/**
 * What no record of a campus can say alone, as "path: what is wrong": a name leads nowhere, something is
 * there twice, an order belongs to another person, or time runs backward.
 */
function findProblems(campus: Campus): string[] {
  const records = kindNames.flatMap((type) => {
    const { list } = kinds[type]
    return campus[list].map((record: Fields, at) => ({ type, path: `${list}[${at}]`, record }))
  })
  // One set is enough, because each kind of row has a prefix of its own.
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

/** Tells of records that exist and do not belong together; `write-batch.ts` does so in the database. */
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
