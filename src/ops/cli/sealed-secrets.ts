/** The secrets in the database, other than signing keys, that are encrypted with the root secret. */

import { sql } from 'kysely'

import { openOrNothing, type Seals } from '../../platform/http/kept-values.ts'
import type { Database } from '../../platform/store/database.ts'
import { sealedSecrets } from '../../platform/store/sealed-secrets.ts'

type Kysely = Database['kysely']

/** Counts the secrets that no configured root secret can decrypt, by kind. Omits kinds without such a secret. */
export async function countUnreadable(kysely: Kysely, seals: Seals): Promise<string[]> {
  const counts = await Promise.all(
    sealedSecrets.map(async (kind) => {
      const secrets = await readSecrets(kysely, seals, kind)
      return `${kind[0]}: ${secrets.filter(({ secret }) => secret === undefined).length}`
    }),
  )
  return counts.filter((count) => !count.endsWith(': 0'))
}

/** Encrypts each secret again, with the current root secret. Skips secrets that cannot be decrypted. */
export async function sealAgain(kysely: Kysely, seals: Seals): Promise<void> {
  for (const kind of sealedSecrets) {
    const [, table, key, labelOf] = kind
    for (const { id, sealed, secret } of await readSecrets(kysely, seals, kind)) {
      if (secret === undefined) continue
      await sql`update ${sql.table(table)} set sealed_secret = ${seals.seal(secret, labelOf(id))}
        where ${sql.ref(key)} = ${id} and sealed_secret = ${sealed}`.execute(kysely)
    }
  }
}

async function readSecrets(kysely: Kysely, seals: Seals, [, table, key, labelOf]: Kind) {
  const { rows } = await sql<{ id: string; sealed: string }>`
    select ${sql.ref(key)} as id, sealed_secret as sealed from ${sql.table(table)}`.execute(kysely)
  return rows.map((row) => ({ ...row, secret: openOrNothing(seals, row.sealed, labelOf(row.id)) }))
}

type Kind = (typeof sealedSecrets)[number]
