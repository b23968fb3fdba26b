/** Finds the people who can sign in, and records their sign-outs. The engine stores sessions. */

import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import type { LiveSession } from './browser-sessions.ts'

export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  /** When all sessions of the person were last ended, if ever. Earlier sessions are invalid. */
  readonly signedOutAt?: number | undefined
  /** The given session of a browser; undefined if it has ended. The session store may still contain it. */
  readonly session?: LiveSession | undefined
}

/** The session to look up with its person. */
interface SessionOf {
  /** The id of the browser's session. */
  readonly id: string
  /** The id of the session on our own pages, if it is used there. */
  readonly pageSessionId?: string
}

export type PersonStore = ReturnType<typeof makePersonStore>

/** Creates the functions that find people and record sign-outs. Each runs one query. */
export function makePersonStore({ kysely }: Database, now: () => number) {
  return {
    /** Finds a person whose account is not disabled, and the given session, unless it has ended. */
    async findPerson(personId: string, session?: SessionOf): Promise<Person | undefined> {
      const row = await kysely
        .selectFrom('person')
        .leftJoin('signed_out_everywhere as out', 'out.person_id', 'person.id')
        .leftJoin('signed_out_session as ended', (join) =>
          join.on('ended.digest', '=', sha256(session?.pageSessionId ?? '')),
        )
        .leftJoin('browser_session as s', (join) =>
          join.on('s.id', '=', session?.id ?? '').onRef('s.person_id', '=', 'person.id'),
        )
        .leftJoin('setting as all', (join) => join.on('all.name', '=', EVERYTHING_ENDED))
        .select([
          'person.id',
          'person.name',
          'email',
          'out.signed_out_at',
          'all.value',
          'ended.digest',
        ])
        .select(['s.authenticated_at', 's.seen_at', 's.expires_at'])
        .where('person.id', '=', personId)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
      if (!row) return undefined
      const { id, name, email, digest, authenticated_at: authenticatedAt, expires_at } = row
      const signedOutAt = Math.max(row.signed_out_at ?? 0, Number(row.value ?? 0))
      const lives =
        digest === null && Number(expires_at) > now() && Number(authenticatedAt) > signedOutAt
      return {
        ...{ id, name, email },
        ...(signedOutAt > 0 && { signedOutAt }),
        ...(session &&
          lives && {
            session: {
              id: session.id,
              authenticatedAt: Number(authenticatedAt),
              seenAt: Number(row.seen_at),
            },
          }),
      }
    },

    /** Records a sign-out on our own pages, because a restored session store may contain the session again. */
    async signOutSession(
      sessionId: string,
      { nowMs, keptUntilMs }: { readonly nowMs: number; readonly keptUntilMs: number },
    ): Promise<void> {
      await kysely
        .insertInto('signed_out_session')
        .values({ digest: sha256(sessionId), signed_out_at: nowMs, kept_until: keptUntilMs })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    /** Ends all sessions of a person in which the password was given by `signedOutAt`. */
    async signOutEverywhere(personId: string, signedOutAt: number): Promise<void> {
      await kysely
        .insertInto('signed_out_everywhere')
        .values({ person_id: personId, signed_out_at: signedOutAt })
        .onConflict((conflict) =>
          conflict.column('person_id').doUpdateSet({ signed_out_at: signedOutAt }),
        )
        .execute()
      // They have ended already. This deletes what is known about the browsers.
      await kysely
        .deleteFrom('browser_session')
        .where('person_id', '=', personId)
        .where('authenticated_at', '<=', signedOutAt)
        .execute()
    },
  }
}

/**
 * Normalizes an e-mail address, for lookups and uniqueness: trims it, and ignores case and the encoding of accents
 * (NFC). Ignores no other difference, such as dots, because that could make the addresses of two people equal.
 */
export function canonicalEmail(typed: string): string {
  // Lower-casing may separate a letter from its mark (J̌), so normalize afterwards.
  return typed.trim().toLowerCase().normalize('NFC')
}
