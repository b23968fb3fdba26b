import type { CompiledQuery, RootOperationNode } from 'kysely'

/** A store call, as seen by metrics and traces. */
export type StoreUse =
  | { readonly store: SqlStore; readonly statement: CompiledQuery | 'transaction' }
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

const statementKinds: readonly string[] = ['select', 'insert', 'update', 'delete']

/** All operations that `describeUse` returns: SQL statements, then operations on OAuth state records. */
export const storeOperations: readonly string[] = [
  ...statementKinds,
  'transaction',
  'other',
  ...recordOperations,
]

/** The descriptions, keyed by query. A compiled query (compiled-queries.ts) is reused, so it is described once. */
const described = new WeakMap<RootOperationNode, ReturnType<typeof describeCall>>()

/** Returns the operation of a call, and a name without values, such as `select oauth_grant` or `find Session`. */
export function describeUse(use: StoreUse) {
  if (use.store === 'redis') return describeCall(use.operation, use.model)
  const { statement } = use
  if (statement === 'transaction') return describeCall(statement)
  const known = described.get(statement.query) ?? describeStatement(statement)
  described.set(statement.query, known)
  return known
}

function describeCall(operation: string, target?: string) {
  return { operation, name: target === undefined ? operation : `${operation} ${target}` }
}

function describeStatement({ sql }: CompiledQuery) {
  const [, first = ''] = /^\s*([a-z]+)/.exec(sql) ?? []
  const [, table] = /\b(?:from|into|update)\s+"?([a-z_]+)/.exec(sql) ?? []
  return describeCall(statementKinds.includes(first) ? first : 'other', table)
}
