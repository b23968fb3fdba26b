const DEPTH_MAX = 8

/**
 * Parses a JSON object, or describes the problem. Parsers disagree about duplicate names, so each name must be unique
 * in its object. Also rejects members named `__proto__`, and more than 8 levels of nesting.
 */
export function parseStrictObject(
  text: string,
): { readonly value: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'it is not valid JSON' }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problem: 'it is not a JSON object' }
  }
  const problem = findAmbiguity(text)
  return problem === undefined ? { value: value as Record<string, unknown> } : { problem }
}

/** Parses JSON. Returns undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g

/** Finds duplicate names, `__proto__` and excessive depth in valid JSON. A string before a colon is a member name. */
function findAmbiguity(text: string): string | undefined {
  const open: Set<string>[] = []
  let lastString = '""'
  for (const [token] of text.matchAll(tokens)) {
    if (token.startsWith('"')) lastString = token
    else if (token === '{' || token === '[') open.push(new Set())
    else if (token !== ':') open.pop()
    if (open.length > DEPTH_MAX) return `it is nested deeper than ${DEPTH_MAX} levels`
    const problem = token === ':' ? addMember(open.at(-1), lastString) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

function addMember(members: Set<string> | undefined, quoted: string): string | undefined {
  const name = String(JSON.parse(quoted))
  if (name === '__proto__') return 'it has a member named __proto__'
  if (members?.has(name)) return 'it has two members with the same name'
  members?.add(name)
  return undefined
}
