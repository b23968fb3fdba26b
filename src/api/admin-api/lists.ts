import { answerList, type ListSource } from '../graphql/list-answer.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import type { AdminContext } from './context.ts'
import { inTurnOf } from './turns.ts'

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
  const count = async () => await inTurnOf(`counts of ${caller.siteId}`, list.count)
  return await answerList({
    list: { ...list, count },
    args,
    cursors: parts.cursors,
    scope: ['admin', caller.siteId, JSON.stringify(named)],
  })
}
