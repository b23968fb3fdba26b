import { Cluster, type Command, Redis, type RedisOptions } from 'ioredis'

import { makePatience, type Patience } from './patience.ts'
import { holdForThisTurn } from './turn.ts'

export type RedisClient = Redis | Cluster

export type RedisLocation =
  | { readonly url: string }
  | {
      /** `host:port` each, or `redis://user:password@host:port`; the first's credentials serve all. */
      readonly clusterNodes: readonly string[]
    }

export interface RedisConnectOptions {
  readonly commandTimeoutMs: number
  /** How long a start waits for the server, 5 s without it. */
  readonly readyTimeoutMs?: number
}

const READY_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 500
const RECONNECT_DELAY_MAX_MS = 500

/**
 * A client that fails fast: a command is answered or refused within its timeout and is never kept
 * for later, because a request that waits is worse than one that says "temporarily unavailable".
 * It returns once the server is ready, and afterwards reconnects for ever.
 */
export async function openRedis(
  location: RedisLocation,
  options: RedisConnectOptions,
): Promise<RedisClient> {
  const patience = makePatience(options.commandTimeoutMs)
  const client =
    'url' in location
      ? new PatientRedis(location.url, patience)
      : openCluster(location.clusterNodes, patience)
  let lastError: Error | undefined
  // Without a listener, an error would be printed at every attempt to reconnect.
  client.on('error', (error: Error) => {
    lastError = error
  })
  if (!(await becomesReady(client, options.readyTimeoutMs ?? READY_TIMEOUT_MS))) {
    client.disconnect()
    throw new Error(`Redis at ${addressOf(location)} is not ready.`, { cause: lastError })
  }
  return client
}

const failFast = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT_MS,
  autoResendUnfulfilledCommands: false,
  retryStrategy: reconnectDelayMs,
} satisfies RedisOptions

/** The commands of one turn of the event loop are sent as one, by the socket instead of a pipeline. */
class PatientRedis extends Redis {
  readonly #patience: Patience

  constructor(url: string, patience: Patience) {
    super(url, failFast)
    this.#patience = patience
  }

  override sendCommand(command: Command, stream?: SentOn): unknown {
    if (this.stream) holdForThisTurn(this.stream)
    giveUpLate(command, this.#patience)
    return super.sendCommand(command, stream)
  }
}

class PatientCluster extends Cluster {
  readonly #patience: Patience

  constructor(
    nodes: readonly URL[],
    options: ReturnType<typeof clusterOptions>,
    patience: Patience,
  ) {
    const addresses = nodes.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || '6379'),
    }))
    super(addresses, options)
    this.#patience = patience
  }

  override sendCommand(command: Command, stream?: SentOn, node?: unknown): unknown {
    giveUpLate(command, this.#patience)
    return super.sendCommand(command, stream, node)
  }
}

type SentOn = Parameters<Redis['sendCommand']>[1]

/** The library's own limit would also count the time in which this process could not listen. */
function giveUpLate(command: Command, patience: Patience): void {
  const wait = patience.wait(() => command.reject(new Error('Redis did not answer in time.')))
  const stop = () => patience.stop(wait)
  command.promise.then(stop, stop)
}

function reconnectDelayMs(attempt: number): number {
  return Math.min(50 * attempt, RECONNECT_DELAY_MAX_MS)
}

/** The first node's credentials serve all. */
function clusterOptions({ username, password, protocol }: URL) {
  const { enableOfflineQueue, retryStrategy, ...node } = failFast
  return {
    enableOfflineQueue,
    // Each node has a socket of its own, so that commands are gathered before one is chosen.
    enableAutoPipelining: true,
    clusterRetryStrategy: retryStrategy,
    // A command follows a moved slot and a fail-over that is over soon, and nothing longer.
    maxRedirections: 3,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 50,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    redisOptions: {
      ...node,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' ? { tls: {} } : {}),
    },
  }
}

function openCluster(nodes: readonly string[], patience: Patience): Cluster {
  const addresses = nodes.map(nodeAddress)
  const [first] = addresses
  if (!first) throw new Error('A Redis Cluster needs the address of one node at least.')
  return new PatientCluster(addresses, clusterOptions(first), patience)
}

function nodeAddress(node: string): URL {
  return new URL(node.includes('://') ? node : `redis://${node}`)
}

async function becomesReady(client: RedisClient, timeoutMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<void>()
  client.once('ready', resolve)
  const timer = setTimeout(resolve, timeoutMs)
  if (client.status !== 'ready') await promise
  clearTimeout(timer)
  client.off('ready', resolve)
  return client.status === 'ready'
}

/** The address for a message, never with the password that may be part of a URL. */
function addressOf(location: RedisLocation): string {
  if ('url' in location) {
    if (!location.url.includes('://')) return location.url
    const { hostname, port } = new URL(location.url)
    return `${hostname}:${port || '6379'}`
  }
  return location.clusterNodes
    .map(nodeAddress)
    .map(({ hostname, port }) => `${hostname}:${port || '6379'}`)
    .join(', ')
}
