import pg from 'pg'

import {
  batchWritesOfThisTurn,
  type StorageTimeout,
  StorageTimeoutError,
} from './storage-timeout.ts'

/** The SQLSTATE for a statement whose table has changed since it was prepared (feature_not_supported). */
const TABLE_CHANGED = '0A000'
const PREPARED_MAX = 500
const preparedNames = new Map<string, string>()

/**
 * Returns the name of a query's prepared statement, whose plan the server can reuse. Planning a large join takes
 * several times as long as running it. Once there are PREPARED_MAX names, returns undefined for new queries.
 */
function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text)
  if (known !== undefined || preparedNames.size >= PREPARED_MAX) return known
  const name = `gatehouse_${preparedNames.size}`
  preparedNames.set(text, name)
  return name
}

interface SendOptions {
  readonly timeout: StorageTimeout
  /** The step of `timeout` at which to give up, as returned by its `limit()`. Defaults to a new limit. */
  readonly until?: number | undefined
  /** Called if the connection must no longer be used. */
  readonly onUnusable: (error: unknown) => void
}

/**
 * Sends a query as a prepared statement, and retries it if the plan is stale. Calls `onUnusable` if the plan was stale
 * or the server did not respond: a late response may arrive, or a transaction may still be open.
 */
export async function sendQuery(
  client: pg.ClientBase,
  query: pg.QueryConfig,
  options: SendOptions,
): Promise<pg.QueryResult> {
  const name = preparedName(query.text)
  try {
    return await queryInTime(client, name === undefined ? query : { ...query, name }, options)
  } catch (error) {
    const stale = error instanceof pg.DatabaseError && error.code === TABLE_CHANGED
    // The query had no effect, so retry it. Inside a transaction, the retry fails, too, unless `commit` was already
    // sent. `sendBeforeCommit` therefore takes only queries that return no rows: their plans cannot become stale.
    const again = stale ? queryInTime(client, query, options) : undefined
    // Only a response from the server proves that the connection is in sync.
    if (stale || !(error instanceof pg.DatabaseError)) options.onUnusable(error)
    if (!again) throw error
    return await again
  }
}

/** Sends a query, and rejects if the response does not arrive within the time limit. */
export function queryInTime(
  client: pg.ClientBase,
  { text, values, name }: pg.QueryConfig,
  { timeout, until }: Omit<SendOptions, 'onUnusable'>,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new StorageTimeoutError('PostgreSQL did not respond in time.'))
    const wait = timeout.start(giveUp, until)
    // Send a query object, because pg makes a slow copy of any other object.
    const sent = Object.assign(new pg.Query(text, values), { text, name })
    // Use a callback to save two promises and a stack trace.
    void client.query(sent, (error: Error | null, result) => {
      timeout.stop(wait, !error || error instanceof pg.DatabaseError)
      if (error) reject(error)
      else resolve(result)
    })
  })
}

/** Waits for a connection until the time limit. The connection attempt continues beyond the limit. */
export function beforeLimit<Connection>(
  connecting: Promise<Connection>,
  timeout: StorageTimeout,
  until: number,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('Timed out waiting for a PostgreSQL connection.'))
    const wait = timeout.start(giveUp, until)
    connecting.then(resolve, reject).finally(() => timeout.stop(wait, false))
  })
}

interface PipelineOptions {
  readonly config: pg.ClientConfig
  readonly timeout: StorageTimeout
  readonly onConnect: (client: pg.ClientBase) => Promise<void>
  readonly onIdleError: ((error: Error) => void) | undefined
}

/**
 * Creates connections that requests share. Queries do not wait for earlier responses. All queries of one event loop
 * turn share one write, because each write that wakes the server costs as much as a query. Use these connections only
 * for short statements, because a query that waits for a lock delays later queries. While the server responds to other
 * queries, it cancels a slow query itself. If it does not respond at all, the connection is closed and all its queries
 * fail.
 */
export function openPipelines(count: number, options: PipelineOptions) {
  const lanes = Array.from({ length: count }, () => new Lane(options))
  return {
    count,
    countOpen: () => lanes.filter((lane) => lane.isOpen).length,
    /** Returns the connection with the fewest pending queries; undefined if all of them have `pendingMax`. */
    freest: (pendingMax = Infinity) =>
      lanes
        .filter(({ pending }) => pending < pendingMax)
        .sort((one, other) => one.pending - other.pending)[0],
    end: async () => await Promise.all(lanes.map((lane) => lane.end())),
  }
}

export type Pipelines = ReturnType<typeof openPipelines>

interface Connection {
  readonly client: pg.Client
  pending: number
}

/** A shared connection. It is opened on demand, and reopened after it breaks. */
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

  async send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const until = this.#options.timeout.limit()
    this.pending += 1
    try {
      return await this.#sendOn(this.#current ?? (await this.#connected(until)), query, until)
    } finally {
      this.pending -= 1
    }
  }

  async #sendOn(
    connection: Connection,
    query: pg.QueryConfig,
    until: number,
  ): Promise<pg.QueryResult> {
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

  /** Opens the connection, or waits for a running attempt. Stops waiting at the limit, but the attempt continues. */
  #connected(until: number): Promise<Connection> {
    const { timeout } = this.#options
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return beforeLimit(this.#connecting, timeout, until)
  }

  async #connect(): Promise<Connection> {
    const { config, onConnect, onIdleError } = this.#options
    const client = new pg.Client({ ...config, pipeline: true })
    const connection: Connection = { client, pending: 0 }
    // Listen for errors, because a closed connection without a listener would crash this process.
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

  /** Stops using a connection. Its pending queries still complete if the server responded; otherwise, they fail. */
  #leave(connection: Connection, error: unknown): void {
    if (this.#current === connection) this.#current = undefined
    if (!(error instanceof pg.DatabaseError)) connection.client.connection.stream.destroy()
  }

  async end(): Promise<void> {
    const connection = this.#current ?? (await this.#connecting?.catch(() => undefined))
    await connection?.client.end()
  }
}
