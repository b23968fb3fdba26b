import { type DocumentNode, GraphQLError, type GraphQLSchema, parse, validate } from 'graphql'
import { LRUCache } from 'lru-cache'

import { type DocumentLimits, findExceededLimit, limitExceeded } from './limits.ts'

/**
 * How many documents are kept parsed and validated, and how long one and all of them may be. A
 * parsed document takes about 120 bytes of memory for each of its characters.
 */
export interface DocumentCacheLimits {
  readonly cachedDocumentsMax: number
  readonly cachedDocumentCharactersMax: number
  readonly cachedCharactersMax: number
}

/**
 * A document that may be executed, or what is wrong with it; and whether that was known, because it is
 * kept. To find it out takes up to some milliseconds, whatever the document costs when it is run.
 */
export type PreparedDocument = PreparedSource & { readonly isKept: boolean }

type PreparedSource =
  | { readonly kind: 'valid'; readonly document: DocumentNode }
  | { readonly kind: 'invalid'; readonly errors: readonly GraphQLError[] }
  /** Not looked at any further, because it is too large. */
  | { readonly kind: 'refused'; readonly error: GraphQLError }

export type PrepareDocument = (source: string) => PreparedDocument

/**
 * Parses, limits and validates documents. Validation is two thirds of the work of a request and the
 * same every time, so that valid documents are kept, the most recently used ones.
 */
export function makePrepareDocument(
  schema: GraphQLSchema,
  limits: DocumentLimits & DocumentCacheLimits,
): PrepareDocument {
  const kept = new LRUCache<string, PreparedDocument>({
    max: limits.cachedDocumentsMax,
    maxSize: limits.cachedCharactersMax,
    maxEntrySize: limits.cachedDocumentCharactersMax,
    sizeCalculation: (_prepared, source) => source.length,
  })
  return (source) => {
    const known = kept.get(source)
    if (known) return known
    const prepared = prepare(source, schema, limits)
    // What is not valid is not kept: it would push out what is asked for again and again.
    if (prepared.kind === 'valid') kept.set(source, { ...prepared, isKept: true })
    return { ...prepared, isKept: false }
  }
}

function prepare(source: string, schema: GraphQLSchema, limits: DocumentLimits): PreparedSource {
  if (nestsDeeperThan(source, limits.nestingMax)) {
    return { kind: 'refused', error: limitExceeded('levels of brackets', limits.nestingMax) }
  }
  const parsed = parseWithin(source, limits.documentTokensMax)
  if (parsed instanceof GraphQLError) {
    return isTokenLimit(parsed)
      ? { kind: 'refused', error: limitExceeded('tokens', limits.documentTokensMax) }
      : { kind: 'invalid', errors: [parsed] }
  }
  const exceeded = findExceededLimit(parsed, limits)
  if (exceeded) return { kind: 'refused', error: exceeded }
  const errors = validate(schema, parsed)
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'valid', document: parsed }
}

function parseWithin(source: string, maxTokens: number): DocumentNode | GraphQLError {
  try {
    return parse(source, { maxTokens })
  } catch (error) {
    if (error instanceof GraphQLError) return error
    throw error
  }
}

/**
 * Whether brackets stand in brackets too often. The parser calls itself for each of them and would
 * run out of stack long before it ran out of tokens. Brackets in texts count too, which is harmless.
 */
function nestsDeeperThan(source: string, max: number): boolean {
  let depth = 0
  for (const character of source) {
    if ('{[('.includes(character)) depth += 1
    else if ('}])'.includes(character)) depth -= 1
    if (depth > max) return true
  }
  return false
}

/** graphql-js has no code for it. */
function isTokenLimit({ message }: GraphQLError): boolean {
  return message.includes('Parsing aborted')
}
