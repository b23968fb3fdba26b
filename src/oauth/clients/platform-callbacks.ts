import { matchesPattern } from '../../platform/http/redirect-pattern.ts'
import type { Database } from '../../platform/store/database.ts'
import type { IntegrationRow } from './client-store.ts'

export type PlatformCallbacks = ReturnType<typeof makePlatformCallbacks>

export interface PlatformCallbackDependencies {
  readonly database: Database
  readonly integrations: readonly IntegrationRow[]
  readonly registration: {
    readonly callbacksPerPlatformMax: number
    readonly unusedCallbackSeconds: number
    readonly idleCallbackSeconds: number
  }
  readonly now: () => number
}

const DAY_MS = 86_400_000

/** As many as one person keeps from giving way; each connection of an assistant is one. */
const CALLBACKS_PER_PERSON_MAX = 50

/**
 * The addresses that a pattern of a platform admitted at a registration (design 6). Anybody can make
 * one, so that one that nobody used is forgotten soon, and gives way when a platform has as many as it
 * may have; one that a person returned to stays.
 */
export function makePlatformCallbacks(dependencies: PlatformCallbackDependencies) {
  const { database, integrations, registration, now } = dependencies
  const { kysely } = database
  const { callbacksPerPlatformMax, unusedCallbackSeconds, idleCallbackSeconds } = registration
  const patterns = new Map(integrations.map((row) => [row.client_id, row.redirect_patterns]))
  /** Whoever takes a pattern back means the addresses that are stored already, too. */
  const mayStillBe = (clientId: string, uri: string) =>
    patterns.get(clientId)?.some((pattern) => matchesPattern(uri, pattern)) ?? false

  return {
    /**
     * Keeps addresses that a registration named, or what is kept of them for longer.
     *
     * @returns false when the platform has as many as it may have, all of which are in use
     */
    async keep(clientId: string, uris: readonly string[]): Promise<boolean> {
      if (uris.length === 0) return true
      const registeredAt = now()
      const expiresAt = registeredAt + unusedCallbackSeconds * 1000
      const rows = uris.map((uri) => ({
        ...{ client_id: clientId, uri, used_at: null, used_by: null },
        ...{ registered_at: registeredAt, expires_at: expiresAt },
      }))
      const added = await kysely
        .insertInto('platform_callback')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['client_id', 'uri']).doNothing())
        .returning('uri')
        .execute()
      if (added.length < uris.length) {
        await kysely
          .updateTable('platform_callback')
          .set({ expires_at: expiresAt })
          .where('client_id', '=', clientId)
          .where('uri', 'in', uris)
          .where('expires_at', '<', expiresAt)
          .execute()
      }
      if (added.length === 0) return true
      await makeRoom(database, clientId, callbacksPerPlatformMax)
      // Where only used ones are left, the new ones themselves gave way.
      return await isKept(database, clientId, uris)
    },

    /** Whether an authorization request of the platform may return to this address. */
    async admits(clientId: string, uri: string): Promise<boolean> {
      if (!mayStillBe(clientId, uri)) return false
      const row = await kysely
        .selectFrom('platform_callback')
        .select('expires_at')
        .where('client_id', '=', clientId)
        .where('uri', '=', uri)
        .executeTakeFirst()
      return row !== undefined && row.expires_at > now()
    },

    /** A person allowed something that returns there: it lives on. Written once a day at most. */
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
      if (numUpdatedRows > 0n) await letGiveWay(database, clientId, personId)
    },
  }
}

/**
 * What a person used beyond as many as one may keep counts as unused again, the oldest first: whoever has an
 * account could otherwise use so many that nobody else connects the platform any more.
 */
async function letGiveWay({ kysely }: Database, clientId: string, personId: string): Promise<void> {
  const tooMany = await kysely
    .selectFrom('platform_callback')
    .select('uri')
    .where('client_id', '=', clientId)
    .where('used_by', '=', personId)
    .orderBy('used_at', 'desc')
    .orderBy('uri')
    .offset(CALLBACKS_PER_PERSON_MAX)
    .limit(CALLBACKS_PER_PERSON_MAX)
    .execute()
  if (tooMany.length === 0) return
  await kysely
    .updateTable('platform_callback')
    .set({ used_at: null, used_by: null })
    .where('client_id', '=', clientId)
    .where(
      'uri',
      'in',
      tooMany.map(({ uri }) => uri),
    )
    .execute()
}

/** Removes what nobody used, the oldest first, until there are no more than there may be. */
async function makeRoom({ kysely }: Database, clientId: string, max: number): Promise<void> {
  const { count } = await kysely
    .selectFrom('platform_callback')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('client_id', '=', clientId)
    .executeTakeFirstOrThrow()
  const tooMany = Number(count) - max
  if (tooMany <= 0) return
  const oldest = kysely
    .selectFrom('platform_callback')
    .select('uri')
    .where('client_id', '=', clientId)
    .where('used_at', 'is', null)
    .orderBy('registered_at')
    .limit(tooMany)
  await kysely
    .deleteFrom('platform_callback')
    .where('client_id', '=', clientId)
    .where('uri', 'in', oldest)
    .execute()
}

async function isKept(
  { kysely }: Database,
  clientId: string,
  uris: readonly string[],
): Promise<boolean> {
  const kept = await kysely
    .selectFrom('platform_callback')
    .select('uri')
    .where('client_id', '=', clientId)
    .where('uri', 'in', uris)
    .execute()
  return kept.length === new Set(uris).size
}
