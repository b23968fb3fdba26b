import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  getNullableType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  type SelectionSetNode,
} from 'graphql'
import { z } from 'zod'

import { LECTURES_SHOWN_MAX } from '../../directory/sites/public-sites.ts'
import { PAGE_SIZE_MAX } from '../graphql/schema-text.ts'
import type { JsonSchema, Tool } from './tool.ts'
import { leafSchema } from './tool-arguments.ts'

/** Returns the JSON Schema of a tool's result. Clients get it only if `structuredResults` is on (decision 15). */
export function answerSchemaOf({ name, runs }: Tool): JsonSchema {
  if (runs) return answerSchema(runs)
  const answer = answers[name]
  if (!answer) throw new Error(`the tool ${name} has no result schema`)
  const { $schema: _dialect, ...schema } = z.toJSONSchema(answer)
  return schema
}

const count = z.int().min(0)

function pageSchema<Node extends z.ZodType>(node: Node) {
  return z.strictObject({
    nodes: z.array(node).max(PAGE_SIZE_MAX),
    pageInfo: z.strictObject({ hasNextPage: z.boolean(), endCursor: z.string().nullable() }),
    totalCount: count,
  })
}

const publicCourse = {
  slug: z.string(),
  title: z.string(),
  summary: z.string(),
  publishedAt: z.string().meta({ format: 'date-time' }),
  lectureCount: count,
}

const answers: Readonly<Record<string, z.ZodType>> = {
  get_service_info: z.strictObject({
    ...{ name: z.string(), version: z.string(), issuer: z.string() },
    ...{ authorizationGuide: z.string(), authorizationServerMetadata: z.string() },
    ...{ protectedResourceMetadata: z.string(), openApi: z.string(), memberApi: z.string() },
    protocolVersions: z.array(z.string()),
  }),
  get_auth_guide: z.string(),
  list_sites: pageSchema(
    z.strictObject({
      ...{ slug: z.string(), name: z.string(), description: z.string().nullable() },
      ...{ courseCount: count, address: z.string().nullable(), connect: z.string() },
    }),
  ),
  list_public_courses: pageSchema(z.strictObject(publicCourse)),
  get_public_course: z.strictObject({
    ...publicCourse,
    lectures: z
      .array(z.strictObject({ title: z.string(), durationSeconds: count }))
      .max(LECTURES_SHOWN_MAX),
  }),
  sign_in: z.strictObject({
    clientId: z.string(),
    scopes: z.array(z.string()),
    person: z.strictObject({
      ...{ id: z.string().nullable(), name: z.string().nullable(), email: z.string().nullable() },
    }),
    site: z
      .strictObject({
        ...{ id: z.string(), slug: z.string(), name: z.string(), roles: z.array(z.string()) },
      })
      .nullable(),
    nextStep: z.string(),
  }),
}

/** Returns the JSON Schema of a document's result. The document has one operation, and no aliases or fragments. */
function answerSchema({ schema, document, pick, optional }: NonNullable<Tool['runs']>): JsonSchema {
  const [operation] = parse(document()).definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('a tool needs one operation')
  const root = schema().getRootType(operation.operation)
  if (!root) throw new Error(`the schema has no type for a ${operation.operation}`)
  const answer = pick.reduce(propertyOf, objectSchema(root, operation.selectionSet))
  const required = Object.keys(answer['properties'] as object).filter(
    (name) => !optional.includes(name),
  )
  const note = optional.includes('note') && { note: { type: 'string' } }
  return { ...answer, properties: { ...Object(answer['properties']), ...note }, required }
}

function objectSchema(type: GraphQLObjectType, { selections }: SelectionSetNode): JsonSchema {
  const fields = selections.filter((selection) => selection.kind === Kind.FIELD)
  const properties = Object.fromEntries(
    fields.map((field) => [field.name.value, fieldSchema(type, field)]),
  )
  const required = Object.keys(properties)
  return { type: 'object', properties, required, additionalProperties: false }
}

function fieldSchema(parent: GraphQLObjectType, { name, selectionSet }: FieldNode): JsonSchema {
  const field = parent.getFields()[name.value]
  if (!field) throw new Error(`${parent.name} has no field ${name.value}`)
  const { description } = field
  return { ...resultSchema(field.type, selectionSet), ...(description ? { description } : {}) }
}

type Selected = SelectionSetNode | undefined

function resultSchema(type: GraphQLOutputType, selectionSet: Selected): JsonSchema {
  const present = presentSchema(getNullableType(type), selectionSet)
  return isNonNullType(type) ? present : { anyOf: [present, { type: 'null' }] }
}

function presentSchema(type: GraphQLOutputType, selectionSet: Selected): JsonSchema {
  if (isListType(type)) {
    return { type: 'array', items: resultSchema(type.ofType as GraphQLOutputType, selectionSet) }
  }
  const named = getNamedType(type)
  return isObjectType(named) && selectionSet ? objectSchema(named, selectionSet) : leafSchema(named)
}

function propertyOf(schema: JsonSchema, name: string): JsonSchema {
  const { [name]: property } = schema['properties'] as Record<string, JsonSchema>
  if (!property) throw new Error(`the result schema has no property ${name}`)
  // The schema omits null, because `extractAnswer` in document-tool.ts throws for null.
  const { anyOf } = property as { anyOf?: readonly JsonSchema[] }
  return anyOf?.[0] ?? property
}
