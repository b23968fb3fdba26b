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
 * Compiles a query on the first call, and reuses it. Later calls skip Kysely's builder and executor, each of which
 * takes longer than a short query. On PostgreSQL, the calls use shared connections. Use this function for frequent
 * queries that find a few rows by key or write one row.
 *
 * @param build builds the query; `value('name')` is the placeholder of a value
 */
export function compiled<Values extends object, Row>(
  kysely: Kysely<Schema>,
  build: (value: Valued<Values>) => { compile(): CompiledQuery<Row> },
): (values: Values) => Promise<QueryResult<Row>> {
  let query: CompiledQuery<Row> | undefined
  const executor = kysely.getExecutor()
  return async (values) => {
    // The builder accepts any value, such as a symbol, and returns it among the parameters.
    query ??= build((name) => Symbol(String(name)) as never).compile()
    const parameters = query.parameters.map((parameter) =>
      typeof parameter === 'symbol' ? Reflect.get(values, parameter.description ?? '') : parameter,
    )
    const run = { ...query, parameters }
    return await (executor instanceof StatementExecutor
      ? executor.run(run)
      : kysely.executeQuery(run))
  }
}

/**
 * Sends statements of a transaction in order. Unlike Kysely, does not wait for each response. On PostgreSQL, all
 * statements take one round trip.
 *
 * @returns the rows of the last statement
 */
export async function sendTogether<Row>(
  trx: Kysely<Schema>,
  statements: readonly CompiledQuery[],
  last: CompiledQuery<Row>,
): Promise<Row[]> {
  return await trx.getExecutor().provideConnection(async (connection) => {
    const sent = statements.map((statement) => connection.executeQuery(statement))
    const [{ rows }] = await Promise.all([connection.executeQuery<Row>(last), ...sent])
    return rows
  })
}

/** Returns the placeholder of the value with this name. */
export type Valued<Values extends object> = <Name extends keyof Values>(name: Name) => Values[Name]

type Run = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>

/** Runs a statement outside of transactions, without Kysely's overhead. Returns undefined if Kysely must run it. */
export type RunStatement = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>> | undefined

/** Kysely's executor, with a direct way to run a statement. Transactions use Kysely's plain executor. */
export class StatementExecutor extends DefaultQueryExecutor {
  readonly run: Run

  constructor(dialect: Dialect, connections: ConnectionProvider, run: Run) {
    super(dialect.createQueryCompiler(), dialect.createAdapter(), connections)
    this.run = run
  }
}
