import type { Context } from 'koa'

import type { Pager } from '../../views/area.ts'
import type { Cursors } from '../store/cursor.ts'
import type { Page, PageRequest } from '../store/keyset.ts'

/** Long lists of the pages, a part at a time: `?after=` says where the part begins. */
export interface ListPages {
  /** The part that the address asks for; a cursor that is not of this list is its beginning. */
  requestOf(ctx: Context): PageRequest
  /** The links to the next part and back to the beginning. */
  pagerOf(ctx: Context, page: Page<unknown>): Pager
}

/** How many rows a page of a list has. */
const PAGE_SIZE = 20

export function makeListPages(cursors: Cursors): ListPages {
  // Each list has an address of its own.
  const scopeOf = ({ path }: Context) => ['pages', path]
  return {
    requestOf(ctx) {
      const { after } = ctx.query
      const place = typeof after === 'string' ? cursors.open(after, scopeOf(ctx)) : undefined
      return { first: PAGE_SIZE, after: place }
    },
    pagerOf(ctx, { places, hasNextPage }) {
      const last = hasNextPage ? places.at(-1) : undefined
      return {
        nextHref: last && `${ctx.path}?after=${cursors.seal(last, scopeOf(ctx))}`,
        firstHref: ctx.query['after'] === undefined ? undefined : ctx.path,
      }
    },
  }
}
