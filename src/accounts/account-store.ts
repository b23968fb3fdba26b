import type { Database } from '../store/database.ts'

/** A person as far as signing in is concerned. */
export interface Credentials {
  readonly personId: string
  readonly passwordHash: string | undefined
  readonly disabled: boolean
}

export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
}

/** Reads who can sign in. One query each. */
export interface AccountStore {
  findCredentials(emailCanonical: string): Promise<Credentials | undefined>
  /** The person, unless the account is unknown or disabled. */
  findPerson(personId: string): Promise<Person | undefined>
}

export function makeAccountStore({ kysely }: Database): AccountStore {
  return {
    async findCredentials(emailCanonical) {
      const row = await kysely
        .selectFrom('person')
        .select(['id', 'password_hash', 'disabled_at'])
        .where('email_canonical', '=', emailCanonical)
        .executeTakeFirst()
      return (
        row && {
          personId: row.id,
          passwordHash: row.password_hash ?? undefined,
          disabled: row.disabled_at !== null,
        }
      )
    },

    async findPerson(personId) {
      return await kysely
        .selectFrom('person')
        .select(['id', 'name', 'email'])
        .where('id', '=', personId)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
    },
  }
}
