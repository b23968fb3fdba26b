import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** A response of the service: path, method, status, and body as parsed JSON or text. */
export type ObservedAnswer = [path: string, method: string, status: number, body: unknown]

type Node = { readonly [key: string]: unknown }

/** Creates the function that lists a response's differences from an OpenAPI document. An empty string is an empty body. */
export function responseValidator(document: object): (...answer: ObservedAnswer) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(document, 'openapi')

  return (...[path, method, status, body]) => {
    const name = `${method} ${path} ${status}`
    const found = follow(document, ['paths', path, method.toLowerCase(), 'responses', `${status}`])
    if (!found) return [`${name} is not described`]

    const content = found.value['content'] as Node | undefined
    if (!content || isEmpty(body)) return emptiness(name, content, body)

    const isJson = typeof body === 'object'
    const mediaType = Object.keys(content).find((type) => type.endsWith('json') === isJson)
    if (!mediaType) return [`${name} has a body of another media type`]
    const place = [...found.place, 'content', mediaType, 'schema']
    const pointer = `openapi#/${place.map(inPointer).join('/')}`
    const validate = ajv.getSchema(pointer)
    if (!validate) throw new Error(`${pointer} is not a schema`)
    return validate(body) ? [] : (validate.errors ?? []).map(inWords)
  }
}

function emptiness(name: string, content: Node | undefined, body: unknown): string[] {
  return !content === isEmpty(body) ? [] : [`${name} has ${content ? 'no' : 'a'} body`]
}

/** Records which of a document's responses and members have occurred. */
export function documentCoverage() {
  const answers = new WeakMap<object, ReturnType<typeof answersOf>>()
  const described = new Set<string>()
  const shown = new Set<string>()
  const describedIn = (document: object) => {
    const found = answersOf(document)
    answers.set(document, found)
    for (const { name, place } of found) {
      described.add(name)
      collect({ document, place }, undefined, described)
    }
    return found
  }
  return {
    note(document: object, [path, method, status, body]: ObservedAnswer, mediaType: string): void {
      const type = isEmpty(body) ? 'no body' : mediaType
      for (const { name, place } of answers.get(document) ?? describedIn(document)) {
        if (name !== `${method} ${path} ${status} ${type}`) continue
        shown.add(name)
        collect({ document, place }, [body], shown)
      }
    },
    missing: () => [...described].filter((place) => !shown.has(place)).toSorted(),
  }
}

/** Lists the described responses, once for each media type, with the place of their schema. */
function answersOf(document: object): { name: string; place: string[] }[] {
  const { paths } = document as { paths: Record<string, Record<string, { responses: object }>> }
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { responses }]) => ({ path, method, responses })),
  )
  return operations.flatMap(({ path, method, responses }) =>
    Object.keys(responses).flatMap((status) => {
      const found = follow(document, ['paths', path, method, 'responses', status])
      return Object.keys(found?.value['content'] ?? { 'no body': true }).map((type) => ({
        name: `${method.toUpperCase()} ${path} ${status} ${type}`,
        place: [...(found?.place ?? []), 'content', type, 'schema'],
      }))
    }),
  )
}

interface Place {
  readonly document: object
  readonly place: readonly string[]
}

/** Collects the members that a schema describes, or only those that occur in the values. */
function collect(at: Place, values: readonly unknown[] | undefined, into: Set<string>): void {
  const schema = follow(at.document, at.place)
  if (!schema) return
  const inside = (...keys: string[]) => ({ ...at, place: [...schema.place, ...keys] })
  for (const list of ['allOf', 'anyOf', 'oneOf']) {
    const branches = (schema.value[list] as readonly Node[] | undefined) ?? []
    for (const index of branches.keys()) collect(inside(list, String(index)), values, into)
  }
  collect(inside('items'), values?.filter(Array.isArray).flat(), into)
  for (const name of Object.keys((schema.value['properties'] as Node | undefined) ?? {})) {
    const held = values?.filter((value) => Object.hasOwn(Object(value), name))
    if (held?.length === 0) continue
    const member = inside('properties', name)
    into.add(member.place.join(' '))
    const inner = held?.map((value) => Object(value)[name])
    collect(member, inner, into)
  }
}

interface Found {
  readonly value: Node
  readonly place: readonly string[]
}

/** Returns the part of a document at a place, and follows references. */
export function follow(document: object, place: readonly string[]): Found | undefined {
  const value = place.reduce<unknown>((node, key) => (node as Node | undefined)?.[key], document)
  if (value === undefined) return undefined
  const { $ref } = value as { $ref?: string }
  return $ref ? follow(document, $ref.split('/').slice(1)) : { value: value as Node, place }
}

const isEmpty = (body: unknown): boolean => (body ?? '') === ''

/** Escapes a key of a JSON Pointer (RFC 6901 §3) in the fragment of a URI. */
function inPointer(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function inWords({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath || '/'} ${message} ${JSON.stringify(params)}`
}
