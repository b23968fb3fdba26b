import { z } from 'zod'

import type { PlaceInList } from '../store/keyset.ts'
import { ToolProblem } from './tool.ts'

/**
 * Cursors of the tools over a site's own lists. A cursor names its list and a place in it, and no
 * site: which site is asked comes from the token or from another argument, so that somebody else's
 * cursor moves within one's own rows and shows nothing else.
 */
export type ListName = keyof typeof sortedBy

// PostgreSQL stores no NUL in a text, and fails on one in a question.
const text = z.string().refine((value) => !value.includes('\0'))

/** What each list is sorted by; a place of the wrong type would be an error of the database. */
const sortedBy = {
  public_courses: text,
  courses: text,
  lectures: z.int(),
  digital_products: text,
  events: z.int(),
  members: text,
  students: text,
  lecturers: text,
  orders: z.int(),
} as const

export function writeCursor(list: ListName, place: PlaceInList): string {
  return Buffer.from(JSON.stringify([list, ...place])).toString('base64url')
}

/** @throws ToolProblem when this list wrote no such cursor */
export function readCursor(list: ListName, cursor: string): PlaceInList {
  const parsed = placeIn(list).safeParse(jsonOf(cursor))
  if (!parsed.success) {
    throw new ToolProblem(
      'after: must be pageInfo.endCursor of a page of the same list; leave it out for the first page',
    )
  }
  const [, by, id] = parsed.data
  return [by, id]
}

function placeIn(list: ListName) {
  const place: z.ZodType<string | number> = sortedBy[list]
  return z.tuple([z.literal(list), place, text])
}

function jsonOf(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
