import type { Context } from 'koa'

import type { Pager } from '../../../views/area.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Page, PageRequest } from '../../platform/store/keyset.ts'

export type ListPages = ReturnType<typeof makeListPages>

const PAGE_SIZE = 20

/** Creates the functions that paginate the lists on our own pages, with a cursor in `?after=`. */
export function makeListPages(cursors: Cursors) {
  // The URL identifies the list.
  const scopeOf = ({ path }: Context, kept: URLSearchParams) => ['pages', addressOf(path, kept)]
  return {
    /**
     * Reads the requested page. Ignores a cursor from another list.
     *
     * @param kept the other query parameters, which also identify the list
     */
    requestOf(ctx: Context, kept = nothing): PageRequest {
      const { after } = ctx.query
      const place = typeof after === 'string' ? cursors.open(after, scopeOf(ctx, kept)) : undefined
      return { first: PAGE_SIZE, after: place }
    },
    /** Returns the links to the next page and to the first one. */
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
