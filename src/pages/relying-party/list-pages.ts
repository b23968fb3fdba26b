import type { Context } from 'koa'

import type { Pager } from '../../../views/area.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Page, PageRequest } from '../../platform/store/keyset.ts'

export type ListPages = ReturnType<typeof makeListPages>

/** How many rows a page of a list has. */
const PAGE_SIZE = 20

/** Long lists of the pages, a part at a time: `?after=` says where the part begins. */
export function makeListPages(cursors: Cursors) {
  // Each list has an address of its own.
  const scopeOf = ({ path }: Context, kept: URLSearchParams) => ['pages', addressOf(path, kept)]
  return {
    /**
     * The part that the address asks for. A cursor of another list counts as none.
     *
     * @param kept the rest of the query: with another one it is another list
     */
    requestOf(ctx: Context, kept = nothing): PageRequest {
      const { after } = ctx.query
      const place = typeof after === 'string' ? cursors.open(after, scopeOf(ctx, kept)) : undefined
      return { first: PAGE_SIZE, after: place }
    },
    /** The links to the next part and back to the beginning. */
    pagerOf(ctx: Context, { places, hasNextPage }: Page<unknown>, kept = nothing): Pager {
      const last = hasNextPage ? places.at(-1) : undefined
      const next = new URLSearchParams(kept)
      if (last) next.set('after', cursors.seal(last, scopeOf(ctx, kept)))
      return {
        nextHref: last && addressOf(ctx.path, next),
        firstHref: ctx.query['after'] === undefined ? undefined : addressOf(ctx.path, kept),
      }
    },
  }
}

const nothing = new URLSearchParams()

function addressOf(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`
}
