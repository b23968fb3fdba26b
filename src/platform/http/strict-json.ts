/**
 * JSON of strangers. `JSON.parse` takes the last of two members with one name and any depth, so that
 * two readers of the same text could come to two conclusions; here such a text is refused.
 */
export type StrictJson =
  | { readonly value: Readonly<Record<string, unknown>> }
  | { readonly problem: string }

const DEPTH_MAX = 8

/** Reads a text as a JSON object, or says what is wrong with it. */
export function parseStrictObject(text: string): StrictJson {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'it is not JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'it is not a JSON object' }
  }
  const problem = findProblem(text)
  return problem === undefined ? { value: value as Record<string, unknown> } : { problem }
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g

/** Walks over the tokens of a text that is known to be JSON. */
function findProblem(text: string): string | undefined {
  const open: Set<string>[] = []
  let lastString = '""'
  for (const [token] of text.matchAll(tokens)) {
    if (token.startsWith('"')) {
      lastString = token
      continue
    }
    const problem = step(token, open, lastString)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Follows one mark; a colon ends the name of a member of the object that is open. */
function step(mark: string, open: Set<string>[], lastString: string): string | undefined {
  switch (mark) {
    case '{':
    case '[':
      open.push(new Set())
      return open.length > DEPTH_MAX ? `it is nested deeper than ${DEPTH_MAX} levels` : undefined
    case ':':
      return addMember(open.at(-1), String(JSON.parse(lastString)))
    default:
      open.pop()
      return undefined
  }
}

function addMember(members: Set<string> | undefined, name: string): string | undefined {
  if (name === '__proto__') return 'it has a member __proto__'
  if (members?.has(name)) return 'it has two members of the same name'
  members?.add(name)
  return undefined
}
