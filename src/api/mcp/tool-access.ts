import { findScope, scopeNames } from '../../directory/scopes/catalogue.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { paths } from '../../platform/http/paths.ts'
import {
  demandOneScope,
  demandScopes,
  type Verdict,
} from '../../resource/resource-server/verify-bearer.ts'
import type { Tool, ToolAccess, ToolAddress, ToolAudience } from './tool.ts'

/**
 * Where the tools are. The first address serves whoever comes; the two others demand a token from the
 * first request, for clients that sign in when they are refused at the connection and never later
 * (design 23).
 */
export const toolAddresses = [
  { path: paths.mcp, resource: 'mcp' },
  { path: paths.mcpMember, audience: 'member', resource: 'mcpMember' },
  { path: paths.mcpAdmin, audience: 'operator', resource: 'mcpAdmin' },
] as const satisfies readonly ToolAddress[]

/** The address that asks for one audience. */
export function addressFor(audience: ToolAudience): ToolAddress {
  const address = toolAddresses.find((each) => 'audience' in each && each.audience === audience)
  if (!address) throw new Error(`no address has the tools of a ${audience}`)
  return address
}

/** Whether a tool, a prompt or a resource is served at an address: those of everybody are at each. */
export function isServedAt({ audience }: ToolAddress, offered: Pick<Tool, 'access'>): boolean {
  const own = audienceOf(offered)
  return !audience || !own || own === audience
}

/** Whose tool it is, or nothing when it is everybody's. */
export function audienceOf({ access }: Pick<Tool, 'access'>): ToolAudience | undefined {
  if (access.kind !== 'scopes') return undefined
  const isMember = access.needed.some((scope) => findScope(scope)?.audience === 'member')
  return isMember ? 'member' : 'operator'
}

/** What a client is told to ask for where it acts for an audience. */
export type ScopesFor = (audience: ToolAudience) => readonly string[]

/** Who may call a tool with these arguments. */
export function accessTo({ access, accessFor }: Tool, values: unknown): ToolAccess {
  return accessFor?.(values) ?? access
}

/** The scopes that a caller without a token is told to ask for. */
export function scopesNeeded(access: ToolAccess, asked: ScopesFor): readonly string[] {
  switch (access.kind) {
    case 'public':
      return []
    case 'token':
      return access.asked
    case 'scopes':
      return access.needed
    case 'audience':
      return asked(access.audience)
  }
}

/** The verdict on what needs a token, of the verdict on the caller's token. */
export function judgeAccess(access: ToolAccess, verdict: Verdict, asked: ScopesFor): Verdict {
  if (access.kind === 'scopes') return demandScopes(verdict, access.needed)
  return access.kind === 'audience'
    ? demandOneScope(verdict, scopeNames(access.audience), asked(access.audience))
    : verdict
}

/** Whether a caller may use a tool; a scope includes no other, as the catalogue reads. */
export function isOpen(access: ToolAccess, caller: AccessToken | undefined): boolean {
  return (
    access.kind === 'public' ||
    judgeAccess(access, verdictOn(caller), scopeNames).kind === 'granted'
  )
}

/** The verdict on a caller who was let in. */
export function verdictOn(caller: AccessToken | undefined): Verdict {
  return caller ? { kind: 'granted', token: caller } : { kind: 'anonymous' }
}
