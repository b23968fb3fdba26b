import type { Context } from 'koa'

import type { Pager } from '../../views/area.ts'
import type { PlaceInList } from '../store/keyset.ts'

/** How many rows a page of a list has. */
const PAGE_SIZE = 20

/** The part of a list that the address asks for; a place that is none is the beginning. */
export function listRequest(ctx: Context): { pageSize: number; after: PlaceInList | undefined } {
  return { pageSize: PAGE_SIZE, after: parsePlace(ctx.query['after']) }
}

/** The links to the next part of the list and back to its beginning. */
export function pagerOf(ctx: Context, next: PlaceInList | undefined): Pager {
  return {
    nextHref: next && `${ctx.path}?after=${placeText(next)}`,
    firstHref: ctx.query['after'] === undefined ? undefined : ctx.path,
  }
}

function placeText(place: PlaceInList): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function parsePlace(text: unknown): PlaceInList | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const place: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    const [at, id] = Array.isArray(place) ? place : []
    return Number.isSafeInteger(at) && typeof id === 'string' ? [at, id] : undefined
  } catch {
    return undefined
  }
}
