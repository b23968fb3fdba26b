/** Stores the browsers in which people are signed in. The engine stores the sessions themselves. */

import type { Database } from '../../platform/store/database.ts'

export interface SessionLifetimes {
  /** The maximum age of a session, in seconds since the person authenticated. */
  readonly sessionSeconds: number
  /** The maximum time between two uses of a session, in seconds. */
  readonly sessionIdleSeconds: number
}

interface BrowserUse {
  readonly device: string
  readonly network: string | undefined
}

/** How long `seen_at` may lag behind the last use. The lag avoids a write on every request. */
const SEEN_EVERY_MS = 5 * 60_000

/** The maximum number of listed sessions, the most recently used first. */
const LISTED_MAX = 50

export type BrowserSessions = ReturnType<typeof makeBrowserSessions>

export function makeBrowserSessions(
  { kysely }: Database,
  { sessionSeconds, sessionIdleSeconds }: SessionLifetimes,
  now: () => number,
) {
  /** Returns the values to store when a session is used. The expiry allows for the lag of `seen_at`. */
  const used = ({ device, network }: BrowserUse, authenticatedAt: number) => {
    const idleUntil = now() + sessionIdleSeconds * 1000 + SEEN_EVERY_MS
    const expires_at = Math.min(authenticatedAt + sessionSeconds * 1000, idleUntil)
    return { seen_at: now(), expires_at, device, network: network ?? null }
  }

  return {
    /** Begins a session, or records that the person authenticated again in an existing session. */
    async begin(session: NewSession, use: BrowserUse): Promise<void> {
      const { id, personId, authenticatedAt, acr, providerId, siteId } = session
      const changing = {
        authenticated_at: authenticatedAt,
        acr,
        provider_id: providerId ?? null,
        site_id: siteId ?? null,
        ...used(use, authenticatedAt),
      }
      await kysely
        .insertInto('browser_session')
        .values({ id, person_id: personId, started_at: authenticatedAt, ...changing })
        .onConflict((conflict) => conflict.column('id').doUpdateSet(changing))
        .execute()
    },

    /** Records a use, unless a use was recorded in the last five minutes. */
    async see(session: LiveSession, use: BrowserUse): Promise<void> {
      if (now() < session.seenAt + SEEN_EVERY_MS) return
      await kysely
        .updateTable('browser_session')
        .set(used(use, session.authenticatedAt))
        .where('id', '=', session.id)
        .execute()
    },

    /** Lists at most 50 live sessions of a person found by `findPerson`, the most recently used first. */
    list: async ({ id, signedOutAt = 0 }: { id: string; signedOutAt?: number | undefined }) =>
      await kysely
        .selectFrom('browser_session')
        .select(['id', 'device', 'network', 'started_at as startedAt', 'seen_at as seenAt'])
        .where('person_id', '=', id)
        .where('expires_at', '>', now())
        .where('authenticated_at', '>', signedOutAt)
        .orderBy('seen_at', 'desc')
        .limit(LISTED_MAX)
        .execute(),

    /** Ends sessions in every process, even if the session store still has them. @returns their providers and sites */
    end: async (personId: string, { id, others }: ChosenSessions) =>
      await kysely
        .deleteFrom('browser_session')
        .where('person_id', '=', personId)
        .where('id', others ? '<>' : '=', id)
        .returning(['provider_id as providerId', 'site_id as siteId'])
        .execute(),
  }
}

export interface NewSession {
  readonly id: string
  readonly personId: string
  /** When the person last authenticated, in epoch milliseconds. */
  readonly authenticatedAt: number
  /** The `acr` of that authentication (people/authentication.ts). */
  readonly acr: string
  /** The only site at which the session is valid; undefined for all sites. */
  readonly siteId?: string | undefined
  /** The identity provider that authenticated the person, if any. */
  readonly providerId?: string | undefined
}

/** A session that has not ended. */
export interface LiveSession extends Omit<NewSession, 'personId' | 'providerId'> {
  /** When the session was last used, to within five minutes. */
  readonly seenAt: number
}

/** One session of a person, or all other sessions of that person. */
export interface ChosenSessions {
  readonly id: string
  readonly others: boolean
}
