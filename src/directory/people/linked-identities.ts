/** Stores which person an identity at an identity provider belongs to. Only issuer and subject identify a person. */

import type { Kysely } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { SignIn } from './authenticate.ts'
import type { IdentityProvider, ProvidedIdentity } from './identity-providers.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import { canonicalEmail } from './person-store.ts'

export type LinkedIdentities = ReturnType<typeof makeLinkedIdentities>

export interface NewIdentity extends Pick<ProvidedIdentity, 'issuer' | 'subject'> {
  readonly provider: Pick<IdentityProvider, 'id' | 'siteId' | 'role'>
}

/** A person without an account. */
export interface Newcomer extends NewIdentity, Pick<ProvidedIdentity, 'name'> {
  readonly email: string
  /** The site whose application the person wants to use, if any. */
  readonly siteId: string | undefined
}

/** A person whom a provider has authenticated. */
export type SignedInPerson = Omit<Extract<SignIn, { readonly kind: 'signed-in' }>, 'kind'>

interface IdentitiesPorts {
  readonly database: Database
  readonly browsers: Pick<KnownBrowsers, 'find' | 'remember'>
  /** Cancels the scheduled deletion of an account. */
  readonly cancelDeletion: (personId: string) => Promise<void>
  readonly now: () => number
}

type Caller = Pick<Actor, 'requestId' | 'address'>

export function makeLinkedIdentities(ports: IdentitiesPorts) {
  const { browsers, cancelDeletion, now } = ports
  const { kysely } = ports.database
  return {
    /** Finds the person to whom an identity is linked, records its use, and makes the browser known. */
    async use(
      identity: NewIdentity,
      cookie: string | undefined,
    ): Promise<SignedInPerson | 'disabled' | undefined> {
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
        .leftJoin('signed_out_everywhere as out', 'out.person_id', 'person.id')
        .leftJoin('totp', 'totp.person_id', 'person.id')
        .select(['person.id as personId', 'email_canonical as login', 'disabled_at as disabledAt'])
        .select(['deletion_due_at as dueAt', 'out.signed_out_at as signedOutAt', 'confirmed_at'])
        .where('person.id', '=', row.person_id)
        .executeTakeFirstOrThrow()
      const { personId, login, disabledAt, dueAt, signedOutAt } = person
      if (disabledAt !== null) return 'disabled'
      const needsSecondFactor = person.confirmed_at !== null
      // Only the platform's providers can speak for the whole account.
      const isWhole = identity.provider.siteId === undefined && !needsSecondFactor
      if (dueAt !== null && isWhole) await cancelDeletion(personId)
      const isNewBrowser = (browsers.find(cookie, login)?.signedInAt ?? 0) <= (signedOutAt ?? 0)
      const browser = browsers.remember(cookie, login)
      return { personId, needsSecondFactor, isNewBrowser, browser }
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
