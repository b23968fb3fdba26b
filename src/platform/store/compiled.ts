import type { CompiledQuery, Kysely, QueryResult } from 'kysely'

import type { Schema } from './schema.ts'
import { StatementExecutor } from './statement-executor.ts'

/**
 * Queries that every request makes are built and compiled once, and then run without the builder
 * and its executor: for a short query each of the two costs more than running it. They find a few
 * rows by key or write one, because on PostgreSQL those that read share a connection.
 *
 * @param kysely what the query is run on, a transaction included
 * @param build makes the query; `value('name')` stands where a value of each call will be
 * @returns the query as a function of its values; it is compiled at its first call
 */
export function compiled<Values extends object, Row>(
  kysely: Kysely<Schema>,
  build: (value: Valued<Values>) => Compilable<Row>,
): (values: Values) => Promise<QueryResult<Row>> {
  let query: CompiledQuery<Row> | undefined
  const executor = kysely.getExecutor()
  return async (values) => {
    // The builder takes whatever stands for a value as the value, and hands it back as a parameter.
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

/** Stands in a query where a value of each call will be. */
export type Valued<Values extends object> = <Name extends keyof Values>(name: Name) => Values[Name]

interface Compilable<Row> {
  compile(): CompiledQuery<Row>
}

class Placeholder {
  readonly name: PropertyKey

  constructor(name: PropertyKey) {
    this.name = name
  }
}
