import { Cluster, Redis, type RedisOptions } from 'ioredis'

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
  const client =
    'url' in location
      ? new Redis(location.url, failFast(options.commandTimeoutMs))
      : openCluster(location.clusterNodes, options.commandTimeoutMs)
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

function failFast(commandTimeoutMs: number) {
  return {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: CONNECT_TIMEOUT_MS,
    autoResendUnfulfilledCommands: false,
    retryStrategy: reconnectDelayMs,
    enableAutoPipelining: true,
  } satisfies RedisOptions
}

function reconnectDelayMs(attempt: number): number {
  return Math.min(50 * attempt, RECONNECT_DELAY_MAX_MS)
}

function openCluster(nodes: readonly string[], commandTimeoutMs: number): Cluster {
  const addresses = nodes.map(nodeAddress)
  const [first] = addresses
  if (!first) throw new Error('A Redis Cluster needs the address of one node at least.')
  const { enableOfflineQueue, retryStrategy, ...node } = failFast(commandTimeoutMs)
  const options = {
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    clusterRetryStrategy: reconnectDelayMs,
    // A command follows a moved slot and a fail-over that is over soon, and nothing longer.
    maxRedirections: 3,
    retryDelayOnFailover: 50,
    retryDelayOnClusterDown: 50,
    retryDelayOnTryAgain: 50,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    redisOptions: {
      ...node,
      ...(first.username === '' ? {} : { username: decodeURIComponent(first.username) }),
      ...(first.password === '' ? {} : { password: decodeURIComponent(first.password) }),
      ...(first.protocol === 'rediss:' ? { tls: {} } : {}),
    },
  }
  return new Cluster(
    addresses.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || '6379'),
    })),
    options,
  )
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
