import pg from 'pg'

import { AnsweredTooLate, type Patience } from './patience.ts'

const PREPARED_MAX = 500
const preparedNames = new Map<string, string>()

/**
 * The name under which a connection prepares a query once: planning a join of five tables takes the
 * server several times as long as running it. Texts are few, except those of lists, whose length
 * varies; the first ones get a name, and any further ones are sent as they are.
 */
function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text)
  if (known !== undefined || preparedNames.size >= PREPARED_MAX) return known
  const name = `gatehouse_${preparedNames.size}`
  preparedNames.set(text, name)
  return name
}

export interface Query {
  readonly text: string
  readonly values: unknown[]
}

export interface SendOptions {
  readonly patience: Patience
  /** Until when the answer is waited for, a `limit()` of before; a whole limit without it. */
  readonly until?: number | undefined
  /** Hears that the connection must not be given any further query, and why. */
  readonly onUnusable: (error: unknown) => void
}

/**
 * Sends a query under its name. One that was given up leaves its connection in an unknown state: the
 * answer may still come, a transaction may be open.
 */
export async function sendQuery(
  client: pg.ClientBase,
  query: Query,
  options: SendOptions,
): Promise<pg.QueryResult> {
  const name = preparedName(query.text)
  try {
    return await answerTo(client, name === undefined ? query : { ...query, name }, options)
  } catch (error) {
    const stale = isStalePlan(error)
    // It did nothing, so that it may be sent again; only in a transaction that is refused.
    const again = stale ? answerTo(client, query, options) : undefined
    // Only an answer of the server says that the connection is still in step with it.
    if (stale || !(error instanceof pg.DatabaseError)) options.onUnusable(error)
    if (!again) throw error
    return await again
  }
}

/** The answer to a query that is sent as it is. */
export function answerTo(
  client: pg.ClientBase,
  query: pg.QueryConfig,
  { patience, until }: Pick<SendOptions, 'patience' | 'until'>,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new AnsweredTooLate('PostgreSQL did not answer in time.'))
    const wait = patience.wait(giveUp, until)
    // The form with a callback: the other one makes two more promises and an error's stack.
    void client.query(query, (error: Error | null, result) => {
      patience.stop(wait)
      if (error) reject(error)
      else resolve(result)
    })
  })
}

/**
 * feature_not_supported: a table was changed, by the migration of a newer version for example, after
 * this connection had prepared a query on it. The query is sent again without a name, and the
 * connection is replaced by one that prepares everything anew.
 */
function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '0A000'
}
