import {
  type CompiledQuery,
  type ConnectionProvider,
  DefaultQueryExecutor,
  type Dialect,
  type QueryResult,
} from 'kysely'

/**
 * Runs one statement outside of any transaction, without what Kysely does around it. Nothing is
 * returned when that is not possible just now; then Kysely runs it.
 */
export type RunStatement = <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>> | undefined

/** Kysely's executor, which can also run a statement directly. That of a transaction is a plain one. */
export class StatementExecutor extends DefaultQueryExecutor {
  /** Runs one statement with as little around it as the database allows. */
  readonly run: <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>

  constructor(
    dialect: Dialect,
    connections: ConnectionProvider,
    run: <Row>(query: CompiledQuery<Row>) => Promise<QueryResult<Row>>,
  ) {
    super(dialect.createQueryCompiler(), dialect.createAdapter(), connections)
    this.run = run
  }
}
