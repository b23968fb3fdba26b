import {
  type CompiledQuery,
  type ConnectionProvider,
  DefaultQueryExecutor,
  type Dialect,
  type Kysely,
  type QueryResult,
} from 'kysely'

import type { Schema } from './schema.ts'

/**
 * Compiles a query once and runs it without the builder and its executor: for a short query each of the
 * two costs more than running it. For queries of every request that find a few rows by key or write
 * one; on PostgreSQL those that read share a connection.
 *
 * @param kysely where the query runs, also a transaction
 * @param build makes the query; `value('name')` stands for a value of each call
 * @returns the query as a function of its values; it is compiled at its first call
 */
export function compiled<Values extends object, Row>(
  kysely: Kysely<Schema>,
  build: (value: Valued<Values>) => { compile(): CompiledQuery<Row> },
): (values: Values) => Promise<QueryResult<Row>> {
  let query: CompiledQuery<Row> | undefined
  const executor = kysely.getExecutor()
  return async (values) => {
    // The builder accepts any object as a value, and returns it as a parameter.
    query ??= build((name) => new Placeholder(name) as never).compile()
    const parameters = query.parameters.map((parameter) =>
      parameter instanceof Placeholder ? Reflect.get(values, parameter.name) : parameter,
    )
    const run = { ...query, parameters }
    return await (executor instanceof StatementExecutor
      ? executor.run(run)
      : kysely.executeQuery(run))
  }
}

/** Stands in a query where each call has a value. */
export type Valued<Values extends object> = <Name extends keyof Values>(name: Name) => Values[Name]

class Placeholder {
  readonly name: PropertyKey

  constructor(name: PropertyKey) {
    this.name = name
  }
}

type Run = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>

/**
 * Runs one statement outside of any transaction, without the overhead of Kysely. Returns nothing when
 * that is not possible at the moment; then Kysely runs the statement.
 */
export type RunStatement = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>> | undefined

/** Kysely's executor, which can also run a statement directly. That of a transaction is a plain one. */
export class StatementExecutor extends DefaultQueryExecutor {
  readonly run: Run

  constructor(dialect: Dialect, connections: ConnectionProvider, run: Run) {
    super(dialect.createQueryCompiler(), dialect.createAdapter(), connections)
    this.run = run
  }
}
