import pg from 'pg'

import { batchWritesOfThisTurn } from './batch-writes.ts'
import { AnsweredTooLate, type StorageTimeout } from './storage-timeout.ts'

const PREPARED_MAX = 500
const preparedNames = new Map<string, string>()

/**
 * The name under which a connection prepares a query once: planning a join of five tables takes the
 * server several times as long as running it. Texts are few, except those of lists, whose length
 * varies. The first texts get a name, and later ones are sent without.
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
  readonly timeout: StorageTimeout
  /** Until when the answer is waited for, an earlier `limit()`; a whole limit by default. */
  readonly until?: number | undefined
  /** Called when the connection must not be given any further query. */
  readonly onUnusable: (error: unknown) => void
}

/**
 * Sends a query under its prepared name. A query that timed out leaves its connection in an unknown state:
 * the answer may still come, a transaction may be open.
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
    // The query had no effect, so it may be repeated; only within a transaction that is refused.
    const again = stale ? answerTo(client, query, options) : undefined
    // Only an answer of the server says that the connection is still in step with it.
    if (stale || !(error instanceof pg.DatabaseError)) options.onUnusable(error)
    if (!again) throw error
    return await again
  }
}

/** Sends a query as it is. */
export function answerTo(
  client: pg.ClientBase,
  query: pg.QueryConfig,
  { timeout, until }: Omit<SendOptions, 'onUnusable'>,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new AnsweredTooLate('PostgreSQL did not answer in time.'))
    const wait = timeout.start(giveUp, until)
    // The callback form, because the other one creates two more promises and an error's stack.
    void client.query(query, (error: Error | null, result) => {
      timeout.stop(wait)
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

export interface PipelineOptions {
  readonly config: pg.ClientConfig
  readonly timeout: StorageTimeout
  /** Prepares a new connection. */
  readonly onConnect: (client: pg.ClientBase) => Promise<void>
  /** Called when an idle connection broke. */
  readonly onIdleError: ((error: Error) => void) | undefined
}

/**
 * Connections that several requests use at the same time: each query is sent without waiting for the
 * answers to those before it, and those of one turn of the event loop are sent as one. That is for
 * short queries that only read: the server answers in the order of the queries, so a query that waits
 * for a lock would block all that are behind it. The server cancels a query at the time limit. When a
 * server does not answer at all, the connection is dropped, and the queries on it fail together.
 */
export class Pipelines {
  readonly #lanes: readonly Lane[]

  constructor(count: number, options: PipelineOptions) {
    this.#lanes = Array.from({ length: count }, () => new Lane(options))
  }

  get count(): number {
    return this.#lanes.length
  }

  get openCount(): number {
    return this.#lanes.filter((lane) => lane.isOpen).length
  }

  /** Sends a query on the lane with the fewest pending. */
  async send(query: Query): Promise<pg.QueryResult> {
    const lane = this.#lanes.reduce((best, lane) => (lane.pending < best.pending ? lane : best))
    return await lane.send(query)
  }

  async end(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.end()))
  }
}

interface Connection {
  readonly client: pg.Client
  pending: number
}

/** One connection of the pipelines, opened when it is needed, and again after it broke. */
class Lane {
  pending = 0
  readonly #options: PipelineOptions
  #current: Connection | undefined
  #connecting: Promise<Connection> | undefined

  constructor(options: PipelineOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#current !== undefined
  }

  async send(query: Query): Promise<pg.QueryResult> {
    const until = this.#options.timeout.limit()
    this.pending += 1
    try {
      return await this.#sendOn(this.#current ?? (await this.#connected(until)), query, until)
    } finally {
      this.pending -= 1
    }
  }

  async #sendOn(connection: Connection, query: Query, until: number): Promise<pg.QueryResult> {
    const { client } = connection
    connection.pending += 1
    batchWritesOfThisTurn(client.connection.stream)
    try {
      return await sendQuery(client, query, {
        timeout: this.#options.timeout,
        until,
        onUnusable: (error) => this.#leave(connection, error),
      })
    } finally {
      connection.pending -= 1
      if (connection.pending === 0 && connection !== this.#current) client.end(() => {})
    }
  }

  /** Concurrent callers share the connection that is being opened. */
  #connected(until: number): Promise<Connection> {
    const { timeout } = this.#options
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    const connecting = this.#connecting
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error('PostgreSQL gave no connection in time.'))
      const wait = timeout.start(late, until)
      connecting.then(resolve, reject).finally(() => timeout.stop(wait))
    })
  }

  async #connect(): Promise<Connection> {
    const { config, onConnect, onIdleError } = this.#options
    const client = new pg.Client({ ...config, pipeline: true })
    const connection: Connection = { client, pending: 0 }
    // Without a listener, a connection that the server closes would end this process.
    client.on('error', (error) => {
      if (this.#current !== connection) return
      this.#current = undefined
      // Pending queries report the error themselves.
      if (connection.pending === 0) onIdleError?.(error)
    })
    await client.connect()
    try {
      await onConnect(client)
    } catch (error) {
      client.connection.stream.destroy()
      throw error
    }
    this.#current = connection
    return connection
  }

  /** Sends no further query there. Pending ones are answered, if the server answers at all. */
  #leave(connection: Connection, error: unknown): void {
    if (this.#current === connection) this.#current = undefined
    if (!(error instanceof pg.DatabaseError)) connection.client.connection.stream.destroy()
  }

  async end(): Promise<void> {
    const connection = this.#current ?? (await this.#connecting?.catch(() => undefined))
    await connection?.client.end()
  }
}
