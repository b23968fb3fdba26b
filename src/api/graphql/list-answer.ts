import type { CursorScope, Cursors } from '../../platform/store/cursor.ts'
import type { Page, PageRequest, PlaceInList } from '../../platform/store/keyset.ts'
import { type PageArguments, pageRequest } from './page-arguments.ts'

/** A list of which one page is asked for, and its length only when somebody wants it. */
export interface ListSource<Row> {
  readonly page: (request: PageRequest) => Promise<Page<Row>>
  readonly count: () => Promise<number>
}

export interface ListQuestion<Row> {
  readonly list: ListSource<Row>
  readonly args: PageArguments
  readonly cursors: Cursors
  /** What its cursors are bound to: whose list it is, and which. */
  readonly scope: CursorScope
}

/** The answer of a connection: `nodes`, `edges`, `pageInfo`, `totalCount` (design 21). */
export async function answerList<Row>({ list, args, cursors, scope }: ListQuestion<Row>) {
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
