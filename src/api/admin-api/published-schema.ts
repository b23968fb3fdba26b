import { readFileSync } from 'node:fs'
import { join } from 'node:path'

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

import type { ScopesNeeded } from '../graphql/api.ts'
import { type ListWords, listTypes } from '../graphql/connections.ts'

/** The areas of the Admin API, each a file of the schema. */
const areaNames = [
  'site',
  'courses',
  'students',
  'people',
  'commerce',
  'events',
  'posts',
  'analytics',
] as const

const searched = '. A search counts to 1000 and no further'

const connections: Readonly<Record<string, ListWords>> = {
  Course: { one: 'a course', many: 'courses' },
  Student: {
    ...{ one: 'a student', many: 'students', whose: 'their' },
    counted: `${searched}, the students of one course to 50000.`,
  },
  Member: { one: 'a member', many: 'members', whose: 'their', counted: `${searched}.` },
  Lecturer: { one: 'a lecturer', many: 'lecturers', whose: 'their', counted: `${searched}.` },
  Order: { one: 'an order', many: 'orders' },
  DigitalProduct: { one: 'a digital product', many: 'digital products' },
  StoredFile: { one: 'a file', many: 'files' },
  Event: { one: 'an event', many: 'events' },
  EventRegistration: { one: 'a registration', many: 'registrations' },
  Post: { one: 'a post', many: 'posts' },
  AnalyticsCourse: { one: 'a course', many: 'courses' },
}

/** The schema as it is published, descriptions and all. */
export const schemaText: string =
  ['schema', ...areaNames]
    .map((name) => readFileSync(join(import.meta.dirname, `${name}.graphql`), 'utf8'))
    .join('\n') +
  listTypes(connections, { boundTo: 'this site', countDirectives: ' @cost(weight: 500)' })

/**
 * The scopes that the fields of an operation name with `@needs`, all of them, in the order in which
 * the document has the fields. Conditions (`@skip`, `@include`) are taken for true, so that the
 * answer depends on the document and on nothing that comes with it.
 */
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

/** Every scope that a field of the published schema names. */
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

/** What `@needs` says of a field of the schema. */
export function scopesOfField(
  field: Pick<GraphQLField<unknown, unknown>, 'astNode'> | null | undefined,
): readonly string[] {
  const needs = field?.astNode?.directives?.find(({ name }) => name.value === 'needs')
  const value = needs?.arguments?.find(({ name }) => name.value === 'scopes')?.value
  if (value?.kind !== Kind.LIST) return []
  return (valueFromAST(value, NAMES) as string[] | undefined) ?? []
}
