import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

import type { Answer } from './wire.ts'

type Node = { readonly [key: string]: unknown }

/** Creates the function that lists a response's differences from an OpenAPI document. */
export function responseValidator(document: object) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema(document, 'openapi')

  return (path: string, method: string, answer: Answer): string[] => {
    const { status, text, body } = answer
    const found = follow(document, ['paths', path, method.toLowerCase(), 'responses', `${status}`])
    if (!found) return ['the response is not described']

    const problems = headerProblems(document, found, answer)
    const content = found.value['content'] as Node | undefined
    if (!content && text === '') return problems
    const mediaType = mediaTypeOf(answer)
    if (!content || !(mediaType in content)) return [...problems, `it has ${mediaType}`]
    const place = [...found.place, 'content', mediaType, 'schema']
    const pointer = `openapi#/${place.map(inPointer).join('/')}`
    const validate = ajv.getSchema(pointer)
    if (!validate) throw new Error(`${pointer} is not a schema`)
    return validate(body) ? problems : [...problems, ...(validate.errors ?? []).map(inWords)]
  }
}

function headerProblems(document: object, { value, place }: Found, { headers }: Answer): string[] {
  const described = Object.keys(value['headers'] ?? {})
  const required = described.filter(
    (name) => follow(document, [...place, 'headers', name])?.value['required'],
  )
  const known = described.map((name) => name.toLowerCase())
  return [
    ...required.filter((name) => !headers.has(name)).map((name) => `it lacks ${name}`),
    ...['location', 'retry-after', 'www-authenticate']
      .filter((name) => headers.has(name) && !known.includes(name))
      .map((name) => `it has ${name}`),
  ]
}

/** Returns the media type of a response, or `no body`. */
function mediaTypeOf({ headers, text }: Answer): string {
  return text === '' ? 'no body' : (headers.get('content-type')?.split(';')[0] ?? 'none')
}

/** Records which of the responses and response members in documents have occurred. */
export function documentCoverage() {
  const described = new Set<string>()
  const shown = new Set<string>()
  return {
    /** Adds a document. Returns the function that records a response. */
    add(document: object) {
      const answers = answersOf(document)
      for (const { name, place } of answers) {
        described.add(name)
        collect({ document, place }, undefined, described)
      }
      return (path: string, method: string, answer: Answer) => {
        const seen = `${method} ${path} ${answer.status} ${mediaTypeOf(answer)}`
        for (const { place } of answers.filter(({ name }) => name === seen)) {
          shown.add(seen)
          collect({ document, place }, [answer.body], shown)
        }
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

/** Collects the members that a schema describes, or only those that occur in the values. */
function collect(
  at: { readonly document: object; readonly place: readonly string[] },
  values: readonly unknown[] | undefined,
  into: Set<string>,
): void {
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
function follow(document: object, place: readonly string[]): Found | undefined {
  const value = place.reduce<unknown>((node, key) => (node as Node | undefined)?.[key], document)
  if (value === undefined) return undefined
  const { $ref } = value as { $ref?: string }
  return $ref ? follow(document, $ref.split('/').slice(1)) : { value: value as Node, place }
}

/** Escapes a key of a JSON Pointer (RFC 6901 §3) in the fragment of a URI. */
function inPointer(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function inWords({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath || '/'} ${message} ${JSON.stringify(params)}`
}
