import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { parseJson } from '../../platform/http/strict-json.ts'
import { list, validate } from './field-schemas.ts'
import { type Campus, kindNames, kindOf, listOf } from './record-kinds.ts'

const FILES_MAX = 100
const FILE_BYTES_MAX = 64 * 1024 * 1024
const LIST_MAX = 500_000
const PROBLEMS_SHOWN_MAX = 200

const schema = z.strictObject(
  Object.fromEntries(kindNames.map((name) => [listOf(name), list(kindOf(name).schema, LIST_MAX)])),
)

/** Reads and validates all .json files of a folder as one campus. Several files may contain parts of one list. */
export async function readCampusFolder(folder: string): Promise<Campus> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  if (files.length === 0) throw new Error(`${folder} does not contain .ndjson or .json files`)
  if (files.length > FILES_MAX)
    throw new Error(`${folder} contains more than ${FILES_MAX} .json files. Merge some of them.`)

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

/** Validates a campus and adds defaults; throws an error that lists the problems. The database checks references. */
export function parseCampus(data: unknown): Campus {
  const { data: campus, problems } = validate(schema, data)
  if (problems) throw campusError(problems)
  return campus as unknown as Campus
}

export function campusError(problems: readonly string[]): Error {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  const hidden = problems.length - shown.length
  const rest = hidden > 0 ? [`and ${hidden} more`] : []
  return new Error(`The campus is invalid:\n- ${[...shown, ...rest].join('\n- ')}`)
}
