import { setTimeout as delay } from 'node:timers/promises'

import { Cluster, type Command, Redis, type RedisOptions } from 'ioredis'

import { batchWritesOfThisTurn, StorageTimeout } from './storage-timeout.ts'

export type RedisClient = Redis | Cluster

/** The URL of a server, or the nodes of a cluster as `host:port`. */
export type RedisLocation = { readonly url: string } | { readonly clusterNodes: readonly string[] }

interface RedisConnectOptions {
  readonly answerWithinMs: number
  /** The time limit until the server is ready; 5 s by default. */
  readonly readyTimeoutMs?: number
}

const READY_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 500
const RECONNECT_DELAY_MAX_MS = 500

const failFast = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT_MS,
  autoResendUnfulfilledCommands: false,
  retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_DELAY_MAX_MS),
} satisfies RedisOptions

/**
 * Opens a client that fails fast: commands are never queued, and time out (`StorageTimeout`). Resolves once the server
 * is ready, or rejects if it is not ready in time. Reconnects indefinitely.
 */
export async function openRedis(
  location: RedisLocation,
  options: RedisConnectOptions,
): Promise<RedisClient> {
  const client =
    'url' in location ? new Redis(location.url, failFast) : openCluster(location.clusterNodes)
  limitCommands(client, new StorageTimeout(options.answerWithinMs))
  let lastError: Error | undefined
  // Without a listener, ioredis prints an error on every reconnect attempt.
  client.on('error', (error: Error) => {
    lastError = error
  })
  if (!(await becomesReady(client, options.readyTimeoutMs ?? READY_TIMEOUT_MS))) {
    client.disconnect()
    throw new Error(`Redis at ${describeLocation(location)} is not ready.`, { cause: lastError })
  }
  return client
}

/** Limits how long each command may take. The library's own limit would also count time spent in blocking code. */
function limitCommands(client: RedisClient, timeout: StorageTimeout): void {
  const { prototype } = client instanceof Redis ? Redis : Cluster
  client.sendCommand = (command: Command, ...target: unknown[]) => {
    // Send the commands of one event loop turn in one write. A cluster client batches commands itself.
    if (client instanceof Redis && client.stream) batchWritesOfThisTurn(client.stream)
    const wait = timeout.start(() => command.reject(new Error('Redis did not respond in time.')))
    command.promise.then(
      () => timeout.stop(wait, true),
      ({ name }: Error) => timeout.stop(wait, name === 'ReplyError'),
    )
    return Reflect.apply(prototype.sendCommand, client, [command, ...target])
  }
}

function openCluster(nodes: readonly string[]): Cluster {
  const { enableOfflineQueue, retryStrategy, ...redisOptions } = failFast
  return new Cluster([...nodes], {
    enableOfflineQueue,
    redisOptions,
    // Each node has its own socket, so commands are batched before a node is chosen.
    enableAutoPipelining: true,
    clusterRetryStrategy: retryStrategy,
    // Enough redirections for a moved slot or a short failover.
    maxRedirections: 3,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 50,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
  })
}

async function becomesReady(client: RedisClient, timeoutMs: number): Promise<boolean> {
  const ready = new Promise((resolve) => client.once('ready', resolve))
  const timeLimit = delay(timeoutMs, undefined, { ref: false })
  if (client.status !== 'ready') await Promise.race([ready, timeLimit])
  return client.status === 'ready'
}

/** Formats the location for a message, without passwords. */
function describeLocation(location: RedisLocation): string {
  if ('clusterNodes' in location) return location.clusterNodes.join(', ')
  const { hostname, port } = new URL(location.url)
  return `${hostname}:${port || '6379'}`
}
