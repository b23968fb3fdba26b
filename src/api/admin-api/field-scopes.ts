import {
  type DocumentNode,
  type GraphQLField,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLSchema,
  GraphQLString,
  getOperationAST,
  Kind,
  parse,
  separateOperations,
  TypeInfo,
  valueFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql'

import type { ScopesNeeded } from '../graphql/graphql-api.ts'
import { schemaText } from './schema-text.ts'

/** Creates the function that collects the `@needs` scopes of an operation, including those of skipped fields. */
export function makeScopesNeeded(schema: GraphQLSchema): ScopesNeeded {
  const known = new WeakMap<DocumentNode, Map<string, readonly string[]>>()
  return (document, operationName) => {
    const operation = getOperationAST(document, operationName)
    if (!operation) return []
    const name = operation.name?.value ?? ''
    const ofDocument = known.get(document) ?? new Map<string, readonly string[]>()
    known.set(document, ofDocument)
    const before = ofDocument.get(name)
    if (before) return before
    const needed = scopesIn(separateOperations(document)[name] ?? document, schema)
    ofDocument.set(name, needed)
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

/** Returns all scopes in the `@needs` directives of the published schema. */
export function scopesOfAdminApi(): ReadonlySet<string> {
  const scopes = new Set<string>()
  visit(parse(schemaText), {
    FieldDefinition(astNode) {
      for (const scope of scopesOfField({ astNode })) scopes.add(scope)
    },
  })
  return scopes
}

const NAMES = new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLString)))

/** Returns the scopes in the `@needs` directive of a field. */
export function scopesOfField(
  field: Pick<GraphQLField<unknown, unknown>, 'astNode'> | null | undefined,
): readonly string[] {
  const needs = field?.astNode?.directives?.find(({ name }) => name.value === 'needs')
  const value = needs?.arguments?.find(({ name }) => name.value === 'scopes')?.value
  if (value?.kind !== Kind.LIST) return []
  return (valueFromAST(value, NAMES) as string[] | undefined) ?? []
}
