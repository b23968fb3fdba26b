import type { Context } from 'koa'

import type { Pager } from '../../../views/area.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Page, PageRequest } from '../../platform/store/keyset.ts'

export type ListPages = ReturnType<typeof makeListPages>

const PAGE_SIZE = 20

type Place = Pick<Context, 'path' | 'query'>

/** Creates the functions that paginate the lists on our own pages. The query parameter `after` contains the cursor. */
export function makeListPages(cursors: Cursors) {
  // Bind each cursor to its list, which the path and the filters identify.
  const scopeOf = ({ path }: Place, kept: URLSearchParams) => ['pages', withQuery(path, kept)]
  return {
    /** Returns which page to read: the first, unless the URL has a cursor of this list. `kept` contains the filters. */
    requestOf(ctx: Place, kept = nothing): PageRequest {
      const { after } = ctx.query
      const place = typeof after === 'string' ? cursors.open(after, scopeOf(ctx, kept)) : undefined
      return { first: PAGE_SIZE, after: place }
    },
    /** Returns the URL of the next page, if any, and of the first page, if the current URL has a cursor. */
    pagerOf(ctx: Place, { places, hasNextPage }: Page<unknown>, kept = nothing): Pager {
      const last = hasNextPage ? places.at(-1) : undefined
      const next = new URLSearchParams(kept)
      if (last) next.set('after', cursors.seal(last, scopeOf(ctx, kept)))
      return {
        nextHref: last && withQuery(ctx.path, next),
        firstHref: ctx.query['after'] === undefined ? undefined : withQuery(ctx.path, kept),
      }
    },
  }
}

const FILTER_CHARACTERS_MAX = 300

/** Reads the filter text of a list from the query; empty if the text is invalid or too long. */
export function filterOf({ query }: Context, name: string, max = FILTER_CHARACTERS_MAX): string {
  const value = query[name]
  return typeof value === 'string' && value.length <= max ? value : ''
}

const nothing = new URLSearchParams()

function withQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`
}
