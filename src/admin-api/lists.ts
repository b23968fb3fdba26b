import { notFound } from '../changes/refused.ts'
import { answerList, type ListSource } from '../graphql/list-answer.ts'
import { isPossibleId, type PageArguments } from '../graphql/page-arguments.ts'
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
  return await answerList({
    list,
    args,
    cursors: parts.cursors,
    scope: ['admin', caller.siteId, JSON.stringify(named)],
  })
}

/** What has this id, or nothing, without asking for an id that nothing can have. */
export async function byId<Row>(
  id: string,
  find: (id: string) => Promise<Row | undefined>,
): Promise<Row | null> {
  return isPossibleId(id) ? ((await find(id)) ?? null) : null
}

/** An id that something may have. @throws ChangeRefused for one that nothing can have */
export function possibleId(id: string, what: string): string {
  if (!isPossibleId(id)) throw notFound(what)
  return id
}

/** An id to filter by; one that nothing can have becomes one that nothing has. */
export function filterId(id: string | null | undefined): string | undefined {
  if (id == null) return undefined
  return isPossibleId(id) ? id : ''
}
