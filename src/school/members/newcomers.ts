/** Creates the accounts of people who sign in with an identity provider for the first time. */

import type { ProvidedIdentity } from '../../directory/people/identity-providers.ts'
import { addIdentity, type NewIdentity } from '../../directory/people/linked-identities.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import { hasSelfSignUp } from '../../directory/sites/site-admin.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { newId, type SiteActor } from '../changes/change.ts'
import { grantRoles, subscribe } from './site-roles.ts'

export interface Newcomer extends NewIdentity, Pick<ProvidedIdentity, 'name'> {
  readonly email: string
  /** The site whose application the person wants to use, if any. */
  readonly siteId: string | undefined
}

/**
 * Creates the function that creates the account of a newcomer, whose address the provider has verified. Returns the
 * person's id; undefined if the site does not let people sign up themselves, or the address has an account.
 */
export function makeNewcomers({ kysely }: Database, now: () => number) {
  return async (
    { email, name, siteId, ...identity }: Newcomer,
    caller: Pick<SiteActor, 'requestId' | 'address'>,
  ): Promise<string | undefined> =>
    await kysely.transaction().execute(async (trx) => {
      const { siteId: ofSite, role = 'student' } = identity.provider
      if (siteId === undefined) return undefined
      if (ofSite === undefined && !(await hasSelfSignUp({ kysely: trx }, siteId))) return undefined
      const at = { siteId, now: now() }
      const created = await trx
        .insertInto('person')
        .values({
          id: newId('per'),
          email,
          email_canonical: canonicalEmail(email),
          // A site's provider can say that the address is verified, but only to its own site.
          email_verified_at: ofSite === undefined ? at.now : null,
          name: name ?? email.replace(/@.*/, ''),
          created_at: at.now,
        })
        .onConflict((known) => known.column('email_canonical').doNothing())
        .returning('id')
        .executeTakeFirst()
      if (!created || !(await addIdentity(trx, identity, created.id, at.now))) return undefined
      const { id: personId } = created
      await grantRoles(trx, at, personId, [role])
      await subscribe(trx, at, personId)
      const subject = { kind: 'person', id: personId }
      const change = { subject, siteId, before: { roles: [] }, after: { roles: [role] } }
      const actor = { ...caller, personId, now: at.now }
      await recordAuditEvent(trx, actor, { action: 'member.join', ...change })
      return personId
    })
}
