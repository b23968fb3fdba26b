import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import type { ScopesNeeded } from '../graphql/graphql-api.ts'

/** Creates the function that collects an operation's `@needs` scopes. Ignores `@skip` and `@include`. */
export function makeScopesNeeded(schema: GraphQLSchema): ScopesNeeded {
  const known = new WeakMap<OperationDefinitionNode, readonly string[]>()
  return (document, operationName) => {
    const operation = getOperationAST(document, operationName)
    if (!operation) return []
    const before = known.get(operation)
    if (before) return before
    const own = separateOperations(document)[operation.name?.value ?? ''] ?? document
    const needed = scopesIn(own, schema)
    known.set(operation, needed)
    return needed
  }
}

function scopesIn(document: DocumentNode, schema: GraphQLSchema): readonly string[] {
  const scopes = new Set<string>()
  const types = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(types, {
      Field() {
        for (const scope of scopesOfField(types.getFieldDef())) scopes.add(scope)
      },
    }),
  )
  return [...scopes]
}

/** Returns the scopes in the `@needs` directive of a field. */
export function scopesOfField(
  field: Pick<GraphQLField<unknown, unknown>, 'astNode'> | null | undefined,
): readonly string[] {
  const needs = field?.astNode?.directives?.find(({ name }) => name.value === 'needs')
  const scopes = needs?.arguments?.[0]?.value
  if (scopes?.kind !== Kind.LIST) return []
  return scopes.values.flatMap((scope) => (scope.kind === Kind.STRING ? scope.value : []))
}
