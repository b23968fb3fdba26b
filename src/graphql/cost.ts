import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
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

/**
 * Counts the fields that an answer can have. Below a connection, what stands in `nodes` and `edges`
 * counts `first` times. Conditions (`@skip`, `@include`) are taken for true.
 */
export function makeCostOf(schema: GraphQLSchema): CostOf {
  const connections = connectionFields(schema)
  return ({ document, operation, variables }) => {
    const costOf = makeFold(document, {
      join: (total, cost) => total + cost,
      field(field, pageSize, fold) {
        if (!field.selectionSet) return 1
        const name = field.name.value
        const times = listFields.has(name) ? pageSize : 1
        const inside = connections.has(name) ? pageSizeOf(field, variables) : 1
        return 1 + times * fold(field.selectionSet, inside)
      },
    })
    return costOf(operation.selectionSet, 1)
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
