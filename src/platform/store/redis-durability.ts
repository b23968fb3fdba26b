import type { Redis } from 'ioredis'
import type { Logger } from 'pino'

import type { RedisClient } from './redis.ts'

/** How a Redis server persists acknowledged writes and evicts keys. */
export type Durability = Awaited<ReturnType<typeof readServer>>

/** A finding about a server: `note` is a weakness, `wrong` breaks the service. */
export interface Remark {
  readonly kind: 'ok' | 'note' | 'wrong'
  readonly sentence: string
}

/** Inspects the server, or every server of a cluster. Includes replicas, because they may become masters. */
export async function readDurability(client: RedisClient): Promise<Durability[]> {
  const servers = 'nodes' in client ? client.nodes('all') : [client]
  return await Promise.all(servers.map(readServer))
}

async function readServer(server: Redis) {
  const [persistence, memory] = [await server.info('persistence'), await server.info('memory')]
  const limited = !/^maxmemory:0\s*$/m.test(memory)
  const policy = fieldOf(memory, 'maxmemory_policy') ?? 'unknown'
  const setting = await server.config('GET', 'appendfsync').catch(() => undefined)
  return {
    address: `${server.options.host}:${server.options.port}`,
    appends: fieldOf(persistence, 'aof_enabled') === '1',
    /** When the append-only file is flushed; undefined if the provider forbids CONFIG. */
    appendFsync: (setting as string[] | undefined)?.[1],
    unsavedChanges: Number(fieldOf(persistence, 'rdb_changes_since_last_save') ?? 0),
    /** The eviction policy; undefined if nothing is evicted. */
    evictsBy: limited && policy !== 'noeviction' ? policy : undefined,
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
}

/** Logs how the servers could lose data, or that their durability is unknown. */
export async function warnOfLoss(client: RedisClient, logger: Pick<Logger, 'warn'>): Promise<void> {
  const found = await readDurability(client).catch(() => undefined)
  if (!found) {
    logger.warn(
      'The durability of Redis is unknown: INFO is forbidden, or Redis did not respond. Allow INFO for this user, ' +
        'or check persistence and eviction yourself.',
    )
    return
  }
  for (const { kind, sentence } of found.flatMap(judgeDurability)) {
    if (kind !== 'ok') logger.warn(sentence)
  }
}

/** Describes whether a server evicts keys, and how it can lose acknowledged writes. */
export function judgeDurability(found: Durability): Remark[] {
  return [judgeEviction(found), judgeLoss(found)]
}

function judgeEviction({ address, evictsBy }: Durability): Remark {
  if (evictsBy === undefined)
    return { kind: 'ok', sentence: `Redis at ${address} does not evict keys.` }
  const sentence =
    `Redis at ${address} evicts sessions and used proofs when its memory is full ` +
    `(maxmemory-policy ${evictsBy}; it must be noeviction).`
  return { kind: 'wrong', sentence }
}

function judgeLoss({ address, appends, appendFsync, unsavedChanges }: Durability): Remark {
  if (!appends) {
    const now = unsavedChanges === 1 ? '1 change' : `${unsavedChanges} changes`
    const sentence =
      `Redis at ${address} can lose acknowledged writes: it saves snapshots only (appendonly no), and would lose ${now} if it crashed now. ` +
      'Redis contains no tokens, but people may have to sign in again. To lose at most about 2 s, set appendonly to yes.'
    return { kind: 'note', sentence }
  }
  const sentences: Readonly<Record<string, string>> = {
    always: `Redis at ${address} keeps all acknowledged writes, even after a power failure.`,
    everysec: `Redis at ${address} can lose up to 2 s of acknowledged writes if its machine fails, but none if only Redis stops (appendfsync everysec).`,
    no: `Redis at ${address} can lose about 30 s of acknowledged writes if its machine fails (appendfsync no). To lose at most 2 s, set appendfsync to everysec.`,
  }
  const unknown = `The appendfsync setting of Redis at ${address} is unknown (CONFIG is forbidden): ask its provider how soon writes reach the disk.`
  const kind = appendFsync === 'always' ? 'ok' : 'note'
  return { kind, sentence: sentences[appendFsync ?? ''] ?? unknown }
}
