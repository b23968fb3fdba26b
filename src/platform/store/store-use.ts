import type { RawNode, RootOperationNode } from 'kysely'

/** A store call, as seen by metrics and traces. */
export type StoreUse =
  | { readonly store: SqlStore; readonly statement: RootOperationNode | 'transaction' }
  | { readonly store: 'redis'; readonly operation: RecordOperation; readonly model: string }

export type SqlStore = 'sqlite' | 'postgres'

export type RecordOperation = (typeof recordOperations)[number]

const recordOperations = [
  'upsert',
  'find',
  'findByUid',
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

/** All operations of `describeUse`: SQL statements, then operations on OAuth state records. */
export const storeOperations: readonly string[] = [
  ...Object.values(statementKinds),
  'transaction',
  'other',
  ...recordOperations,
]

interface Description {
  readonly operation: string
  readonly name: string
}

/** Cached descriptions, because the statements of requests are compiled only once (compiled.ts). */
const described = new WeakMap<RootOperationNode, Description>()

/** Returns the operation of a call, and a name without values, such as `select oauth_grant` or `find Session`. */
export function describeUse(use: StoreUse): Description {
  if (use.store === 'redis') return describe(use.operation, use.model)
  const { statement } = use
  if (statement === 'transaction') return describe(statement)
  const known = described.get(statement) ?? describeStatement(statement)
  described.set(statement, known)
  return known
}

function describe(operation: string, target?: string): Description {
  return { operation, name: target === undefined ? operation : `${operation} ${target}` }
}

function describeStatement(statement: RootOperationNode): Description {
  if (statement.kind === 'RawNode') return describeText(statement)
  return describe(statementKinds[statement.kind] ?? 'other', tableOf(statement))
}

/** Describes raw SQL by its fragments, which contain no values. */
function describeText({ sqlFragments }: RawNode): Description {
  const text = sqlFragments.join(' ').toLowerCase()
  const [, first = ''] = /^\s*([a-z]+)/.exec(text) ?? []
  const [, table] = /\b(?:from|into|update)\s+([a-z_]+)/.exec(text) ?? []
  return describe(Object.values(statementKinds).includes(first) ? first : 'other', table)
}

function tableOf(statement: RootOperationNode): string | undefined {
  if ('from' in statement) return nameOf(statement.from?.froms[0])
  if ('into' in statement) return nameOf(statement.into)
  return 'table' in statement ? nameOf(statement.table) : undefined
}

interface NamedNode {
  readonly kind: string
  readonly node?: NamedNode
  readonly table?: { readonly identifier: { readonly name: string } }
}

function nameOf(node: NamedNode | undefined): string | undefined {
  return node?.kind === 'AliasNode' ? nameOf(node.node) : node?.table?.identifier.name
}
