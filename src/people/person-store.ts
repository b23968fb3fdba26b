/** Who signs in: people, their passwords, and the limits of attempts. Sessions are the engine's. */

import type { Database } from '../store/database.ts'

export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  /** Sessions that began before are over; undefined when the person never signed out everywhere. */
  readonly signedOutAt?: number | undefined
}

export type PersonStore = ReturnType<typeof makePersonStore>

/** Reads who can sign in. One query each. */
export function makePersonStore({ kysely }: Database) {
  return {
    async findCredentials(emailCanonical: string) {
      // No address has a NUL in it, and PostgreSQL fails at one.
      if (emailCanonical.includes('\0')) return undefined
      const row = await kysely
        .selectFrom('person')
        .leftJoin('signed_out_everywhere as out', 'out.person_id', 'person.id')
        .select(['id', 'password_hash', 'disabled_at', 'out.signed_out_at'])
        .where('email_canonical', '=', emailCanonical)
        .executeTakeFirst()
      return (
        row && {
          personId: row.id,
          passwordHash: row.password_hash ?? undefined,
          disabled: row.disabled_at !== null,
          ...(row.signed_out_at !== null && { signedOutAt: row.signed_out_at }),
        }
      )
    },

    /** The person, unless the account is unknown or disabled. */
    async findPerson(personId: string): Promise<Person | undefined> {
      const row = await kysely
        .selectFrom('person')
        .leftJoin('signed_out_everywhere as out', 'out.person_id', 'person.id')
        .select(['id', 'name', 'email', 'out.signed_out_at'])
        .where('id', '=', personId)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
      if (!row) return undefined
      const { signed_out_at: signedOutAt, ...person } = row
      return { ...person, ...(signedOutAt !== null && { signedOutAt }) }
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
