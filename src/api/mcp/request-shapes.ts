import { type SpecTypeName, specTypeSchemas } from '@modelcontextprotocol/server'

/**
 * Every request of both generations of the protocol that has an answer here. `initialize` is a request in one of them
 * and no method in the other, which the SDK tells apart.
 */
const typeOf: Readonly<Record<string, SpecTypeName>> = {
  'completion/complete': 'CompleteRequest',
  'prompts/get': 'GetPromptRequest',
  'prompts/list': 'ListPromptsRequest',
  'resources/list': 'ListResourcesRequest',
  'resources/read': 'ReadResourceRequest',
  'resources/templates/list': 'ListResourceTemplatesRequest',
  'tools/call': 'CallToolRequest',
  'tools/list': 'ListToolsRequest',
}

const PROBLEMS_SHOWN_MAX = 5

/**
 * What is wrong with the parameters of a request (JSON-RPC 2.0 §5.1, -32602): the SDK tells of most such mistakes
 * of a caller as of an internal error, and in the words of its validator.
 *
 * @param value a JSON-RPC message
 * @returns a sentence that names each wrong parameter, or nothing
 */
export function problemOfParams(value: unknown): string | undefined {
  const { id, method, params } = (value ?? {}) as Readonly<Record<string, unknown>>
  // One that expects no answer gets none, and what is no request at all is said by the SDK.
  if (typeof id !== 'string' && typeof id !== 'number') return undefined
  const type =
    typeof method === 'string' && Object.hasOwn(typeOf, method) ? typeOf[method] : undefined
  if (type === undefined) return undefined
  const result = specTypeSchemas[type]['~standard'].validate({ method, params })
  if (result instanceof Promise || result.issues === undefined) return undefined
  const problems = result.issues
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map(({ path = [], message }) => `${path.map(nameOf).join('.')}: ${wordsOf(message)}`)
  return `The parameters of ${method} are wrong. ${problems.join('; ')}.`
}

function nameOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment).slice(0, 100)
}

function wordsOf(message: string): string {
  return message.replace(/^Invalid input: /, '')
}
