import type { Config, ServicePolicy } from '../../config/config.ts'
import { matchesPattern } from '../../platform/http/redirect-uri.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Database } from '../../platform/store/database.ts'
import { countRows } from '../../platform/store/keyset.ts'

type PlatformCallbackDependencies = Pick<Platform, 'database' | 'now'> &
  Pick<Config, 'integrations'> &
  Pick<ServicePolicy, 'registration'>

const DAY_MS = 86_400_000

/** The maximum number of used callbacks per person and platform. Each connection of an assistant has one. */
const CALLBACKS_PER_PERSON_MAX = 50

/**
 * Stores registered callbacks that match a pattern of a platform (design 6). Any caller can register a callback. So
 * unused callbacks expire soon, and the oldest ones are removed when the platform has more than the maximum.
 */
export function makePlatformCallbacks(dependencies: PlatformCallbackDependencies) {
  const { database, integrations, registration, now } = dependencies
  const { kysely } = database
  const { callbacksPerPlatformMax, unusedCallbackSeconds, idleCallbackSeconds } = registration
  const patterns = new Map(integrations.map((row) => [row.client_id, row.redirect_patterns]))

  return {
    /** Stores the callbacks of a registration, or extends their lifetime. @returns false if too many are in use */
    async keep(clientId: string, uris: readonly string[]): Promise<boolean> {
      if (uris.length === 0) return true
      const registered_at = now()
      const expires_at = registered_at + unusedCallbackSeconds * 1000
      const row = { client_id: clientId, used_at: null, used_by: null, registered_at, expires_at }
      // Sort the URIs, so that parallel registrations lock rows in the same order and cannot deadlock.
      const distinct = [...new Set(uris)].sort()
      const stored = await kysely
        .insertInto('platform_callback')
        .values(distinct.map((uri) => ({ ...row, uri })))
        .onConflict((conflict) =>
          conflict
            .columns(['client_id', 'uri'])
            .doUpdateSet({ expires_at })
            .where('platform_callback.expires_at', '<', expires_at),
        )
        .returning('registered_at as since')
        .execute()
      // A registration with only known callbacks displaces no other callbacks and is never rejected.
      if (!stored.some(({ since }) => since === registered_at)) return true
      await removeOldestUnused(database, clientId, callbacksPerPlatformMax)
      // If too many other callbacks are in use, some of the new ones have just been removed.
      const kept = await selectCallbacks(database, clientId).where('uri', 'in', distinct).execute()
      return kept.length === distinct.length
    },

    /** Whether this redirect_uri is registered, unexpired, and still matches a pattern of the platform. */
    async admits(clientId: string, uri: string): Promise<boolean> {
      // Check the current patterns, because removing a pattern must also disable stored callbacks.
      if (!patterns.get(clientId)?.some((pattern) => matchesPattern(uri, pattern))) return false
      const row = await selectCallbacks(database, clientId)
        .where('uri', '=', uri)
        .where('expires_at', '>', now())
        .executeTakeFirst()
      return row !== undefined
    },

    /** Marks a callback as used by the first person who consented. Extends its lifetime, at most once a day. */
    async use(clientId: string, uri: string, personId: string): Promise<void> {
      const usedAt = now()
      const { numUpdatedRows } = await kysely
        .updateTable('platform_callback')
        .set((e) => ({
          used_at: usedAt,
          used_by: e.fn.coalesce('used_by', e.val(personId)),
          expires_at: usedAt + idleCallbackSeconds * 1000,
        }))
        .where('client_id', '=', clientId)
        .where('uri', '=', uri)
        .where((e) => e.or([e('used_at', 'is', null), e('used_at', '<=', usedAt - DAY_MS)]))
        .executeTakeFirstOrThrow()
      if (numUpdatedRows > 0n) await releaseOldest(database, clientId, personId)
    },
  }
}

function selectCallbacks({ kysely }: Database, clientId: string) {
  return kysely.selectFrom('platform_callback').select('uri').where('client_id', '=', clientId)
}

/**
 * Marks a person's least recently used callbacks as unused if more than CALLBACKS_PER_PERSON_MAX are used. Otherwise,
 * one account could use up the platform's limit and block everyone else.
 */
async function releaseOldest(database: Database, clientId: string, personId: string) {
  const tooMany = selectCallbacks(database, clientId)
    .where('used_by', '=', personId)
    .orderBy('used_at', 'desc')
    .orderBy('uri')
    .offset(CALLBACKS_PER_PERSON_MAX)
    .limit(CALLBACKS_PER_PERSON_MAX)
  await database.kysely
    .updateTable('platform_callback')
    .set({ used_at: null, used_by: null })
    .where('client_id', '=', clientId)
    .where('uri', 'in', tooMany)
    .execute()
}

async function removeOldestUnused(database: Database, clientId: string, max: number) {
  const tooMany = (await countRows(selectCallbacks(database, clientId))) - max
  if (tooMany <= 0) return
  const oldest = selectCallbacks(database, clientId)
    .where('used_at', 'is', null)
    .orderBy('registered_at')
    .limit(tooMany)
  await database.kysely
    .deleteFrom('platform_callback')
    .where('client_id', '=', clientId)
    .where('uri', 'in', oldest)
    .execute()
}
