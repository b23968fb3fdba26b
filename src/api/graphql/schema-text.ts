/** The default and maximum page size (design 21). */
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100

/**
 * Completes the text of a schema. Adds the connection types, `PageInfo` and repeated fields. Adds `after` and
 * descriptions to each `first: Int = 20`.
 *
 * @param connections maps each node type to an addition to the description of `totalCount`, or an empty string
 * @param rules `boundTo` describes where a cursor is valid, such as `this site`
 */
export function expandPages(
  text: string,
  connections: Readonly<Record<string, string>>,
  { boundTo, countDirectives = '' }: { boundTo: string; countDirectives?: string },
): string {
  const types = Object.entries(connections).map(([type, counted]) => {
    const noun = nounOf(type)
    const many = `${noun}s`
    return `
"A page of ${many}."
type ${type}Connection {
  "The ${many} of this page."
  nodes: [${type}!]!

  "The ${many} of this page with their cursors."
  edges: [${type}Edge!]!

  "The position of this page in the list."
  pageInfo: PageInfo!

  "The number of ${many} in the whole list${counted}."
  totalCount: Int!${countDirectives}
}

"One ${noun} with its cursor."
type ${type}Edge {
  "The position of the ${noun} in the list; valid for ${boundTo} and list only."
  cursor: String!

  "The ${noun}."
  node: ${type}!
}
`
  })
  const paged = text.replaceAll(`first: Int = ${PAGE_SIZE_DEFAULT}`, pageArguments)
  return repeatFields(paged) + pageInfo + types.join('')
}

/** Replaces `# ...Name` with the fields of the type `Name`. Removes the types named `…Fields`. */
function repeatFields(text: string): string {
  const types = text.matchAll(/^type (\w+) \{\n([^}]*)\n\}$/gm)
  const fields = new Map([...types].map(([, name, lines]) => [name, lines]))
  return text
    .replace(/^type \w+Fields [^}]*\}\n/gm, '')
    .replace(/^ +# \.{3}(\w+)$/gm, (_, name) => {
      const lines = fields.get(name)
      if (lines === undefined) throw new Error(`the schema has no type ${name}`)
      return lines
    })
}

/** Returns the noun for a type: `digital product` for `DigitalProduct`. */
export function nounOf(type: string): string {
  return type.replace(/(?<=.)[A-Z]/g, ' $&').toLowerCase()
}

const pageArguments = `
    "The page size, from 1 to ${PAGE_SIZE_MAX}."
    first: Int = ${PAGE_SIZE_DEFAULT}
    "The cursor that the page starts after. Omit it for the first page."
    after: String
`.trim()

const pageInfo = `
"The position of a page in its list."
type PageInfo {
  "Whether there is a next page."
  hasNextPage: Boolean!

  "Whether the request had an \`after\` argument."
  hasPreviousPage: Boolean!

  "The cursor of the first node of this page; null for an empty page."
  startCursor: String

  "The cursor of the last node of this page, for \`after\`; null for an empty page."
  endCursor: String
}
`
