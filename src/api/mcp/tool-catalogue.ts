import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'

import type { BearerToken } from '../../resource/resource-server/verdict.ts'
import { memberTools } from './member-tools.ts'
import { teachingTools } from './operator-courses.ts'
import { peopleTools } from './operator-people.ts'
import { voiceTools } from './operator-posts.ts'
import { productAndEventTools } from './operator-products.ts'
import { siteTools } from './operator-site.ts'
import { publicCourseTools } from './public-course-tools.ts'
import { publicTools } from './public-tools.ts'
import { signInTool } from './sign-in-tool.ts'
import { describeTool, once, type Tool, type ToolAddress } from './tool.ts'
import { isOpen } from './tool-access.ts'
import { isServedAt } from './tool-address.ts'

/** Every tool of the service, in the order in which a list shows them. Nothing else lists them. */
export const toolCatalogue: readonly Tool[] = [
  ...publicTools,
  ...publicCourseTools,
  signInTool,
  ...memberTools,
  ...siteTools,
  ...teachingTools,
  ...productAndEventTools,
  ...voiceTools,
  ...peopleTools,
]

const byName = new Map(toolCatalogue.map((tool) => [tool.name, tool]))

/** The tool of that name, or nothing where the address has none. */
export function findTool(name: unknown, address: ToolAddress): Tool | undefined {
  const tool = typeof name === 'string' ? byName.get(name) : undefined
  return tool && isServedAt(address, tool) ? tool : undefined
}

const describedByName = once(
  () => new Map(toolCatalogue.map((tool) => [tool.name, describeTool(tool)])),
)
/** A list of tools, and its JSON, which is long and always the same. */
interface ListedTools {
  readonly tools: ToolDescription[]
  readonly text: string
}

const listsByScopes = new LRUCache<string, ListedTools>({ max: 500 })
const usedScopes = new Set(
  toolCatalogue.flatMap(({ access }) => (access.kind === 'scopes' ? access.needed : [])),
)

/**
 * The tools of an address that a caller's token opens, in the order of the catalogue: "only the tools the caller's
 * granted scopes permit" (MCP 2026-07-28, tools). Kept by the scopes that matter to any tool, because
 * callers of one application all have the same.
 */
export function listedTools(caller: BearerToken | undefined, address: ToolAddress): ListedTools {
  const key = `${address.path} ${keyOf(caller)}`
  const kept = listsByScopes.get(key)
  if (kept) return kept
  const tools = toolCatalogue
    .filter((tool) => isServedAt(address, tool))
    .filter(({ access }) => access.kind === 'token' || isOpen(access, caller))
    .flatMap(({ name }) => describedByName().get(name) ?? [])
  const listed = { tools, text: JSON.stringify(tools) }
  listsByScopes.set(key, listed)
  return listed
}

function keyOf(caller: BearerToken | undefined): string {
  if (!caller) return 'anonymous'
  return [...caller.scopes]
    .filter((scope) => usedScopes.has(scope))
    .sort()
    .join(' ')
}
