import type { Redis } from 'ioredis'
import type { Logger } from 'pino'

import type { RedisClient } from './redis.ts'

/** How one Redis server persists acknowledged writes. */
export type Durability = Awaited<ReturnType<typeof lookAtServer>>

/** A finding about a server: `note` has a cost, `wrong` breaks the service. */
export interface Remark {
  readonly kind: 'ok' | 'note' | 'wrong'
  readonly sentence: string
}

/** Inspects the server, or each server of a cluster, including replicas that may become masters. */
export async function lookAtDurability(client: RedisClient): Promise<Durability[]> {
  const servers = 'nodes' in client ? client.nodes('all') : [client]
  return await Promise.all(servers.map(lookAtServer))
}

async function lookAtServer(server: Redis) {
  const [persistence, memory] = [await server.info('persistence'), await server.info('memory')]
  const limited = !/^maxmemory:0\s*$/m.test(memory)
  const policy = fieldOf(memory, 'maxmemory_policy') ?? 'unknown'
  // Undefined if the provider forbids CONFIG.
  const setting = await server.config('GET', 'appendfsync').catch(() => undefined)
  return {
    address: `${server.options.host}:${server.options.port}`,
    /** Whether it has an append-only file. */
    appends: fieldOf(persistence, 'aof_enabled') === '1',
    /** When the append-only file is flushed; undefined if CONFIG is forbidden. */
    appendFsync: (setting as string[] | undefined)?.[1],
    /** Changes since the last snapshot. */
    unsavedChanges: Number(fieldOf(persistence, 'rdb_changes_since_last_save') ?? 0),
    /** How it evicts keys when its memory is full; undefined if it does not. */
    evictsBy: limited && policy !== 'noeviction' ? policy : undefined,
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
}

/** Logs what the servers can lose. If INFO is forbidden, the service starts anyway. */
export async function warnOfLoss(client: RedisClient, logger: Pick<Logger, 'warn'>): Promise<void> {
  const found = await lookAtDurability(client).catch(() => undefined)
  if (!found) {
    logger.warn(
      'The durability of Redis is unknown: INFO is forbidden, or Redis did not answer. Allow INFO for this user, ' +
        'or check persistence and eviction yourself.',
    )
    return
  }
  for (const { kind, sentence } of found.flatMap(judgeDurability)) {
    if (kind !== 'ok') logger.warn(sentence)
  }
}

export function judgeDurability(found: Durability): Remark[] {
  return [judgeEviction(found), judgeLoss(found)]
}

function judgeEviction({ address, evictsBy }: Durability): Remark {
  if (evictsBy === undefined)
    return { kind: 'ok', sentence: `Redis at ${address} keeps what it is given.` }
  return {
    kind: 'wrong',
    sentence:
      `Redis at ${address} forgets sessions and used proofs when its memory is full ` +
      `(maxmemory-policy ${evictsBy}).`,
  }
}

function judgeLoss({ address, appends, appendFsync, unsavedChanges }: Durability): Remark {
  const loses = `Redis at ${address} can lose what it acknowledged`
  if (!appends) {
    const now = unsavedChanges === 1 ? '1 change' : `${unsavedChanges} changes`
    return {
      kind: 'note',
      sentence:
        `${loses}: it keeps snapshots only (appendonly no), and would lose ${now} if it ended now. ` +
        'Tokens are not in it; people may have to sign in again. Set appendonly yes to keep them.',
    }
  }
  if (appendFsync === 'always') {
    const sentence = `Redis at ${address} keeps what it acknowledged, also when the power fails.`
    return { kind: 'ok', sentence }
  }
  const notes: Readonly<Record<string, string>> = {
    everysec: `${loses} in the last 2 s when its machine fails (appendfsync everysec), and nothing when only Redis ends.`,
    no: `${loses} in the last 30 s or so when its machine fails (appendfsync no); everysec loses 2 s at most.`,
  }
  const unknown = `How soon Redis at ${address} has on its disk what it acknowledged could not be seen (CONFIG is forbidden there): ask its provider for appendfsync.`
  return { kind: 'note', sentence: notes[appendFsync ?? ''] ?? unknown }
}
