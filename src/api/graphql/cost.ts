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
import { makeFold } from './documents.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './schema-text.ts'

/** The limits that apply to a person's requests. */
export interface CostLimit {
  readonly limits: Pick<Limits, 'count' | 'exceeded' | 'take'>
  /** The limit on the cost of operations, per person, site and client. */
  readonly name: LimitName
  /** The limit on changes, per person and site. */
  readonly changes?: LimitName
}

/** Cost of preparing an uncached document: the number of fields that can be resolved in the same time. */
const PREPARING_COST = 500

/** Base cost of a request: the number of fields that can be resolved in the time that its overhead takes. */
const REQUEST_COST = 100

type Caller = Parameters<typeof personKey>[0]

/** Charges the preparation of an uncached document to the person, site and client. */
export function countPreparing(caller: Caller, { limits, name }: CostLimit): void {
  limits.count(name, personKey(caller), PREPARING_COST)
}

/** Charges an operation, including its base cost, to the person, site and client. */
export function countOperation(caller: Caller, cost: number, { limits, name }: CostLimit): void {
  limits.count(name, personKey(caller), REQUEST_COST + cost)
}

/** Counts changes per person and site. Once the limit is reached, returns the exceeded limit and counts nothing. */
export function takeChanges(
  { personId, siteId }: Caller,
  changes: number,
  { limits, changes: limit }: CostLimit,
): Exceeded | undefined {
  if (limit === undefined || changes === 0) return undefined
  return limits.take(limit, personKey({ personId, clientId: '', siteId }), changes)
}

/** Returns the number of changes in an operation: the number of root fields of a mutation. */
export function changesIn(document: DocumentNode, operation: OperationDefinitionNode): number {
  if (operation.operation !== 'mutation') return 0
  return makeFold(document, add, () => 1)(operation.selectionSet, 1)
}

type Variables = Readonly<Record<string, unknown>>

const add = (total: number, part: number) => total + part

const pageFields: ReadonlySet<string> = new Set(['nodes', 'edges'])

/** Assumed length of an unpaginated list without `@listSize`. */
const LIST_SIZE_DEFAULT = 10

/**
 * Costs of the introspection fields. Introspection returns a large response for few fields: the whole schema of the
 * Admin API is about 175 kB, and each alias repeats it. One full introspection fits within even the lowest valid
 * `costMax`.
 */
const introspectionWeights = { __schema: 700, __type: 100 } as const

/**
 * Creates the function that estimates the cost of an operation. Each field in the largest possible response costs 1.
 * Fields in the `nodes` and `edges` of a connection count `first` times. Fields in an unpaginated list count
 * `@listSize` times, by default ten times.
 *
 * `@cost` sets the cost of an expensive field or argument, such as a search of every row. A field excluded by
 * `@skip` or `@include` also counts.
 */
export function makeCostOf(schema: GraphQLSchema) {
  const fields = listFields(schema)
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

  /** Returns the extra cost of the given arguments of a field. An argument that is null counts as omitted. */
  const weightOfGiven = ({ arguments: named = [] }: FieldNode, variables: Variables) =>
    named
      .filter(({ name }) => argumentWeights.has(name.value))
      .filter(({ value }) => valueFromASTUntyped(value, variables) != null)
      .reduce((sum, { name }) => sum + (argumentWeights.get(name.value) ?? 0), 0)

  /**
   * Returns the assumed size of an unpaginated list; 1 for other fields. Looks fields up by name, although a list may
   * have the same name as a connection. A selection with `nodes` or `edges` shows that the field is a connection.
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

/** Returns the largest value of a directive for each field or argument name. */
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

function listFields(schema: GraphQLSchema): GraphQLField<unknown, unknown>[] {
  const all = Object.values(schema.getTypeMap()).filter(isObjectType)
  const types = all.filter((type) => !isIntrospectionType(type))
  return types.flatMap((type) => Object.values(type.getFields()))
}

function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Variables {
  return Object.fromEntries(
    variableDefinitions.flatMap(({ variable, defaultValue }) =>
      defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
    ),
  )
}

/** Returns the requested page size. A size that is negative or too large counts as the largest valid one. */
function pageSizeOf(field: FieldNode, variables: Variables): number {
  const first = field.arguments?.find(({ name }) => name.value === 'first')
  const asked = (first && valueFromASTUntyped(first.value, variables)) ?? PAGE_SIZE_DEFAULT
  return typeof asked === 'number' && asked >= 0 ? Math.min(asked, PAGE_SIZE_MAX) : PAGE_SIZE_MAX
}
