import type { Grant } from './access.ts'
import type { Allowed } from './allowed.ts'
import type { GrantStore } from './grant-store.ts'

/** What a grant allows; nothing when nobody knows any more. */
export type FindAllowed = (grant: Grant) => Promise<Allowed | undefined>

/**
 * Every grant has it in its row, but for those from the version before, which kept it in the OAuth
 * state: their rows take it over at their first use.
 *
 * @param former finds what the version before kept of a grant
 */
export function makeFindAllowed(
  former: (grantId: string) => Promise<object | undefined>,
  { adopt }: Pick<GrantStore, 'adopt'>,
): FindAllowed {
  return async ({ id, allowed, endedBecause }) => {
    if (allowed || endedBecause !== undefined) return allowed
    const kept = await former(id)
    if (!kept) return undefined
    await adopt(id, allowedIn(kept))
    return allowedIn(kept)
  }
}

/** What the engine keeps of a grant, in three members, whatever else stands in its record. */
export function allowedIn(record: object): Allowed {
  const { openid, resources, rejected } = record as Allowed
  return JSON.parse(JSON.stringify({ openid, resources, rejected }))
}
