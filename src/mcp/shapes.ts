import { z } from 'zod'

import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../graphql/page-arguments.ts'
import type { Page, PageRequest } from '../store/keyset.ts'
import { type ListName, readCursor, writeCursor } from './cursor.ts'

/** What arguments and answers of tools are made of. Every string and every list has a bound. */

const CURSOR_LENGTH_MAX = 1024

/** The two arguments of every list. */
export const pageArguments = {
  first: z
    .int()
    .min(1)
    .max(PAGE_SIZE_MAX)
    .default(PAGE_SIZE_DEFAULT)
    .describe('How many to return.'),
  after: z
    .string()
    .min(1)
    .max(CURSOR_LENGTH_MAX)
    .optional()
    .describe('pageInfo.endCursor of the page before; leave it out for the first page.'),
}

export function slugArgument(of: string) {
  return z
    .string()
    .max(80)
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a slug like slow-bread')
    .describe(`Slug of ${of}.`)
}

export function idArgument(of: string) {
  return z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,80}$/, 'must be an id as a list returned it')
    .describe(`Id of ${of}.`)
}

/** A moment in an answer: ISO 8601 in UTC. */
export const moment = z.string().meta({ format: 'date-time' })

/** A number of things. */
export const count = z.int().min(0)

/** The answer of a list, in the form that the Member API's connections have. */
export function pageOf<Node extends z.ZodType>(node: Node) {
  return z.strictObject({
    nodes: z.array(node).max(PAGE_SIZE_MAX),
    pageInfo: z.strictObject({
      hasNextPage: z.boolean(),
      endCursor: z
        .string()
        .nullable()
        .describe('Pass it as `after` for the next page; null on an empty page.'),
    }),
    totalCount: count.describe('How many there are on all pages.'),
  })
}

/**
 * The page that the arguments of a list ask for.
 *
 * @throws ToolProblem when `after` did not come from this list
 */
export function pageRequest(
  list: ListName,
  { first, after }: { first: number; after?: string | undefined },
): PageRequest {
  return { first, after: after === undefined ? undefined : readCursor(list, after) }
}

/** The answer of a list. */
export function pageAnswer<Row, Node>(
  list: ListName,
  { rows, last, hasNextPage, totalCount }: Page<Row>,
  nodeOf: (row: Row) => Node,
) {
  return {
    nodes: rows.map(nodeOf),
    pageInfo: { hasNextPage, endCursor: last ? writeCursor(list, last) : null },
    totalCount,
  }
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString()
}

export function isoTimeOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : isoTime(epochMs)
}
