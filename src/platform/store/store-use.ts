import type { RawNode, RootOperationNode } from 'kysely'

/** What a call to a store is for; whoever measures calls reads it, and nobody else. */
export type StoreUse =
  | { readonly store: SqlStore; readonly statement: RootOperationNode | 'transaction' }
  | { readonly store: 'redis'; readonly operation: RecordOperation; readonly model: string }

export type SqlStore = 'sqlite' | 'postgres'

/** What is asked of a record of OAuth state. */
export type RecordOperation = (typeof recordOperations)[number]

const recordOperations = [
  'upsert',
  'find',
  'findByUid',
  'findByUserCode',
  'consumeOnce',
  'addOnce',
  'destroy',
] as const

const statementKinds: Readonly<Record<string, string>> = {
  SelectQueryNode: 'select',
  InsertQueryNode: 'insert',
  UpdateQueryNode: 'update',
  DeleteQueryNode: 'delete',
}

/** Every kind of call; those of Redis are those of a record. */
export const storeOperations: readonly string[] = [
  ...Object.values(statementKinds),
  'transaction',
  'other',
  ...recordOperations,
]

/**
 * The kind of a call, and a name for it that has no value in it: `select oauth_grant`, `find Session`.
 */
export function describeUse(use: StoreUse): Description {
  if (use.store === 'redis') {
    return { operation: use.operation, name: `${use.operation} ${use.model}` }
  }
  const { statement } = use
  if (statement === 'transaction') return { operation: statement, name: statement }
  const known = described.get(statement)
  if (known) return known
  const description = describe(statement)
  described.set(statement, description)
  return description
}

interface Description {
  readonly operation: string
  readonly name: string
}

/** The statements of every request are built once (`compiled.ts`), and described once. */
const described = new WeakMap<RootOperationNode, Description>()

function describe(statement: RootOperationNode): Description {
  if (statement.kind === 'RawNode') return describeText(statement)
  const operation = statementKinds[statement.kind] ?? 'other'
  return nameUse(operation, tableOf(statement))
}

/** Values are no part of the fragments. */
function describeText({ sqlFragments }: RawNode): Description {
  const text = sqlFragments.join(' ').toLowerCase()
  const [, first = ''] = /^\s*([a-z]+)/.exec(text) ?? []
  const [, table] = /\b(?:from|into|update)\s+([a-z_]+)/.exec(text) ?? []
  const operation = Object.values(statementKinds).find((kind) => kind === first) ?? 'other'
  return nameUse(operation, table)
}

function nameUse(operation: string, table: string | undefined): Description {
  return { operation, name: table === undefined ? operation : `${operation} ${table}` }
}

/** The first table that a statement names. */
function tableOf(statement: RootOperationNode): string | undefined {
  switch (statement.kind) {
    case 'SelectQueryNode':
      return nameOf(statement.from?.froms[0])
    case 'DeleteQueryNode':
      return nameOf(statement.from.froms[0])
    case 'InsertQueryNode':
      return nameOf(statement.into)
    case 'UpdateQueryNode':
      return nameOf(statement.table)
    default:
      return undefined
  }
}

interface NamedNode {
  readonly kind: string
  /** Of an alias. */
  readonly node?: NamedNode
  readonly table?: { readonly identifier: { readonly name: string } }
}

function nameOf(node: NamedNode | undefined): string | undefined {
  return node?.kind === 'AliasNode' ? nameOf(node.node) : node?.table?.identifier.name
}
