import type { LimitName } from '../../platform/limits/limit-table.ts'
import { type Exceeded, type Limits, personKey } from '../../platform/limits/limits.ts'

/** By which limits what a person asks is counted. */
export interface CostLimit {
  readonly limits: Pick<Limits, 'count' | 'exceeded' | 'take'>
  readonly name: LimitName
  /** Where each change leaves something behind: counted whichever client asks for it. */
  readonly changes?: LimitName
}

/** What a document counts that has to be read anew, or is none: it takes as long as so many fields. */
const PREPARING_COST = 500

/** What every operation counts besides its fields: a request takes as long as so many. */
const REQUEST_COST = 100

type Caller = Parameters<typeof personKey>[0]

/** Counts a document that is not kept. */
export function countPreparing(caller: Caller, { limits, name }: CostLimit): void {
  limits.count(name, personKey(caller), PREPARING_COST)
}

/** Counts an operation of a person by a client. */
export function countOperation(caller: Caller, cost: number, { limits, name }: CostLimit): void {
  limits.count(name, personKey(caller), REQUEST_COST + cost)
}

/**
 * Counts changes, unless there were too many. A person at a site is one, because nobody else decides how
 * many clients they have.
 */
export function takeChanges(
  { personId, siteId }: Caller,
  changes: number,
  { limits, changes: limit }: CostLimit,
): Exceeded | undefined {
  if (limit === undefined || changes === 0) return undefined
  return limits.take(limit, personKey({ personId, clientId: '', siteId }), changes)
}
