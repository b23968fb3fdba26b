import type { Context } from 'koa'

import type { Pager } from '../../../views/area.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Page, PageRequest } from '../../platform/store/keyset.ts'

/** Long lists of the pages, a part at a time: `?after=` says where the part begins. */
export interface ListPages {
  /**
   * The part that the address asks for; a cursor that is not of this list is its beginning.
   *
   * @param kept what the address says beside it: a list that was asked for otherwise is another
   */
  requestOf(ctx: Context, kept?: URLSearchParams): PageRequest
  /** The links to the next part and back to the beginning. */
  pagerOf(ctx: Context, page: Page<unknown>, kept?: URLSearchParams): Pager
}

/** How many rows a page of a list has. */
const PAGE_SIZE = 20

export function makeListPages(cursors: Cursors): ListPages {
  // Each list has an address of its own.
  const scopeOf = ({ path }: Context, kept: URLSearchParams) => ['pages', addressOf(path, kept)]
  return {
    requestOf(ctx, kept = nothing) {
      const { after } = ctx.query
      const place = typeof after === 'string' ? cursors.open(after, scopeOf(ctx, kept)) : undefined
      return { first: PAGE_SIZE, after: place }
    },
    pagerOf(ctx, { places, hasNextPage }, kept = nothing) {
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
