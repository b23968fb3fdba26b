/**
 * The part of OpenAPI 3.1 that this document uses, and the few words in which its operations are
 * written. A schema is JSON Schema 2020-12.
 */
export type Schema = { readonly [keyword: string]: unknown }

export interface Reference {
  readonly $ref: string
}

export type Content = Readonly<Record<string, { readonly schema: Schema }>>

export interface Header {
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}

export interface Answer {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header | Reference>>
  readonly content?: Content
}

export interface Parameter extends Header {
  readonly name: string
  readonly in: 'query' | 'path' | 'header' | 'header'
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  /** Never left out: an operation that needs no credential says so with an empty list. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Answer | Reference>>
}

type Answering = Pick<Operation, 'operationId' | 'summary' | 'responses'>

/** GET of what anybody may see. */
export function publicRead(tag: string, operation: Answering) {
  return { get: { ...operation, tags: [tag], security: [] } }
}

export type Paths = Readonly<Record<string, { readonly [Method in 'get' | 'post']?: Operation }>>

export const text: Schema = { type: 'string' }
export const uri: Schema = { type: 'string', format: 'uri' }
export const seconds: Schema = { type: 'integer', description: 'seconds', minimum: 0 }
export const time: Schema = { ...seconds, description: 'seconds since 1970' }

/** The same with words for the reader of the document. */
export function said(description: string, schema: Schema = text): Schema {
  return { ...schema, description }
}

export function list(items: Schema): Schema {
  return { type: 'array', items }
}

/** The members of an object by their names; `name?` is one that may be absent. */
export type Members = Readonly<Record<string, Schema>>

/** An object that has these members and no others, so that checking an answer against it means something. */
export function closed(members: Members): Schema {
  return { ...open(members), additionalProperties: false }
}

/** An object of which only these members are promised. */
export function open(members: Members) {
  const names = Object.keys(members)
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(members).map(([name, schema]) => [name.replace('?', ''), schema]),
    ),
    required: names.filter((name) => !name.endsWith('?')),
  }
}

/** A schema that stands among the components, because several answers have it. */
export function named(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

export function json(schema: Schema): Content {
  return { 'application/json': { schema } }
}

export function form(schema: Schema): Content {
  return { 'application/x-www-form-urlencoded': { schema } }
}

export const page: Content = { 'text/html': { schema: text } }
