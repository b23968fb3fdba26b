import { paths } from '../../src/platform/http/paths.ts'
import { eras, messageOf } from '../support/mcp.ts'
import { mostlyBearer } from './oauth-requests.ts'
import type { Chance } from './random.ts'
import { type FuzzRequest, headerBytes, place } from './request.ts'
import { mostly, oddText, posted } from './texts.ts'

export interface ListedTool {
  readonly name: string
  readonly inputSchema: JsonSchema
}

interface JsonSchema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly enum?: readonly unknown[]
}

const methods = [
  ...['tools/call', 'tools/call', 'tools/call', 'tools/call', 'tools/list', 'initialize', 'ping'],
  ...['resources/list', 'resources/templates/list', 'resources/read', 'prompts/list'],
  ...['completion/complete', 'logging/setLevel', 'notifications/initialized', 'server/discover'],
  ...['notifications/cancelled', 'subscriptions/listen', 'tasks/list', '__proto__'],
  'prompts/get',
]

/** Returns a JSON-RPC message of either protocol version to one of the tool endpoints. */
export function toolRequest(chance: Chance, tools: readonly ListedTool[]): FuzzRequest {
  const method = chance.is(0.97) ? chance.pick(methods) : oddText(chance)
  const { message, headers } = messageOf(method, chance.pick(eras), paramsOf(chance, method, tools))
  const changed = chance.is(0.15) ? { ...message, ...oddMember(chance) } : message
  const json = chance.is(0.02) ? [changed, changed] : changed
  const kept = Object.entries(headers).filter(([key]) => key !== 'content-type' && !chance.is(0.05))
  return posted(chance, chance.pick([paths.mcp, paths.mcp, paths.mcpMember, paths.mcpAdmin]), {
    json,
    headers: [
      ...['Accept', 'application/json, text/event-stream'],
      ...kept.flatMap(([name, value]) => [name, headerBytes(value)]),
      ...mostlyBearer(chance, chance.pick([place('memberToken'), place('operatorToken')])),
    ],
  })
}

function oddMember(chance: Chance): Record<string, unknown> {
  const value = chance.pick<unknown>([null, 1, 'x', [], {}, { a: 1 }, oddText(chance), 1e308, true])
  return { [chance.pick(['jsonrpc', 'id', 'method', 'params', 'result', 'error', 'x'])]: value }
}

function paramsOf(chance: Chance, method: string, tools: readonly ListedTool[]) {
  const odd = oddText(chance)
  if (chance.is(0.05)) return { [odd]: odd }
  switch (method) {
    case 'tools/call': {
      const known = chance.is(0.95) && tools.length > 0
      const { name, inputSchema } = known ? chance.pick(tools) : { name: odd, inputSchema: {} }
      const made = chance.is(0.95)
      return { name, arguments: made ? madeFor(chance, { ...inputSchema, type: 'object' }) : odd }
    }
    case 'resources/read':
      return {
        uri: chance.pick(['gatehouse://x', `${place('url')}/auth.md`, 'file:///etc/passwd', odd]),
      }
    case 'prompts/get':
      return { name: chance.pick(['x', odd]), arguments: { site: odd } }
    case 'initialize':
      return {
        protocolVersion: chance.pick([...eras, 'x']),
        ...{ capabilities: {}, clientInfo: { name: odd, version: '1' } },
      }
    case 'completion/complete':
      return { ref: { type: 'ref/prompt', name: odd }, argument: { name: 'site', value: odd } }
    default:
      return chance.is(0.3) ? { cursor: odd } : {}
  }
}

function madeFor(chance: Chance, schema: JsonSchema): unknown {
  if (chance.is(0.05)) return chance.pick<unknown>([null, 1, '', [], {}, true, oddText(chance)])
  if (schema.enum && schema.enum.length > 0) return chance.pick(schema.enum)
  const [type = 'string'] = [schema.type ?? 'string'].flat()
  const make = makers[type] ?? (() => mostly(chance, known, 0.7))
  return make(chance, schema)
}

const numbers = [0, 1, 5, 20, 100, 101, -1, 1.5, 2 ** 31, 1e308]

const makers: Readonly<Record<string, (chance: Chance, schema: JsonSchema) => unknown>> = {
  object: madeObject,
  array: (chance, schema) => chance.many(3, () => madeFor(chance, schema.items ?? {})),
  integer: (chance) => chance.pick(numbers),
  number: (chance) => chance.pick(numbers),
  boolean: (chance) => chance.is(0.5),
  null: () => null,
}

function madeObject(chance: Chance, schema: JsonSchema): unknown {
  const entries = Object.entries(schema.properties ?? {}).filter(() => chance.is(0.6))
  const value = Object.fromEntries(entries.map(([name, of]) => [name, madeFor(chance, of)]))
  return chance.is(0.05) ? { ...value, [oddText(chance)]: 1 } : value
}

const known = ['northlight', 'open-kitchen', 'sit_northlight', 'per_sam', place('cursor')]
