import pg from 'pg'

import type { Patience } from './patience.ts'
import { type Query, sendQuery } from './postgres-query.ts'
import { holdForThisTurn } from './turn.ts'

export interface PipelineOptions {
  readonly config: pg.ClientConfig
  readonly patience: Patience
  /** Prepares a new connection. */
  readonly onConnect: (client: pg.ClientBase) => Promise<void>
  /** Hears of a connection that broke while nobody used it. */
  readonly onIdleError: ((error: Error) => void) | undefined
}

/**
 * Connections that several requests use at the same time: each query is sent without waiting for the
 * answers to those before it, and those of one turn of the event loop are sent as one. That is for
 * short queries that only read: the server answers in the order of asking, so that one which waits
 * for a lock would hold up all that are behind it. The server ends it at the time limit; a server
 * that does not answer at all loses the connection, and what is on its way there fails together.
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

  /** Sends a query where the fewest are under way. */
  async send(query: Query): Promise<pg.QueryResult> {
    const lane = this.#lanes.reduce((best, lane) => (lane.underWay < best.underWay ? lane : best))
    return await lane.send(query)
  }

  async end(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.end()))
  }
}

interface Connection {
  readonly client: pg.Client
  underWay: number
}

/** The place of one connection, which is made when it is needed, and again when it broke. */
class Lane {
  underWay = 0
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
    const until = this.#options.patience.limit()
    this.underWay += 1
    try {
      return await this.#sendOn(this.#current ?? (await this.#connected(until)), query, until)
    } finally {
      this.underWay -= 1
    }
  }

  async #sendOn(connection: Connection, query: Query, until: number): Promise<pg.QueryResult> {
    const { client } = connection
    connection.underWay += 1
    holdForThisTurn(client.connection.stream)
    try {
      return await sendQuery(client, query, {
        patience: this.#options.patience,
        until,
        onUnusable: (error) => this.#leave(connection, error),
      })
    } finally {
      connection.underWay -= 1
      if (connection.underWay === 0 && connection !== this.#current) client.end(() => {})
    }
  }

  /** Everybody who needs a connection that is being made waits for the same one. */
  #connected(until: number): Promise<Connection> {
    const { patience } = this.#options
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    const connecting = this.#connecting
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error('PostgreSQL gave no connection in time.'))
      const wait = patience.wait(late, until)
      connecting.then(resolve, reject).finally(() => patience.stop(wait))
    })
  }

  async #connect(): Promise<Connection> {
    const { config, onConnect, onIdleError } = this.#options
    const client = new pg.Client({ ...config, pipeline: true })
    const connection: Connection = { client, underWay: 0 }
    // Without a listener, a connection that the server closes would end this process.
    client.on('error', (error) => {
      if (this.#current !== connection) return
      this.#current = undefined
      // Whoever waits for an answer hears of it from that.
      if (connection.underWay === 0) onIdleError?.(error)
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

  /** No further query goes there; what is under way is answered, if the server answers at all. */
  #leave(connection: Connection, error: unknown): void {
    if (this.#current === connection) this.#current = undefined
    if (!(error instanceof pg.DatabaseError)) connection.client.connection.stream.destroy()
  }

  async end(): Promise<void> {
    const connection = this.#current ?? (await this.#connecting?.catch(() => undefined))
    await connection?.client.end()
  }
}
