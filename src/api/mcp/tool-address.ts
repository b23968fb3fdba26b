import { findScope } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import type { Tool, ToolAddress, ToolAudience } from './tool.ts'

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
