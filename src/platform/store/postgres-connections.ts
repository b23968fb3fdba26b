import pg from 'pg'

import { AnsweredTooLate, batchWritesOfThisTurn, type StorageTimeout } from './storage-timeout.ts'

const PREPARED_MAX = 500
const preparedNames = new Map<string, string>()

/**
 * Returns the name under which connections prepare a query, because planning a large join takes several times as long
 * as running it. Only lists have many different texts, so texts beyond the maximum are sent without a name.
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
  /** When the call times out, an earlier `limit()`; a whole limit by default. */
  readonly until?: number | undefined
  /** Called if the connection must not be used any more. */
  readonly onUnusable: (error: unknown) => void
}

/**
 * Sends a query under its prepared name. A query that timed out leaves its connection in an unknown state: the answer
 * may still arrive, or a transaction may be open.
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
    // The query had no effect, so it may be repeated; a transaction rejects that.
    const again = stale ? answerTo(client, query, options) : undefined
    // Only an answer of the server proves that the connection is in sync.
    if (stale || !(error instanceof pg.DatabaseError)) options.onUnusable(error)
    if (!again) throw error
    return await again
  }
}

/** Sends a query without a name. */
export function answerTo(
  client: pg.ClientBase,
  query: pg.QueryConfig,
  { timeout, until }: Omit<SendOptions, 'onUnusable'>,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new AnsweredTooLate('PostgreSQL did not answer in time.'))
    const wait = timeout.start(giveUp, until)
    // The callback form avoids two promises and the stack of an error.
    void client.query(query, (error: Error | null, result) => {
      timeout.stop(wait)
      if (error) reject(error)
      else resolve(result)
    })
  })
}

/**
 * Whether a table changed after the connection had prepared the query (feature_not_supported), for example by a
 * migration. The query is then repeated without a name, and the connection is replaced.
 */
function isStalePlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '0A000'
}

export interface PipelineOptions {
  readonly config: pg.ClientConfig
  readonly timeout: StorageTimeout
  /** Prepares a new connection. */
  readonly onConnect: (client: pg.ClientBase) => Promise<void>
  /** Called if an idle connection breaks. */
  readonly onIdleError: ((error: Error) => void) | undefined
}

/**
 * Opens connections that several requests share: queries are sent without waiting for earlier answers, and those of one
 * turn of the event loop as one write. For short reads only: the server answers in order, so a query that waits for a
 * lock would block the ones behind it. The server cancels a query at the time limit. If it does not answer at all,
 * the connection is dropped and all its queries fail.
 */
export function openPipelines(count: number, options: PipelineOptions) {
  const lanes = Array.from({ length: count }, () => new Lane(options))
  return {
    count,
    countOpen: () => lanes.filter((lane) => lane.isOpen).length,
    /** Sends a query on the lane with the fewest pending. */
    send: async (query: Query) =>
      await lanes.reduce((best, lane) => (lane.pending < best.pending ? lane : best)).send(query),
    end: async () => await Promise.all(lanes.map((lane) => lane.end())),
  }
}

export type Pipelines = ReturnType<typeof openPipelines>

interface Connection {
  readonly client: pg.Client
  pending: number
}

/** One shared connection, opened on demand, and again after it breaks. */
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
      const late = () => reject(new Error('Timed out waiting for a PostgreSQL connection.'))
      const wait = timeout.start(late, until)
      connecting.then(resolve, reject).finally(() => timeout.stop(wait))
    })
  }

  async #connect(): Promise<Connection> {
    const { config, onConnect, onIdleError } = this.#options
    const client = new pg.Client({ ...config, pipeline: true })
    const connection: Connection = { client, pending: 0 }
    // Without a listener, a closed connection would crash this process.
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

  /** Stops using a connection. Pending queries still get their answers if the server responds. */
  #leave(connection: Connection, error: unknown): void {
    if (this.#current === connection) this.#current = undefined
    if (!(error instanceof pg.DatabaseError)) connection.client.connection.stream.destroy()
  }

  async end(): Promise<void> {
    const connection = this.#current ?? (await this.#connecting?.catch(() => undefined))
    await connection?.client.end()
  }
}
