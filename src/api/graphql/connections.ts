import { GraphQLError } from 'graphql'

import type { CursorScope, Cursors } from '../../platform/store/cursor.ts'
import type { Page, PageRequest, PlaceInList } from '../../platform/store/keyset.ts'

/** Sizes of a page (design 21); the schemas say the same two numbers. */
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100

export interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
}

/** A list that is read one page at a time, and counted only when `totalCount` is selected. */
export interface ListSource<Row> {
  readonly page: (request: PageRequest) => Promise<Page<Row>>
  readonly count: () => Promise<number>
}

/**
 * The answer of a connection: `nodes`, `edges`, `pageInfo`, `totalCount` (design 21).
 *
 * @param scope what its cursors are bound to: the owner of the list, and which list it is
 * @throws GraphQLError for a page size or a cursor that is not accepted
 */
export async function answerList<Row>(
  list: ListSource<Row>,
  args: PageArguments,
  cursors: Cursors,
  scope: CursorScope,
) {
  const request = pageRequest(args, cursors, scope)
  const { rows, places, hasNextPage } = await list.page(request)
  const sealed = (place: PlaceInList | undefined) => () =>
    place ? cursors.seal(place, scope) : null
  return {
    nodes: rows,
    edges: rows.map((node, index) => ({ cursor: sealed(places[index]), node })),
    pageInfo: {
      hasNextPage,
      hasPreviousPage: request.after !== undefined,
      startCursor: sealed(places[0]),
      endCursor: sealed(places.at(-1)),
    },
    totalCount: list.count,
  }
}

function pageRequest(
  { first, after }: PageArguments,
  cursors: Cursors,
  scope: CursorScope,
): PageRequest {
  const size = first ?? PAGE_SIZE_DEFAULT
  if (size < 1 || size > PAGE_SIZE_MAX) {
    throw badArgument('first', `first must be from 1 to ${PAGE_SIZE_MAX}`)
  }
  if (after == null) return { first: size, after: undefined }
  const place = cursors.open(after, scope)
  if (!place) throw badArgument('after', 'after is not a cursor of this list')
  return { first: size, after: place }
}

/** An argument has a value that its type allows and its meaning does not. */
export function badArgument(argument: string, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_ARGUMENT', argument } })
}

/** The words for the nodes of a connection in the descriptions of a schema. */
export interface ListWords {
  /** As in `a course`. */
  readonly one: string
  readonly many: string
  readonly whose?: 'its' | 'their'
  /** Follows `How many courses the whole list holds`; a full stop without it. */
  readonly counted?: string
}

/** What all connections of a schema have in common. */
interface ListRules {
  /** For whom a cursor is valid, as in `this site`. */
  readonly boundTo: string
  /** Directives of `totalCount`. */
  readonly countDirectives?: string
}

/** The types of connections as text of a schema, by the type of their nodes. */
export function listTypes(
  connections: Readonly<Record<string, ListWords>>,
  { boundTo, countDirectives = '' }: ListRules,
): string {
  const texts = Object.entries(connections).map(
    ([type, { one, many, whose = 'its', counted = '.' }]) => {
      const noun = one.replace(/^an? /, '')
      const capital = one.charAt(0).toUpperCase() + one.slice(1)
      return `
"A page of ${many}."
type ${type}Connection {
  "The ${many} of this page."
  nodes: [${type}!]!

  "The same ${many}, each with its cursor."
  edges: [${type}Edge!]!

  "Where this page stands in the list."
  pageInfo: PageInfo!

  "How many ${many} the whole list holds${counted}"
  totalCount: Int!${countDirectives}
}

"${capital} and ${whose} place in the list."
type ${type}Edge {
  "The place of the ${noun} in the list; valid for ${boundTo} and list only."
  cursor: String!

  "The ${noun}."
  node: ${type}!
}
`
    },
  )
  return pageInfo + texts.join('')
}

const pageInfo = `
"Where a page stands in its list."
type PageInfo {
  "Whether a page follows this one."
  hasNextPage: Boolean!

  "Whether this page was asked for with \`after\`."
  hasPreviousPage: Boolean!

  "The place of the first node of this page; null on an empty page."
  startCursor: String

  "The place of the last node of this page, to be sent as \`after\`; null on an empty page."
  endCursor: String
}
`
