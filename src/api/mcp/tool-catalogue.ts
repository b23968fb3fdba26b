import type { Tool as ToolDescription } from '@modelcontextprotocol/server'
import { LRUCache } from 'lru-cache'

import type { AccessToken } from '../../oauth/token/tokens.ts'
import { answerSchemaOf } from './answer-schema.ts'
import { memberTools } from './member-tools.ts'
import { operatorTools } from './operator-tools.ts'
import { publicTools } from './public-tools.ts'
import { signInTool } from './sign-in-tool.ts'
import { describeTool, type Tool, type ToolAddress, type ToolCall } from './tool.ts'
import { addressFor, audienceOf, canGetChanges, isListed, isServedAt } from './tool-access.ts'

/** All tools of the service, in the order of tools/list. */
export const toolCatalogue: readonly Tool[] = [
  ...publicTools,
  signInTool,
  ...memberTools,
  ...operatorTools,
]

const byName = new Map(toolCatalogue.map((tool) => [tool.name, tool]))

/** Finds a tool by name at an endpoint. */
export function findTool(name: unknown, address: ToolAddress): Tool | undefined {
  const tool = typeof name === 'string' ? byName.get(name) : undefined
  return tool && isServedAt(address, tool) ? tool : undefined
}

/** A list of tools and its JSON. The JSON is long, so it is cached with the list. */
interface ListedTools {
  readonly tools: ToolDescription[]
  readonly text: string
}

const listsByScopes = new LRUCache<string, ListedTools>({ max: 500 })
const usedScopes = new Set(
  toolCatalogue.flatMap(({ access }) => (access.kind === 'scopes' ? access.needed : [])),
)

/** Lists sign_in and the tools that a caller may use at an endpoint. Caches each list by all its inputs. */
export function listedTools({
  caller,
  address,
  parts: { structuredResults },
}: ToolCall): ListedTools {
  const changes = canGetChanges(caller)
  const key = `${address.resource} ${structuredResults} ${changes} ${keyOf(caller)}`
  const kept = listsByScopes.get(key)
  if (kept) return kept
  const tools = toolCatalogue
    .filter((tool) => isServedAt(address, tool))
    .filter(({ access }) => access.kind === 'token' || isListed(access, caller))
    .map((tool) => ({
      ...describeTool(tool, caller),
      ...(structuredResults && outputSchemaOf(tool)),
    }))
  const listed = { tools, text: JSON.stringify(tools) }
  listsByScopes.set(key, listed)
  return listed
}

/** Returns the output schema for a tool's description. A tool that returns text has no output schema. */
function outputSchemaOf(tool: Tool): Pick<ToolDescription, 'outputSchema'> {
  const schema = answerSchemaOf(tool)
  if (schema['type'] !== 'object') return {}
  // The SDK's type requires the literal type 'object'.
  const properties = { ...Object(schema['properties']), note: { type: 'string' } }
  return { outputSchema: { ...schema, properties } as unknown as ToolDescription['outputSchema'] }
}

/** Cache hints for tools/list. Without a token, all clients get the same list, but must not keep it after a sign-in. */
export function cacheHintsFor({ caller }: ToolCall) {
  return { ttlMs: 0, cacheScope: caller ? 'private' : 'public' } as const
}

function keyOf(caller: AccessToken | undefined): string {
  if (!caller) return 'anonymous'
  return [...caller.scopes]
    .filter((scope) => usedScopes.has(scope))
    .sort()
    .join(' ')
}

/** Returns the message for an unknown tool. Names the endpoint that serves the tool, or tools with similar names. */
export function describeUnknownTool(name: string, call: ToolCall): string {
  const elsewhere = byName.get(name)
  const audience = elsewhere && audienceOf(elsewhere)
  if (audience) {
    const { path } = addressFor(audience)
    return `The tool ${name} is not available at this endpoint. Connect to ${call.parts.service.baseUrl}${path}.`
  }
  const names = listedTools(call).tools.map((tool) => tool.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? ` Similar names: ${near.join(', ')}.` : ''
  return `There is no tool with that name.${hint} Call tools/list for the available tools.`
}

const NEAR_MAX = 3

/** Finds up to three names that share words with an unknown name, best match first. */
function nearNames(wanted: string, names: readonly string[]): string[] {
  const words = new Set(nameWords(wanted))
  return names
    .map((name) => ({ name, shared: nameWords(name).filter((word) => words.has(word)).length }))
    .filter(({ shared }) => shared > 0)
    .sort((one, other) => other.shared - one.shared)
    .slice(0, NEAR_MAX)
    .map(({ name }) => name)
}

/** Splits a name into words: `listCourses` and `list-course` share both words with `list_courses`. */
function nameWords(name: string): string[] {
  return name
    .slice(0, NAME_LENGTH_MAX)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/s$/, ''))
    .map((word) => verbs.find((alike) => alike.includes(word))?.[0] ?? word)
    .filter((word) => word !== '')
}

/** Groups of verbs that models confuse. Names with verbs of one group are similar: `remove_course`, `delete_course`. */
const verbs: readonly (readonly string[])[] = [
  ['delete', 'remove', 'archive', 'end', 'cancel', 'unassign', 'destroy'],
  ['create', 'add', 'new', 'make', 'insert'],
  ['update', 'edit', 'change', 'set', 'rename', 'modify'],
  ['list', 'find', 'search', 'query'],
]

const NAME_LENGTH_MAX = 200
