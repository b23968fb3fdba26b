import { z } from 'zod'

import type { CountedPage, PageRequest } from '../../platform/store/keyset.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../graphql/page-arguments.ts'
import { type ToolCall, ToolProblem } from './tool.ts'

/** What arguments and answers of tools are made of. Every string and every list has a bound. */

const CURSOR_LENGTH_MAX = 1024
const WORDS_LENGTH_MAX = 200

/** What is said of the two arguments of every list: in few words, because every list says it. */
export const pageArgumentWords: Readonly<Record<string, string>> = {
  first: `How many, 1 to ${PAGE_SIZE_MAX}; ${PAGE_SIZE_DEFAULT} without it.`,
  after: 'pageInfo.endCursor of the page before.',
}

/** The two arguments of every list. */
export const pageArguments = {
  first: z
    .int()
    .min(1)
    .max(PAGE_SIZE_MAX)
    .default(PAGE_SIZE_DEFAULT)
    .describe(pageArgumentWords['first'] ?? ''),
  after: z
    .string()
    .min(1)
    .max(CURSOR_LENGTH_MAX)
    .optional()
    .describe(pageArgumentWords['after'] ?? ''),
}

export function slugArgument(of: string) {
  return z
    .string()
    .max(80)
    .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be a slug like slow-bread')
    .describe(`Slug of ${of}.`)
}

/** Words that have to stand in `where`. */
export function wordsArgument(where: string) {
  return z
    .string()
    .min(1)
    .max(WORDS_LENGTH_MAX)
    .optional()
    .describe(`Only those with these words in ${where}, in any case of letters.`)
}

/** A time in an answer: ISO 8601 in UTC. */
export const timestamp = z.string().meta({ format: 'date-time' })

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

/** What is said of a cursor that did not come from the list. */
export const FOREIGN_CURSOR =
  'after: must be pageInfo.endCursor of a page of the same list; leave it out for the first page'

interface ListQuestion<Row, Node> {
  /** The two arguments of every list, as they were sent. */
  readonly wanted: { readonly first: number; readonly after?: string | undefined }
  /** Nothing when there is no such list. */
  readonly read: (request: PageRequest) => Promise<CountedPage<Row> | undefined>
  /** What the caller is told then. */
  readonly missing?: string
  readonly nodeOf: (row: Row) => Node
}

/**
 * The answer of a list. Its cursors are bound to the list: one of another would skip what it has not
 * shown.
 *
 * @throws ToolProblem when `after` did not come from this list, and when the list is not there
 */
export async function listAnswer<Row, Node>(
  { parts }: ToolCall,
  list: string | readonly string[],
  { wanted: { first, after: cursor }, read, missing, nodeOf }: ListQuestion<Row, Node>,
) {
  const scope = ['tools', ...[list].flat()]
  const after = cursor === undefined ? undefined : parts.cursors.open(cursor, scope)
  if (cursor !== undefined && !after) {
    throw new ToolProblem(FOREIGN_CURSOR)
  }
  const page = await read({ first, after })
  if (!page) throw new ToolProblem(missing)
  const { rows, places, hasNextPage, totalCount } = page
  const last = places.at(-1)
  return {
    nodes: rows.map(nodeOf),
    pageInfo: { hasNextPage, endCursor: last ? parts.cursors.seal(last, scope) : null },
    totalCount,
  }
}

export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString()
}
