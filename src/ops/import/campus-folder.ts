import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { list, parseJson, readForm } from './field-forms.ts'
import { type Campus, kindNames, kindOf } from './record-kinds.ts'

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

/** Reads all .json files of a folder as one campus. A list may be split across several files. */
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
 * Validates a campus against the schema. The database checks references. Validating the result again does not change
 * it.
 *
 * @throws an error that lists every problem with its path
 */
export function parseCampus(data: unknown): Campus {
  const { data: campus, problems } = readForm(form, data)
  if (problems) throw campusProblems(problems)
  return campus as unknown as Campus
}

/** Lists the problems of a campus. */
export function campusProblems(problems: readonly string[]): Error {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  const hidden = problems.length - shown.length
  const rest = hidden > 0 ? [`and ${hidden} more`] : []
  return new Error(`The campus has problems:\n- ${[...shown, ...rest].join('\n- ')}`)
}
