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

/** What of a document real answers have shown: every described answer, and every member of one. */
export interface DocumentCoverage {
  note(document: object, answer: ObservedAnswer, mediaType: string): void
  /** The places in the document that no answer has shown. */
  missing(): string[]
}

/** Begins with nothing shown. */
export function documentCoverage(): DocumentCoverage {
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
    note(document, [path, method, status, body], mediaType) {
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

/** Every answer that is described, once for each media type, and where its schema stands. */
function answersOf(document: object): { name: string; place: string[] }[] {
  const { paths } = document as { paths: Record<string, Record<string, { responses: object }>> }
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { responses }]) => ({ path, method, responses })),
  )
  return operations.flatMap(({ path, method, responses }) =>
    Object.keys(responses).flatMap((status) => {
      const { value, place } =
        follow(document, ['paths', path, method, 'responses', status]) ?? nowhere
      const types = Object.keys((value['content'] as Node | undefined) ?? { 'no body': true })
      return types.map((type) => ({
        name: `${method.toUpperCase()} ${path} ${status} ${type}`,
        place: [...place, 'content', type, 'schema'],
      }))
    }),
  )
}

const nowhere: { value: Node; place: string[] } = { value: {}, place: [] }

interface Place {
  readonly document: object
  readonly place: readonly string[]
}

/** Collects the members that a schema describes: all, or those that at least one of the values has. */
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
    collect(
      member,
      held?.map((value) => Object(value)[name]),
      into,
    )
  }
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
