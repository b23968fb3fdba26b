import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'

import type { AccessToken } from '../../oauth/token/tokens.ts'
import { memberTools } from './member-tools.ts'
import { teachingTools } from './operator-courses.ts'
import { peopleTools } from './operator-people.ts'
import { productAndEventTools } from './operator-products.ts'
import { siteTools, voiceTools } from './operator-site.ts'
import { publicTools } from './public-tools.ts'
import { signInTool } from './sign-in-tool.ts'
import { describeTool, once, type Tool, type ToolAddress, type ToolCall } from './tool.ts'
import { addressFor, audienceOf, isOpen, isServedAt } from './tool-access.ts'

/** Every tool of the service, in the order in which a list shows them. Nothing else lists them. */
export const toolCatalogue: readonly Tool[] = [
  ...publicTools,
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
export function listedTools(caller: AccessToken | undefined, address: ToolAddress): ListedTools {
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

function keyOf(caller: AccessToken | undefined): string {
  if (!caller) return 'anonymous'
  return [...caller.scopes]
    .filter((scope) => usedScopes.has(scope))
    .sort()
    .join(' ')
}

/** What is said of a tool that an address does not have: where it is, or what is near. */
export function unknownToolWords(name: string, { caller, address, parts }: ToolCall): string {
  const elsewhere = toolCatalogue.find((tool) => tool.name === name)
  const audience = elsewhere && audienceOf(elsewhere)
  if (audience) {
    const { path } = addressFor(audience)
    return `The tool ${name} is not at this address: connect to ${parts.service.baseUrl}${path}.`
  }
  const names = listedTools(caller, address).tools.map((tool) => tool.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? ` Near it are ${near.join(', ')}.` : ''
  return `There is no tool of that name.${hint} tools/list shows what this token opens.`
}

const NEAR_MAX = 3

/** The names that share the most words with one that is unknown, the nearest first. */
export function nearNames(wanted: string, names: readonly string[]): string[] {
  const words = new Set(nameWords(wanted))
  return names
    .map((name) => ({ name, shared: nameWords(name).filter((word) => words.has(word)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((one, other) => other.shared - one.shared)
    .slice(0, NEAR_MAX)
    .map(({ name }) => name)
}

/** `listCourses` and `list-course` share both words with `list_courses`. */
function nameWords(name: string): string[] {
  return name
    .slice(0, NAME_LENGTH_MAX)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/s$/, ''))
    .filter((word) => word !== '')
}

const NAME_LENGTH_MAX = 200
