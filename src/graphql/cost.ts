import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'

import { fragmentsOf } from './limits.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from './page-arguments.ts'

export interface Operation {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: Readonly<Record<string, unknown>> | null | undefined
}

/** What an operation costs: one for every field of its answer, as large as the answer can be. */
export type CostOf = (operation: Operation) => number

const listFields: ReadonlySet<string> = new Set(['nodes', 'edges'])

/**
 * Counts the fields that an answer can have. Below a connection, what stands in `nodes` and `edges`
 * counts `first` times. Conditions (`@skip`, `@include`) are taken for true.
 */
export function makeCostOf(schema: GraphQLSchema): CostOf {
  const connections = connectionFields(schema)
  return ({ document, operation, variables }) => {
    const fragments = fragmentsOf(document)
    // A fragment is counted once for each page size in which it is spread.
    const known = new Map<string, number>()

    const sum = ({ selections }: SelectionSetNode, pageSize: number): number =>
      selections.reduce((total, selection) => total + costOf(selection, pageSize), 0)

    const costOf = (selection: SelectionNode, pageSize: number): number => {
      switch (selection.kind) {
        case Kind.FIELD:
          return costOfField(selection, pageSize)
        case Kind.INLINE_FRAGMENT:
          return sum(selection.selectionSet, pageSize)
        case Kind.FRAGMENT_SPREAD:
          return costOfFragment(selection.name.value, pageSize)
      }
    }

    const costOfField = (field: FieldNode, pageSize: number): number => {
      if (!field.selectionSet) return 1
      const name = field.name.value
      const times = listFields.has(name) ? pageSize : 1
      const inside = connections.has(name) ? pageSizeOf(field, variables) : 1
      return 1 + times * sum(field.selectionSet, inside)
    }

    const costOfFragment = (name: string, pageSize: number): number => {
      const key = `${pageSize} ${name}`
      const before = known.get(key)
      if (before !== undefined) return before
      const fragment = fragments.get(name)
      const cost = fragment ? sum(fragment.selectionSet, pageSize) : 0
      known.set(key, cost)
      return cost
    }

    return sum(operation.selectionSet, 1)
  }
}

function connectionFields(schema: GraphQLSchema): ReadonlySet<string> {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType)
  const fields = types.flatMap((type) => Object.values(type.getFields()))
  return new Set(
    fields.filter(({ args }) => args.some((arg) => arg.name === 'first')).map(({ name }) => name),
  )
}

/** A size that the connection will refuse counts as the largest that it would accept. */
function pageSizeOf(field: FieldNode, variables: Operation['variables']): number {
  const value = field.arguments?.find(({ name }) => name.value === 'first')?.value
  const asked =
    value?.kind === Kind.VARIABLE
      ? (variables?.[value.name.value] ?? PAGE_SIZE_DEFAULT)
      : Number(value?.kind === Kind.INT ? value.value : PAGE_SIZE_DEFAULT)
  return typeof asked === 'number' && asked >= 0 ? Math.min(asked, PAGE_SIZE_MAX) : PAGE_SIZE_MAX
}
