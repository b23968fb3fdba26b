import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'

import type { BearerToken } from '../resource-server/verdict.ts'
import { memberTools } from './member-tools.ts'
import { teachingTools } from './operator-courses.ts'
import { peopleTools } from './operator-people.ts'
import { voiceTools } from './operator-posts.ts'
import { productAndEventTools } from './operator-products.ts'
import { siteTools } from './operator-site.ts'
import { publicTools } from './public-tools.ts'
import { describeTool, isOpen, once, scopesOfTool, type Tool } from './tool.ts'

/** Every tool of the service, in the order in which a list shows them. Nothing else lists them. */
export const toolCatalogue: readonly Tool[] = [
  ...publicTools,
  ...memberTools,
  ...siteTools,
  ...teachingTools,
  ...productAndEventTools,
  ...voiceTools,
  ...peopleTools,
]

const byName = new Map(toolCatalogue.map((tool) => [tool.name, tool]))

/** The tool of that name, or nothing. */
export function findTool(name: unknown): Tool | undefined {
  return typeof name === 'string' ? byName.get(name) : undefined
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
const usedScopes = new Set(toolCatalogue.flatMap(({ access }) => scopesOfTool(access)))

/**
 * The tools that a caller's token opens, in the order of the catalogue: "only the tools the caller's
 * granted scopes permit" (MCP 2026-07-28, tools). Kept by the scopes that matter to any tool, because
 * callers of one application all have the same.
 */
export function listedTools(caller: BearerToken | undefined): ListedTools {
  const key = keyOf(caller)
  const kept = listsByScopes.get(key)
  if (kept) return kept
  const tools = toolCatalogue
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
