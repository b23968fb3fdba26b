import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'

type RootOperation = ReturnType<typeof operationsOf>[number]

/** Lists the fields of the root types. */
export function operationsOf(schema: GraphQLSchema) {
  return (['query', 'mutation'] as const).flatMap((kind) =>
    Object.values(schema.getRootType(kind as never)?.getFields() ?? {}).map((field) => ({
      ...{ kind, field },
    })),
  )
}

type Fields = readonly (GraphQLArgument | GraphQLInputField)[]
/** The path of a value in an operation's arguments, such as `input.id` or `after`, and its type. */
type Slot = { readonly path: readonly string[]; readonly type: string }

export const slotsOf = ({ field }: RootOperation): Slot[] => slotsIn(field.args, [])

function slotsIn(fields: Fields, path: readonly string[]): Slot[] {
  return fields.flatMap(({ name, type }) => {
    const named = getNamedType(type)
    const here = [...path, name]
    if (!isInputObjectType(named)) return [{ path: here, type: named.name }]
    return slotsIn(Object.values(named.getFields()), here)
  })
}

type Given = ReadonlyMap<string, unknown>

export function exampleOf({ kind, field }: RootOperation, given: Given) {
  const variables = examplesOf(field.args, [], given)
  const declared = field.args.filter(({ name }) => name in variables)
  const signature = declared.map(({ name, type }) => `$${name}: ${type}`).join(', ')
  const passed = declared.map(({ name }) => `${name}: $${name}`).join(', ')
  const selection = selectionOf(field.type, 3)
  const query = `${kind}${signature && ` (${signature})`} { ${field.name}${passed && `(${passed})`} ${selection} }`
  return { query, variables }
}

function examplesOf(fields: Fields, path: readonly string[], given: Given) {
  const values = fields.map(
    ({ name, type }) => [name, exampleValue(type, [...path, name], given)] as const,
  )
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function exampleValue(type: GraphQLInputType, path: readonly string[], given: Given): unknown {
  const known = given.get(path.join('.')) ?? (path.join('.') === 'first' ? 1 : undefined)
  if (known !== undefined) return isListOf(type) ? [known] : known
  const hasInner = [...given.keys()].some((other) => other.startsWith(`${path.join('.')}.`))
  if (!isNonNullType(type) && !hasInner) return undefined
  const named = getNamedType(type)
  if (isInputObjectType(named)) return examplesOf(Object.values(named.getFields()), path, given)
  const value = isEnumType(named) ? named.getValues()[0]?.name : (examples[named.name] ?? null)
  return isListOf(type) ? [value] : value
}

const isListOf = (type: GraphQLInputType): boolean =>
  isListType(isNonNullType(type) ? type.ofType : type)

const examples: Readonly<Record<string, unknown>> = {
  ...{ ID: 'nothing', String: 'example', Int: 1, Float: 1, Boolean: true },
  DateTime: '2026-06-01T00:00:00Z',
}

/** Selects all fields down to a depth, except `edges` and fields with required arguments. */
function selectionOf(type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type)
  if (!isObjectType(named)) return ''
  const fields = Object.values(named.getFields()).flatMap((field) => {
    const isLeaf = !isObjectType(getNamedType(field.type))
    if (field.name === 'edges' || field.args.some(({ type: needed }) => isNonNullType(needed)))
      return []
    if (!isLeaf && depth === 0) return []
    return [`${field.name} ${selectionOf(field.type, depth - 1)}`]
  })
  return `{ __typename ${fields.join(' ')} }`
}
