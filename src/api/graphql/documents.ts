import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  parse,
  type SelectionNode,
  type SelectionSetNode,
  validate,
  visit,
} from 'graphql'
import { LRUCache } from 'lru-cache'

import type { ServicePolicy } from '../../config/config.ts'

/** The limits of a GraphQL API. The limits on the size of a document are checked before validation. */
export type ApiLimits = ServicePolicy['memberApi']

/** Returns the limits that callers see: all except the limits on the cache. */
export function callerLimits(limits: ApiLimits): Readonly<Record<string, number>> {
  const isOfCache = ([name]: [string, number]) => name.startsWith('cached')
  return Object.fromEntries(Object.entries(limits).filter((limit) => !isOfCache(limit)))
}

/** Creates the error that names an exceeded limit and its value. */
export function limitExceeded(limit: string, max: number): GraphQLError {
  const message = `the document exceeds the limit on ${limit}, which is ${max}; simplify it`
  return new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED', limit, max } })
}

/** An executable document or its errors, and whether the document was cached. */
export type PreparedDocument = PreparedSource & { readonly isKept: boolean }

type Errors = readonly GraphQLError[]
type PreparedSource =
  | { readonly kind: 'valid'; readonly document: DocumentNode; readonly errors?: undefined }
  | { readonly kind: 'invalid'; readonly document: DocumentNode; readonly errors: Errors }
  | { readonly kind: 'unparsed'; readonly errors: Errors }
  /** The document exceeds a limit, so it was not validated. */
  | { readonly kind: 'refused'; readonly error: GraphQLError }

/** Creates the function that parses and validates documents of limited size. It caches valid documents (LRU). */
export function makePrepareDocument(schema: GraphQLSchema, limits: ApiLimits) {
  const kept = new LRUCache<string, PreparedDocument>({
    max: limits.cachedDocumentsMax,
    maxSize: limits.cachedCharactersMax,
    maxEntrySize: limits.cachedDocumentCharactersMax,
    sizeCalculation: (_prepared, source) => source.length,
  })
  return (source: string): PreparedDocument => {
    const known = kept.get(source)
    if (known) return known
    const prepared = prepare(source, schema, limits)
    // Do not cache invalid documents: they would evict documents that clients repeat.
    if (prepared.kind === 'valid') kept.set(source, { ...prepared, isKept: true })
    return { ...prepared, isKept: false }
  }
}

function prepare(source: string, schema: GraphQLSchema, limits: ApiLimits): PreparedSource {
  if (bracketsNestDeeper(source, limits.nestingMax)) {
    return { kind: 'refused', error: limitExceeded('levels of nested brackets', limits.nestingMax) }
  }
  let document: DocumentNode
  try {
    document = parse(source, { maxTokens: limits.documentTokensMax })
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
    // graphql-js has no error code for its token limit, so match the message.
    return error.message.includes('Parsing aborted')
      ? { kind: 'refused', error: limitExceeded('tokens', limits.documentTokensMax) }
      : { kind: 'unparsed', errors: [error] }
  }
  const exceeded = findExceededLimit(document, limits)
  if (exceeded) return { kind: 'refused', error: exceeded }
  const errors = validate(schema, document)
  return errors.length > 0 ? { kind: 'invalid', errors, document } : { kind: 'valid', document }
}

/** Whether brackets nest too deeply for the recursive parser. An estimate: it also counts brackets in strings. */
function bracketsNestDeeper(source: string, max: number): boolean {
  let depth = 0
  for (const character of source) {
    if ('{[('.includes(character)) depth += 1
    else if ('}])'.includes(character)) depth -= 1
    if (depth > max) return true
  }
  return false
}

/** Finds an exceeded limit. Runs before validation, which takes time quadratic in the number of fields. */
function findExceededLimit(document: DocumentNode, limits: ApiLimits): GraphQLError | undefined {
  const counts = { fields: 0, aliases: 0, directives: 0 }
  visit(document, {
    Field({ alias }) {
      counts.fields += 1
      if (alias) counts.aliases += 1
    },
    Directive() {
      counts.directives += 1
    },
  })
  for (const name of ['fields', 'aliases', 'directives'] as const) {
    const max = limits[`${name}Max`]
    if (counts[name] > max) return limitExceeded(name, max)
  }
  const depthOf = makeFold(document, Math.max, depthOfField)
  const isTooDeep = document.definitions.some(
    (definition) =>
      definition.kind === Kind.OPERATION_DEFINITION &&
      depthOf(definition.selectionSet, 0) > limits.depthMax,
  )
  return isTooDeep ? limitExceeded('levels of nested fields', limits.depthMax) : undefined
}

/** An introspection field up to this depth counts as one level, to allow the standard introspection query. */
const INTROSPECTION_DEPTH_MAX = 20

const depthOfField: FieldNumber = ({ name, selectionSet }, within, fold) => {
  const depth = 1 + (selectionSet ? fold(selectionSet, within) : 0)
  const introspects = name.value.startsWith('__')
  return introspects && depth <= INTROSPECTION_DEPTH_MAX ? 1 : depth
}

/** Computes a number, such as a cost, from selections. The parent field passes `within`, such as its page size. */
type Fold = (selections: SelectionSetNode, within: number) => number

type FieldNumber = (field: FieldNode, within: number, fold: Fold) => number

/** Creates a function that computes a number from selections. Evaluates a fragment once for each value of `within`. */
export function makeFold(
  document: DocumentNode,
  join: (total: number, part: number) => number,
  field: FieldNumber,
): Fold {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition)
    }
  }
  const known = new Map<string, number>()

  const fold: Fold = ({ selections }, within) =>
    selections.reduce((total, selection) => join(total, partOf(selection, within)), 0)

  const partOf = (selection: SelectionNode, within: number): number => {
    switch (selection.kind) {
      case Kind.FIELD:
        return field(selection, within, fold)
      case Kind.INLINE_FRAGMENT:
        return fold(selection.selectionSet, within)
      case Kind.FRAGMENT_SPREAD:
        return partOfFragment(selection.name.value, within)
    }
  }

  const partOfFragment = (name: string, within: number): number => {
    const key = `${within} ${name}`
    const before = known.get(key)
    if (before !== undefined) return before
    // Ends the recursion of a fragment that spreads itself. Validation rejects such a fragment later.
    known.set(key, 0)
    const fragment = fragments.get(name)
    const part = fragment ? fold(fragment.selectionSet, within) : 0
    known.set(key, part)
    return part
  }

  return fold
}
