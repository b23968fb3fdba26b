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
 * Creates a function that runs a query, which it compiles on the first call. Later calls skip Kysely's builder and
 * executor, each of which takes longer than a short query. On PostgreSQL, they normally use shared connections. Use
 * this function for frequent queries that find a few rows by key or write one row.
 *
 * @param build builds the query; `value('name')` is the placeholder for a value
 */
export function compiled<Values extends object, Row>(
  kysely: Kysely<Schema>,
  build: (value: Valued<Values>) => Compilable<Row>,
): (values: Values) => Promise<QueryResult<Row>> {
  const fill = compiledOnce((_, value: Valued<Values>) => build(value))
  return async (values) => await runStatement(kysely, fill(kysely, values))
}

/** Creates a function that fills values into a query. Compiles the query once for each database engine. */
export function compiledOnce<Values extends object, Row>(
  build: (kysely: Kysely<Schema>, value: Valued<Values>) => Compilable<Row>,
): (kysely: Kysely<Schema>, values: Values) => CompiledQuery<Row> {
  const queries = new Map<unknown, CompiledQuery<Row>>()
  return (kysely, values) => {
    const engine = kysely.getExecutor().adapter.constructor
    let query = queries.get(engine)
    if (!query) {
      // The builder accepts any value, such as a symbol, and returns it among the parameters.
      query = build(kysely, (name) => Symbol(String(name)) as never).compile()
      queries.set(engine, query)
    }
    const parameters = query.parameters.map((parameter) =>
      typeof parameter === 'symbol' ? Reflect.get(values, parameter.description ?? '') : parameter,
    )
    return { ...query, parameters }
  }
}

/** Runs a short statement. On PostgreSQL, normally uses a shared connection, except in transactions. */
export async function runStatement<Row>(
  kysely: Kysely<Schema>,
  query: CompiledQuery<Row>,
): Promise<QueryResult<Row>> {
  const executor = kysely.getExecutor()
  return await (executor instanceof StatementExecutor
    ? executor.run(query)
    : kysely.executeQuery(query))
}

interface Compilable<Row> {
  compile(): CompiledQuery<Row>
}

/**
 * Sends statements of a transaction in order. Unlike Kysely, does not wait for each response. On PostgreSQL, all
 * statements together take one round trip.
 *
 * @returns the rows of the last statement
 */
export async function sendTogether<Row>(
  trx: Kysely<Schema>,
  statements: readonly CompiledQuery<Row>[],
): Promise<Row[]> {
  return await trx.getExecutor().provideConnection(async (connection) => {
    const sent = statements.map((statement) => connection.executeQuery<Row>(statement))
    return (await Promise.all(sent)).at(-1)?.rows ?? []
  })
}

/**
 * Sends the last statements of a transaction. On PostgreSQL, does not wait for the responses, so that `commit` is sent
 * together with these statements. If one of them fails, `commit` fails with its error. After a timeout, the
 * transaction may still be committed.
 */
export async function sendBeforeCommit(
  trx: Kysely<Schema>,
  engine: 'sqlite' | 'postgres',
  statements: readonly CompiledQuery[],
): Promise<void> {
  const { sent } = await trx.getExecutor().provideConnection(async (connection) => ({
    sent: Promise.all(statements.map((statement) => connection.executeQuery(statement))),
  }))
  if (engine === 'sqlite') await sent
  else sent.catch(() => {})
}

/** Returns the placeholder for the value with this name. */
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
