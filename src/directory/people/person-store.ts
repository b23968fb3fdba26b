/** Who signs in: people, their passwords, and the limits of attempts. Sessions are the engine's. */

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import type { Schema } from '../../platform/store/schema.ts'

export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  /** Sessions that began before are over; undefined when the person never signed out everywhere. */
  readonly signedOutAt?: number | undefined
  /** Whether the session that was asked about was signed out, whatever another store still has of it. */
  readonly sessionEnded?: boolean | undefined
}

export type PersonStore = ReturnType<typeof makePersonStore>

/** Reads who can sign in. One query each. */
export function makePersonStore({ kysely }: Database) {
  return {
    /**
     * The account of an address, if there is one, and the hash that a password is checked against
     * otherwise: that of another person near in the order of addresses. Platforms bring hashes that cost
     * more or less than those made here, and the time of a refusal must not tell whether an account exists.
     */
    async findCredentials(emailCanonical: string) {
      // No address has a NUL in it, and PostgreSQL fails at one.
      if (emailCanonical.includes('\0')) return { account: undefined, standIn: undefined }
      const row = await kysely
        .selectFrom(kysely.selectNoFrom(sql<number>`1`.as('one')).as('asked'))
        .leftJoin('person', (join) => join.on('email_canonical', '=', emailCanonical))
        .leftJoin('signed_out_everywhere as out', 'out.person_id', 'person.id')
        .select(['person.id', 'password_hash', 'disabled_at', 'out.signed_out_at'])
        .select([
          hashNear(kysely, emailCanonical).as('hash_after'),
          hashNear(kysely, '').as('hash_first'),
        ])
        .executeTakeFirstOrThrow()
      const standIn = row.hash_after ?? row.hash_first ?? undefined
      if (row.id === null) return { account: undefined, standIn }
      const account = {
        personId: row.id,
        /** Undefined for a person without a password. */
        passwordHash: row.password_hash ?? undefined,
        disabled: row.disabled_at !== null,
        ...(row.signed_out_at !== null && { signedOutAt: row.signed_out_at }),
      }
      return { account, standIn }
    },

    /**
     * The person, unless the account is unknown or disabled.
     *
     * @param sessionId the session of the browser, of which the database knows whether it was signed out
     */
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

    /**
     * Writes down that the session of a browser is over. Its record is somewhere else, and may come back with a
     * store that is older than this.
     */
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

    /** Ends every session of the person that began until now, in every browser. */
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
 * The form of an e-mail address by which a person is found and kept unique. Case and the order of
 * combining marks do not matter; nothing else is folded, because a wider folding (full-width signs,
 * dots) would let one address stand for another person's.
 */
export function canonicalEmail(typed: string): string {
  // Lower case may take a letter apart from its mark (J̌), so that it is composed afterwards.
  return typed.trim().toLowerCase().normalize('NFC')
}

/** How many people are searched for one with a password. */
const NEIGHBOURS = 50

/** The first hash among the addresses after this one, in their order; a few rows of an index. */
function hashNear(kysely: Kysely<Schema>, emailCanonical: string) {
  const near = kysely
    .selectFrom('person')
    .select(['email_canonical', 'password_hash'])
    .where('email_canonical', '>', emailCanonical)
    .orderBy('email_canonical')
    .limit(NEIGHBOURS)
  return kysely
    .selectFrom(near.as('near'))
    .select('near.password_hash')
    .where('near.password_hash', 'is not', null)
    .orderBy('near.email_canonical')
    .limit(1)
}
