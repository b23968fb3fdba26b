import { findScope, scopeNames } from '../../directory/scopes/catalogue.ts'
import { needsToChange } from '../../directory/scopes/policy.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { paths } from '../../platform/http/paths.ts'
import { demandScopes, type Verdict } from '../../resource/resource-server/verify-bearer.ts'
import type { Tool, ToolAccess, ToolAddress, ToolAudience } from './tool.ts'

/** The tool endpoints whose paths name no areas. Only the first accepts requests without a token (design 23). */
export const toolAddresses = [
  { path: paths.mcp, resource: 'mcp' },
  { path: paths.mcpMember, audience: 'member', resource: 'mcpMember' },
  { path: paths.mcpAdmin, audience: 'operator', resource: 'mcpAdmin' },
] as const satisfies readonly ToolAddress[]

export function addressFor(audience: ToolAudience): ToolAddress {
  const address = toolAddresses.find((each) => 'audience' in each && each.audience === audience)
  if (!address) throw new Error(`no tool endpoint serves the audience ${audience}`)
  return address
}

/** Whether an endpoint serves a tool, prompt or resource. Each endpoint serves everything that has no audience. */
export function isServedAt({ audience }: ToolAddress, offered: Pick<Tool, 'access'>): boolean {
  const own = audienceOf(offered)
  return !audience || !own || own === audience
}

/** Returns the audience of a tool, prompt or resource that requires scopes; otherwise undefined. */
export function audienceOf({ access }: Pick<Tool, 'access'>): ToolAudience | undefined {
  if (access.kind !== 'scopes') return undefined
  const isMember = access.needed.some((scope) => findScope(scope)?.audience === 'member')
  return isMember ? 'member' : 'operator'
}

export type ScopesFor = (audience: ToolAudience) => readonly string[]

/** Returns the access that a tool call with these arguments requires. */
export function accessTo({ access, accessFor }: Tool, values: unknown): ToolAccess {
  return accessFor?.(values) ?? access
}

/**
 * Returns the scopes that a challenge requests if there is no valid token. For a change, includes the read scopes,
 * because many clients ask for consent only once.
 */
export function scopesNeeded(access: ToolAccess, asked: ScopesFor): readonly string[] {
  switch (access.kind) {
    case 'public':
      return []
    case 'token':
      return access.asked
    case 'scopes':
      return needsToChange(access.needed) ? union(asked('operator'), access.needed) : access.needed
    case 'audience':
      return union(asked(access.audience), access.also ?? [])
  }
}

function union(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())]
}

/** Decides whether a token permits the use of a tool, prompt or resource. */
export function judgeToolAccess(access: ToolAccess, verdict: Verdict, asked: ScopesFor): Verdict {
  if (access.kind === 'scopes') {
    const { needed, operation } = access
    return demandScopes(verdict, needed, { operations: operation === undefined ? [] : [operation] })
  }
  if (access.kind !== 'audience') return verdict
  const { audience, also } = access
  if (!also) return demandScopes(verdict, asked(audience), { sufficient: scopeNames(audience) })
  const judged = demandScopes(verdict, also)
  const isLess = judged.kind === 'insufficient'
  return isLess ? { ...judged, needed: union(asked(audience), also) } : judged
}

/** Whether the client can get operator write scopes, given its origin and review status. True without a token. */
export function canGetChanges(caller: AccessToken | undefined): boolean {
  if (!caller) return true
  const { documentReview, grant } = caller
  return grant.clientOrigin === 'document'
    ? documentReview === 'approved'
    : grant.clientOrigin !== 'site'
}

/** Whether a caller may use a tool, prompt or resource with this condition. */
export function isOpenTo(access: ToolAccess, caller: AccessToken | undefined): boolean {
  return (
    access.kind === 'public' ||
    judgeToolAccess(access, verdictOn(caller), scopeNames).kind === 'granted'
  )
}

/** Like `isOpenTo`, but ignores an unmet two-factor requirement. Used for lists, which are cached by scopes. */
export function isListed(access: ToolAccess, caller: AccessToken | undefined): boolean {
  return isOpenTo(access, caller && { ...caller, unmetDemand: undefined })
}

/** Returns the verdict on the token of an admitted caller. */
export function verdictOn(caller: AccessToken | undefined): Verdict {
  return caller ? { kind: 'granted', token: caller } : { kind: 'anonymous' }
}
