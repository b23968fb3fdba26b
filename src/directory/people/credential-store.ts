import { createHmac } from 'node:crypto'

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'

export type CredentialStore = ReturnType<typeof makeCredentialStore>

/**
 * Creates the functions that find and renew password hashes. Each runs at most one query.
 *
 * @param standInKey the secret that selects the stand-ins for unknown addresses
 */
export function makeCredentialStore({ kysely, engine }: Database, standInKey: Buffer) {
  return {
    /**
     * Finds the account with the given e-mail address, and the stand-in hash for an unknown address. The stand-in is
     * the hash of an account that the address and a secret select. So an address usually keeps its stand-in, and
     * similar addresses have unrelated stand-ins. Imported hashes differ in cost, so with a fixed stand-in, the time
     * of the password check would reveal whether an account exists.
     */
    async findCredentials(emailCanonical: string) {
      // PostgreSQL raises an error on NUL instead of matching no row. No address contains NUL.
      if (emailCanonical.includes('\0')) return { account: undefined, standIn: undefined }
      const row = await kysely
        .selectFrom(kysely.selectNoFrom(sql<number>`1`.as('one')).as('asked'))
        .leftJoin('person', (join) => join.on('email_canonical', '=', emailCanonical))
        .leftJoin('totp', 'totp.person_id', 'person.id')
        .select(['person.id', 'password_hash', 'disabled_at', 'signed_out_at'])
        .select([
          'totp.confirmed_at',
          hashFrom(kysely, randomOrder(emailCanonical, standInKey, engine)).as('hash_after'),
          hashFrom(kysely, RANDOM_MIN).as('hash_first'),
        ])
        .executeTakeFirstOrThrow()
      const standIn = row.hash_after ?? row.hash_first ?? undefined
      if (row.id === null) return { account: undefined, standIn }
      const account = {
        personId: row.id,
        /** The password hash; undefined if the account has no password. */
        passwordHash: row.password_hash ?? undefined,
        disabled: row.disabled_at !== null,
        ...(row.confirmed_at !== null && { hasSecondFactor: true }),
        ...(row.signed_out_at !== null && { signedOutAt: row.signed_out_at }),
      }
      return { account, standIn }
    },

    /**
     * Replaces the password hash of an enabled account if the hash is still `from`; undefined means no hash. Sessions
     * continue, because the password is the same. @returns whether the hash was replaced
     */
    async replaceHash(personId: string, from: string | undefined, to: string): Promise<boolean> {
      const { numUpdatedRows } = await kysely
        .updateTable('person')
        .set({ password_hash: to })
        .where('id', '=', personId)
        .where('password_hash', from === undefined ? 'is' : '=', from ?? null)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },
  }
}

/** The lowest value of `random_order` in SQLite, whose `random()` returns 64-bit integers. */
const RANDOM_MIN = -(2 ** 63)

/** Returns the position of an address in `random_order`. PostgreSQL's `random()` returns numbers from 0 to 1. */
function randomOrder(emailCanonical: string, key: Buffer, engine: Database['engine']): number {
  const digest = createHmac('sha256', key).update(`stand-in ${emailCanonical}`).digest()
  const share = digest.readUIntBE(0, 6) / 2 ** 48
  return engine === 'sqlite' ? RANDOM_MIN + share * 2 ** 64 : share
}

/** Selects the first password hash at or after a position in `random_order`. */
function hashFrom(kysely: Kysely<Schema>, position: number) {
  return kysely
    .selectFrom('person as other')
    .select('other.password_hash')
    .where('other.password_hash', 'is not', null)
    .where('other.random_order', '>=', position)
    .orderBy('other.random_order')
    .limit(1)
}
