/** Finds the people who can sign in, and records their sign-outs. The engine stores sessions. */

import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'

export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  /** When all sessions of the person were last ended, if ever. Earlier sessions are invalid. */
  readonly signedOutAt?: number | undefined
  /** Whether the given session was signed out. The session store may still contain it. */
  readonly sessionEnded?: boolean | undefined
}

export type PersonStore = ReturnType<typeof makePersonStore>

/** Creates the functions that find people and record sign-outs. Each runs one query. */
export function makePersonStore({ kysely }: Database) {
  return {
    /** Finds a person whose account is not disabled, and reads whether the session `sessionId` was signed out. */
    async findPerson(personId: string, sessionId = ''): Promise<Person | undefined> {
      const row = await kysely
        .selectFrom('person')
        .leftJoin('signed_out_everywhere as out', 'out.person_id', 'person.id')
        .leftJoin('signed_out_session as ended', (join) =>
          join.on('ended.digest', '=', sha256(sessionId)),
        )
        .leftJoin('setting as all', (join) => join.on('all.name', '=', EVERYTHING_ENDED))
        .select(['id', 'person.name', 'email', 'out.signed_out_at', 'all.value', 'ended.digest'])
        .where('id', '=', personId)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
      if (!row) return undefined
      const { signed_out_at, value, digest, ...person } = row
      const signedOutAt = Math.max(signed_out_at ?? 0, Number(value ?? 0))
      return {
        ...person,
        ...(signedOutAt > 0 && { signedOutAt }),
        ...(digest !== null && { sessionEnded: true }),
      }
    },

    /** Records that a session was signed out, because a restored session store may contain the session again. */
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

    /** Ends all sessions of a person that began by `signedOutAt`, in every browser. */
    async signOutEverywhere(personId: string, signedOutAt: number): Promise<void> {
      await kysely
        .insertInto('signed_out_everywhere')
        .values({ person_id: personId, signed_out_at: signedOutAt })
        .onConflict((conflict) =>
          conflict.column('person_id').doUpdateSet({ signed_out_at: signedOutAt }),
        )
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
