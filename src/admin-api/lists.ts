import { setImmediate } from 'node:timers/promises'

import { answerList, type ListSource } from '../graphql/list-answer.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import type { AdminContext } from './context.ts'

interface SiteList<Row> {
  /** The name of the list, and all that its rows and their order depend on: filters, sort, parent. */
  readonly named: readonly (string | number | boolean | null | undefined)[]
  readonly args: PageArguments
  readonly context: AdminContext
  readonly list: ListSource<Row>
}

/** The answer of a list of the caller's site; its cursors are worth nothing at any other list. */
export async function siteList<Row>({ named, args, context, list }: SiteList<Row>) {
  const { caller, parts } = context
  const count = async () => await inTurn(caller.siteId, list.count)
  return await answerList({
    list: { ...list, count },
    args,
    cursors: parts.cursors,
    scope: ['admin', caller.siteId, JSON.stringify(named)],
  })
}

/** The last count of each site that is under way or waits. */
const lastCounts = new Map<string, Promise<unknown>>()

/**
 * Counts after all others of the site have, with a turn of the event loop between: a list may have a
 * million rows, a document thirty counts of it, and whoever asks something else comes between two.
 */
async function inTurn(siteId: string, count: () => Promise<number>): Promise<number> {
  const counted = countAfter(lastCounts.get(siteId), count)
  const settled = counted.catch(() => {})
  lastCounts.set(siteId, settled)
  try {
    return await counted
  } finally {
    if (lastCounts.get(siteId) === settled) lastCounts.delete(siteId)
  }
}

async function countAfter(before: Promise<unknown> | undefined, count: () => Promise<number>) {
  if (before !== undefined) {
    await before
    await setImmediate()
  }
  return await count()
}
