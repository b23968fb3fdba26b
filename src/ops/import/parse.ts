import { z } from 'zod'

import { referenceProblems } from './references.ts'
import { type Campus, campus } from './shape.ts'

const PROBLEMS_SHOWN_MAX = 200

/**
 * Reads a campus, or throws with every problem and its path. Forms come first: only when all of
 * them are right can names be followed, and then every broken one is listed. Reading a campus that
 * was read before gives the same one.
 */
export function parseCampus(data: unknown): Campus {
  const result = campus.safeParse(data)
  if (!result.success) {
    throw campusProblems(
      result.error.issues.map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`),
      result.error,
    )
  }
  const problems = referenceProblems(result.data)
  if (problems.length > 0) throw campusProblems(problems)
  return result.data
}

function campusProblems(problems: readonly string[], cause?: unknown): Error {
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX)
  const hidden = problems.length - shown.length
  const rest = hidden > 0 ? [`and ${hidden} more`] : []
  return new Error(`The campus has problems:\n- ${[...shown, ...rest].join('\n- ')}`, { cause })
}
