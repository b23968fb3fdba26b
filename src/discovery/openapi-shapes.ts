/**
 * The part of OpenAPI 3.1 that this document uses, and the few words in which its operations are
 * written. A schema is JSON Schema 2020-12.
 */
export type Schema = { readonly [keyword: string]: unknown }

export interface Reference {
  readonly $ref: string
}

export interface MediaType {
  readonly schema: Schema
}

export type Content = Readonly<Record<string, MediaType>>

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

export interface Parameter {
  readonly name: string
  readonly in: 'query' | 'header'
  readonly required?: boolean
  readonly description: string
  readonly schema: Schema
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

export interface PathItem {
  readonly get?: Operation
  readonly post?: Operation
}

export type Paths = Readonly<Record<string, PathItem>>

export const text: Schema = { type: 'string' }
export const uri: Schema = { type: 'string', format: 'uri' }
export const seconds: Schema = { type: 'integer', description: 'seconds', minimum: 0 }
export const time: Schema = { type: 'integer', description: 'seconds since 1970', minimum: 0 }

export function list(items: Schema): Schema {
  return { type: 'array', items }
}

/** An object that has these members and no others, so that checking an answer against it means something. */
export function closed(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Schema {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** An object of which only these members are promised. */
export function open(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Schema {
  return { type: 'object', properties, required }
}

export function json(schema: Schema): Content {
  return { 'application/json': { schema } }
}

export function form(schema: Schema): Content {
  return { 'application/x-www-form-urlencoded': { schema } }
}

export const page: Content = { 'text/html': { schema: text } }
