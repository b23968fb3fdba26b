/** Stores which person an identity at an identity provider belongs to. Only issuer and subject identify a person. */

import type { Kysely } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { IdentityProvider, ProvidedIdentity } from './identity-providers.ts'
import { canonicalEmail } from './person-store.ts'

export type LinkedIdentities = ReturnType<typeof makeLinkedIdentities>

export interface NewIdentity extends Pick<ProvidedIdentity, 'issuer' | 'subject'> {
  readonly provider: Pick<IdentityProvider, 'id' | 'siteId' | 'role'>
}

type Caller = Pick<Actor, 'requestId' | 'address'>

export function makeLinkedIdentities({ kysely }: Database, now: () => number) {
  return {
    /** Finds the person to whom an identity is linked, and records its use. */
    async use(identity: NewIdentity) {
      const row = await kysely
        .updateTable('linked_identity')
        .set({ last_used_at: now() })
        .where('provider_id', '=', identity.provider.id)
        .where('issuer', '=', identity.issuer)
        .where('subject', '=', identity.subject)
        .returning('person_id')
        .executeTakeFirst()
      if (!row) return undefined
      const person = await kysely
        .selectFrom('person')
        .select(['id', 'disabled_at', 'deletion_due_at'])
        .where('id', '=', row.person_id)
        .executeTakeFirstOrThrow()
      return {
        personId: person.id,
        isDisabled: person.disabled_at !== null,
        isLeaving: person.deletion_due_at !== null,
      }
    },

    /** Whether an account has this address. */
    async hasAccount(email: string): Promise<boolean> {
      const row = await kysely
        .selectFrom('person')
        .select('id')
        .where('email_canonical', '=', canonicalEmail(email))
        .executeTakeFirst()
      return row !== undefined
    },

    /** Links an identity to a person with the address that the provider named, and records an audit event. */
    async link(
      { email, ...identity }: NewIdentity & { readonly email: string },
      personId: string,
      caller: Caller,
    ): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        const person = await trx
          .selectFrom('person')
          .select('id')
          .where('id', '=', personId)
          .where('email_canonical', '=', canonicalEmail(email))
          .executeTakeFirst()
        if (!person || !(await addIdentity(trx, identity, personId, now()))) return
        const subject = { kind: 'person', id: personId }
        await recordAuditEvent(
          trx,
          { ...caller, personId, now: now() },
          {
            action: 'identity.link',
            subject,
            siteId: identity.provider.siteId,
            after: { provider: identity.provider.id },
          },
        )
      })
    },
  }
}

/** Links an identity to a person, unless it is linked already. @returns whether it was not */
export async function addIdentity(
  trx: Kysely<Schema>,
  { provider, issuer, subject }: NewIdentity,
  personId: string,
  nowMs: number,
): Promise<boolean> {
  const times = { linked_at: nowMs, last_used_at: nowMs }
  const added = await trx
    .insertInto('linked_identity')
    .values({ provider_id: provider.id, issuer, subject, person_id: personId, ...times })
    .onConflict((linked) => linked.doNothing())
    .returning('subject')
    .executeTakeFirst()
  return added !== undefined
}
