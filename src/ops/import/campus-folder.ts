import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { campusProblems } from './campus-problems.ts'
import { list } from './field-forms.ts'
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
  const problems = campusProblems(campus)
  if (problems.length > 0) throw withProblems(problems)
  return campus
}

function withProblems(problems: readonly string[], cause?: unknown): Error {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  const hidden = problems.length - shown.length
  const rest = hidden > 0 ? [`and ${hidden} more`] : []
  return new Error(`The campus has problems:\n- ${[...shown, ...rest].join('\n- ')}`, { cause })
}
