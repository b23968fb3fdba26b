/** The secrets in the database that are encrypted with the root secret, besides signing keys. */

import { sql } from 'kysely'

import { APP_SECRET_LABEL } from '../../directory/people/second-factors.ts'
import { labelOf as providerLabel } from '../../directory/people/site-providers.ts'
import { openOrNothing, type Seals } from '../../platform/http/kept-values.ts'
import type { Database } from '../../platform/store/database.ts'
import { labelOf as endpointLabel } from '../../school/webhooks/webhook-endpoints.ts'

const kinds = [
  ['authenticator apps', 'totp', 'person_id', () => APP_SECRET_LABEL],
  ['webhooks', 'webhook_endpoint', 'id', endpointLabel],
  ['identity providers of sites', 'identity_provider', 'id', providerLabel],
] as const

type Kysely = Database['kysely']

/** Counts the secrets that no configured root secret can decrypt, by kind. Omits kinds without such a secret. */
export async function countUnreadable(kysely: Kysely, seals: Seals): Promise<string[]> {
  const counts = await Promise.all(
    kinds.map(async (kind) => {
      const secrets = await readSecrets(kysely, seals, kind)
      return `${kind[0]}: ${secrets.filter(({ secret }) => secret === undefined).length}`
    }),
  )
  return counts.filter((count) => !count.endsWith(': 0'))
}

/** Encrypts each secret again, with the current root secret. Skips secrets that cannot be decrypted. */
export async function sealAgain(kysely: Kysely, seals: Seals): Promise<void> {
  for (const kind of kinds) {
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

type Kind = (typeof kinds)[number]
