import { type DocumentNode, GraphQLError, Kind, visit } from 'graphql'

import { makeFold } from './fold.ts'

/** How large a document may be before anything is done with it; the units are in the names. */
export interface DocumentLimits {
  readonly documentTokensMax: number
  readonly depthMax: number
  readonly nestingMax: number
  readonly fieldsMax: number
  readonly aliasesMax: number
  readonly directivesMax: number
}

/** What callers are told of the limits of an API, and nothing about how it keeps documents. */
export function limitsInForce(
  limits: DocumentLimits & { readonly bodyBytesMax: number; readonly costMax: number },
): Readonly<Record<string, number>> {
  const { bodyBytesMax, documentTokensMax, depthMax, nestingMax } = limits
  const { fieldsMax, aliasesMax, directivesMax, costMax } = limits
  return {
    ...{ costMax, depthMax, fieldsMax, aliasesMax, directivesMax, nestingMax },
    ...{ documentTokensMax, bodyBytesMax },
  }
}

/** A refusal that names the limit, and by how much it may be approached. */
export function limitExceeded(limit: string, max: number): GraphQLError {
  return new GraphQLError(`the document exceeds the limit of ${max} ${limit}`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit, max },
  })
}

/** The standard introspection query is deeper than any query for data; graphql-js bounds its lists. */
const INTROSPECTION_DEPTH_MAX = 20

/**
 * Checks a document before it is validated, because validation compares fields with one another and
 * takes time that grows with the square of their number.
 */
export function findExceededLimit(
  document: DocumentNode,
  limits: DocumentLimits,
): GraphQLError | undefined {
  const counts = countParts(document)
  if (counts.fields > limits.fieldsMax) return limitExceeded('fields', limits.fieldsMax)
  if (counts.aliases > limits.aliasesMax) return limitExceeded('aliases', limits.aliasesMax)
  if (counts.directives > limits.directivesMax) {
    return limitExceeded('directives', limits.directivesMax)
  }
  const depth = makeDepth(document)
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    if (depth(definition.selectionSet, 0) > limits.depthMax) {
      return limitExceeded('levels of depth', limits.depthMax)
    }
  }
  return undefined
}

function countParts(document: DocumentNode) {
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
  return counts
}

function makeDepth(document: DocumentNode) {
  return makeFold(document, {
    join: Math.max,
    field({ name, selectionSet }, within, fold) {
      const depth = 1 + (selectionSet ? fold(selectionSet, within) : 0)
      const introspects = name.value.startsWith('__')
      return introspects && depth <= INTROSPECTION_DEPTH_MAX ? 1 : depth
    },
  })
}
