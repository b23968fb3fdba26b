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

import type { LimitName } from '../../platform/limits/limit-table.ts'
import { type Exceeded, type Limits, personKey } from '../../platform/limits/limits.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './connections.ts'
import { makeFold } from './documents.ts'

/** By which limits the operations of a person are counted. */
export interface CostLimit {
  readonly limits: Pick<Limits, 'count' | 'exceeded' | 'take'>
  readonly name: LimitName
  /** The limit of changes, which are counted for the person whichever client asks for them. */
  readonly changes?: LimitName
}

/** What preparing a document that is not kept counts: it takes as long as so many fields. */
const PREPARING_COST = 500

/** What every operation counts besides its fields: a request takes as long as so many. */
const REQUEST_COST = 100

type Caller = Parameters<typeof personKey>[0]

/** Counts a document that is not kept. */
export function countPreparing(caller: Caller, { limits, name }: CostLimit): void {
  limits.count(name, personKey(caller), PREPARING_COST)
}

/** Counts an operation of a person by a client. */
export function countOperation(caller: Caller, cost: number, { limits, name }: CostLimit): void {
  limits.count(name, personKey(caller), REQUEST_COST + cost)
}

/** Counts changes, unless there were too many: for the person, who decides how many clients they have. */
export function takeChanges(
  { personId, siteId }: Caller,
  changes: number,
  { limits, changes: limit }: CostLimit,
): Exceeded | undefined {
  if (limit === undefined || changes === 0) return undefined
  return limits.take(limit, personKey({ personId, clientId: '', siteId }), changes)
}

/** How many changes an operation asks for: the fields of a mutation. */
export function changesIn(document: DocumentNode, operation: OperationDefinitionNode): number {
  if (operation.operation !== 'mutation') return 0
  return makeFold(document, add, () => 1)(operation.selectionSet, 1)
}

type Variables = Readonly<Record<string, unknown>>

const add = (total: number, part: number) => total + part

const pageFields: ReadonlySet<string> = new Set(['nodes', 'edges'])

/** The assumed length of a list without pages that has no `@listSize`. */
const LIST_SIZE_DEFAULT = 10

/**
 * An answer about the schema is long whatever few fields ask for it: the whole is three hundred
 * kilobytes, and each alias repeats it. One is admitted at the lowest `costMax`.
 */
const introspectionWeights = { __schema: 700, __type: 100 } as const

/**
 * Makes the cost of an operation: one for every field of its answer, as large as the answer can be. Below
 * a connection, what stands in `nodes` and `edges` counts `first` times; a list without pages counts as
 * often as its `@listSize` assumes, or ten times; a field that takes more than others counts its `@cost`,
 * and so does an argument that is given, such as words that are searched in every row. Conditions
 * (`@skip`, `@include`) are taken for true.
 */
export function makeCostOf(schema: GraphQLSchema) {
  const fields = fieldsOf(schema)
  const connections = new Set(
    fields.filter(({ args }) => args.some(({ name }) => name === 'first')).map(({ name }) => name),
  )
  const sizes = new Map([
    ...fields.filter(isUnpagedList).map(({ name }) => [name, LIST_SIZE_DEFAULT] as const),
    ...numbersOf(fields, 'listSize'),
  ])
  const weights = new Map([...numbersOf(fields, 'cost'), ...Object.entries(introspectionWeights)])
  const argumentWeights = numbersOf(
    fields.flatMap(({ args }) => args),
    'cost',
  )

  /** What the arguments of a field count that are given: null stands for one that is left out. */
  const weightOfGiven = ({ arguments: named = [] }: FieldNode, variables: Variables) =>
    named
      .filter(({ name }) => argumentWeights.has(name.value))
      .filter(({ value }) => valueFromASTUntyped(value, variables) != null)
      .reduce((sum, { name }) => sum + (argumentWeights.get(name.value) ?? 0), 0)

  /**
   * The size of a list without pages. Fields are known by their names, and a list may have the name of a
   * connection: one of which nodes are selected is the connection.
   */
  const unpagedSize = ({ name, selectionSet }: FieldNode) => {
    const isPage = selectionSet?.selections.some(
      (selection) => selection.kind === Kind.FIELD && pageFields.has(selection.name.value),
    )
    return isPage ? 1 : (sizes.get(name.value) ?? 1)
  }

  return (document: DocumentNode, operation: OperationDefinitionNode, given: Variables): number => {
    const variables = { ...defaultsOf(operation), ...given }
    const costOf = makeFold(document, add, (field, pageSize, fold) => {
      const name = field.name.value
      const own = (weights.get(name) ?? 1) + weightOfGiven(field, variables)
      if (!field.selectionSet) return own
      const times = pageFields.has(name) ? pageSize : unpagedSize(field)
      const inside = connections.has(name) ? pageSizeOf(field, variables) : 1
      return own + times * fold(field.selectionSet, inside)
    })
    return costOf(operation.selectionSet, 1)
  }
}

type Definition = GraphQLField<unknown, unknown> | GraphQLArgument

/** The number that a directive gives to fields or arguments, by their names; the largest of one name. */
function numbersOf(
  definitions: readonly Pick<Definition, 'name' | 'astNode'>[],
  directive: 'cost' | 'listSize',
): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  for (const { name, astNode } of definitions) {
    const found = astNode?.directives?.find((one) => one.name.value === directive)
    const value = found?.arguments?.[0]?.value
    if (value?.kind !== Kind.INT) continue
    numbers.set(name, Math.max(Number(value.value), numbers.get(name) ?? 0))
  }
  return numbers
}

function isUnpagedList({ name, type }: GraphQLField<unknown, unknown>): boolean {
  if (pageFields.has(name)) return false
  return isListType(getNullableType(type)) && isObjectType(getNamedType(type))
}

function fieldsOf(schema: GraphQLSchema): GraphQLField<unknown, unknown>[] {
  const all = Object.values(schema.getTypeMap()).filter(isObjectType)
  const types = all.filter((type) => !isIntrospectionType(type))
  return types.flatMap((type) => Object.values(type.getFields()))
}

/** The values of variables that are not sent. */
function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Variables {
  return Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  )
}

/** A size that the connection will refuse counts as the largest that it would accept. */
function pageSizeOf(field: FieldNode, variables: Variables): number {
  const first = field.arguments?.find(({ name }) => name.value === 'first')
  const asked = (first && valueFromASTUntyped(first.value, variables)) ?? PAGE_SIZE_DEFAULT
  return typeof asked === 'number' && asked >= 0 ? Math.min(asked, PAGE_SIZE_MAX) : PAGE_SIZE_MAX
}
