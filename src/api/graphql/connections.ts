import { GraphQLError } from 'graphql'

import type { CursorScope, Cursors } from '../../platform/store/cursor.ts'
import type { PagedRows, PlaceInList } from '../../platform/store/keyset.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './schema-text.ts'

export interface PageArguments {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
}

/**
 * Resolves a connection: `nodes`, `edges`, `pageInfo`, `totalCount` (design 21).
 *
 * @param scope the values to which the cursors are bound, such as the list and the person
 * @throws GraphQLError for an invalid page size or cursor
 */
export async function answerList<Row>(
  list: PagedRows<Row>,
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

function pageRequest({ first, after }: PageArguments, cursors: Cursors, scope: CursorScope) {
  const size = first ?? PAGE_SIZE_DEFAULT
  if (size < 1 || size > PAGE_SIZE_MAX) {
    throw badArgument('first', `"first" must be from 1 to ${PAGE_SIZE_MAX}`)
  }
  const place = after == null ? undefined : cursors.open(after, scope)
  if (after != null && !place) throw badArgument('after', FOREIGN_CURSOR)
  return { first: size, after: place }
}

const FOREIGN_CURSOR = '"after" is not a cursor of this list; send a cursor from one of its pages'

/** Creates the error for an argument value that the schema allows but the resolver rejects. */
export function badArgument(argument: string, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_ARGUMENT', argument } })
}
