import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** An answer of the service: its address and method, its status, and its body as parsed JSON or text. */
export type ObservedAnswer = [path: string, method: string, status: number, body: unknown]

type Node = { readonly [key: string]: unknown }

/**
 * Compares real answers with what the OpenAPI document promises of them. The result lists what
 * differs, and is empty for an answer as described. A body that is left out or '' is an empty body.
 */
export function responseValidator(document: object): (...answer: ObservedAnswer) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(document, 'openapi')

  return (...[path, method, status, body]) => {
    const name = `${method} ${path} ${status}`
    const found = follow(document, [
      'paths',
      path,
      method.toLowerCase(),
      'responses',
      String(status),
    ])
    if (!found) return [`${name} is not described`]

    const content = found.value['content'] as Node | undefined
    if (!content || isEmpty(body)) return emptiness(name, content, body)

    const mediaType = Object.keys(content).find((type) => type.endsWith('json') === isJson(body))
    if (!mediaType) return [`${name} has a body of another media type`]
    return compare(ajv, [...found.place, 'content', mediaType, 'schema'], body)
  }
}

function emptiness(name: string, content: Node | undefined, body: unknown): string[] {
  if (content) return [`${name} has no body`]
  return isEmpty(body) ? [] : [`${name} has a body`]
}

function compare(ajv: Ajv2020, place: readonly string[], body: unknown): string[] {
  const pointer = place.map(inPointer).join('/')
  const validate = ajv.getSchema(`openapi#/${pointer}`)
  if (!validate) throw new Error(`openapi#/${pointer} is not a schema`)
  return validate(body) ? [] : (validate.errors ?? []).map(inWords)
}

/** Finds a response, and where it stands when it is a reference. */
function follow(
  document: object,
  place: readonly string[],
): { value: Node; place: string[] } | undefined {
  const value = place.reduce<unknown>((node, key) => (node as Node | undefined)?.[key], document)
  if (value === undefined) return undefined
  const { $ref } = value as { $ref?: string }
  return $ref
    ? follow(document, $ref.split('/').slice(1))
    : { value: value as Node, place: [...place] }
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || body === ''
}

function isJson(body: unknown): boolean {
  return typeof body === 'object'
}

/** RFC 6901 §3, in the fragment of a URI. */
function inPointer(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function inWords({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath || '/'} ${message} ${JSON.stringify(params)}`
}
