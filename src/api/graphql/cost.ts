import {
  type DocumentNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  valueFromASTUntyped,
} from 'graphql'

import { makeFold } from './fold.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './page-arguments.ts'

export interface Operation {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: Readonly<Record<string, unknown>> | null | undefined
}

/** What an operation costs: one for every field of its answer, as large as the answer can be. */
export type CostOf = (operation: Operation) => number

const listFields: ReadonlySet<string> = new Set(['nodes', 'edges'])

/** How long a list without pages counts of which the schema says nothing. */
const UNSAID_SIZE = 10

/**
 * What the schema tells of itself is as long whatever is asked for by a few fields: a whole answer is three
 * hundred kilobytes, and each alias would be another. Below `costMax` as low as it may be, one is admitted.
 */
const introspectionWeights = { __schema: 700, __type: 100 } as const

/**
 * Counts the fields that an answer can have. Below a connection, what stands in `nodes` and `edges`
 * counts `first` times; a list without pages counts as often as its `@listSize` assumes, or ten times;
 * a field that takes more than others as much as its `@cost` says, and so does an argument that is given,
 * such as words that are looked for in every row. Conditions (`@skip`, `@include`) are taken for true.
 */
export function makeCostOf(schema: GraphQLSchema): CostOf {
  const connections = connectionFields(schema)
  const sizes = new Map([
    ...unsaidSizes(schema),
    ...saidOf(fieldsOf(schema), { directive: 'listSize', argument: 'assumedSize' }),
  ])
  const weights = new Map([
    ...saidOf(fieldsOf(schema), { directive: 'cost', argument: 'weight' }),
    ...Object.entries(introspectionWeights),
  ])
  const argumentsOfFields = fieldsOf(schema).flatMap(({ args }) => args)
  const argumentWeights = saidOf(argumentsOfFields, { directive: 'cost', argument: 'weight' })
  return ({ document, operation, variables }) => {
    const given = { ...defaultsOf(operation), ...variables }
    const costOf = makeFold(document, {
      join: (total, cost) => total + cost,
      field(field, pageSize, fold) {
        const name = field.name.value
        const own = (weights.get(name) ?? 1) + weightOfGiven(field, given, argumentWeights)
        if (!field.selectionSet) return own
        const times = listFields.has(name) ? pageSize : unpagedSize(field, sizes)
        const inside = connections.has(name) ? pageSizeOf(field, given) : 1
        return own + times * fold(field.selectionSet, inside)
      },
    })
    return costOf(operation.selectionSet, 1)
  }
}

/**
 * How many there are of a list without pages. Fields are known by their names, and a list may have the
 * name of a connection: whoever selects its nodes asks for the connection.
 */
function unpagedSize(field: FieldNode, sizes: ReadonlyMap<string, number>): number {
  const isPage = field.selectionSet?.selections.some(
    (selection) => selection.kind === Kind.FIELD && listFields.has(selection.name.value),
  )
  return isPage ? 1 : (sizes.get(field.name.value) ?? 1)
}

/** What the arguments of a field count that are given: null stands for one that is left out. */
function weightOfGiven(
  { arguments: named = [] }: FieldNode,
  variables: Readonly<Record<string, unknown>>,
  weights: ReadonlyMap<string, number>,
): number {
  return named.reduce((sum, { name, value }) => {
    const isNull =
      value.kind === Kind.NULL ||
      (value.kind === Kind.VARIABLE && variables[value.name.value] == null)
    return isNull ? sum : sum + (weights.get(name.value) ?? 0)
  }, 0)
}

/** A number that a directive says of fields or arguments, by their names; the largest of one name. */
function saidOf(
  definitions: readonly Pick<
    GraphQLField<unknown, unknown> | GraphQLArgument,
    'name' | 'astNode'
  >[],
  { directive, argument }: { readonly directive: string; readonly argument: string },
): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  for (const { name, astNode } of definitions) {
    const said = astNode?.directives?.find((one) => one.name.value === directive)
    const value = said?.arguments?.find((one) => one.name.value === argument)?.value
    if (value?.kind !== Kind.INT) continue
    numbers.set(name, Math.max(Number(value.value), numbers.get(name) ?? 0))
  }
  return numbers
}

/** The lists of objects that are no pages, by their names. */
function unsaidSizes(schema: GraphQLSchema): ReadonlyMap<string, number> {
  const lists = fieldsOf(schema).filter(
    ({ name, type }) =>
      !listFields.has(name) &&
      isListType(getNullableType(type)) &&
      isObjectType(getNamedType(type)),
  )
  return new Map(lists.map(({ name }) => [name, UNSAID_SIZE]))
}

function connectionFields(schema: GraphQLSchema): ReadonlySet<string> {
  const connections = fieldsOf(schema).filter(({ args }) =>
    args.some(({ name }) => name === 'first'),
  )
  return new Set(connections.map(({ name }) => name))
}

function fieldsOf(schema: GraphQLSchema): GraphQLField<unknown, unknown>[] {
  const all = Object.values(schema.getTypeMap()).filter(isObjectType)
  const types = all.filter((type) => !isIntrospectionType(type))
  return types.flatMap((type) => Object.values(type.getFields()))
}

/** What a variable is that is not sent. */
function defaultsOf({
  variableDefinitions = [],
}: OperationDefinitionNode): Record<string, unknown> {
  return Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  )
}

/** A size that the connection will refuse counts as the largest that it would accept. */
function pageSizeOf(field: FieldNode, variables: Readonly<Record<string, unknown>>): number {
  const value = field.arguments?.find(({ name }) => name.value === 'first')?.value
  const asked =
    value?.kind === Kind.VARIABLE
      ? (variables[value.name.value] ?? PAGE_SIZE_DEFAULT)
      : Number(value?.kind === Kind.INT ? value.value : PAGE_SIZE_DEFAULT)
  return typeof asked === 'number' && asked >= 0 ? Math.min(asked, PAGE_SIZE_MAX) : PAGE_SIZE_MAX
}
