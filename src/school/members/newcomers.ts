/** Creates accounts at the first sign-in with an identity provider. */

import { addIdentity, type Newcomer } from '../../directory/people/linked-identities.ts'
import { hasFeature, SELF_SIGN_UP } from '../../directory/sites/site-admin.ts'
import type { Database } from '../../platform/store/database.ts'
import type { SiteActor } from '../changes/change.ts'
import { insertPerson, joinSite, personName } from './joining.ts'

/**
 * Creates the function that creates a newcomer's account. The provider must have verified the address. Returns false if
 * the site does not let people sign up themselves, or the address has an account.
 */
export function makeNewcomers({ kysely }: Database, now: () => number) {
  return async (
    { email, name, siteId, ...identity }: Newcomer,
    caller: Pick<SiteActor, 'requestId' | 'address'>,
  ): Promise<boolean> => {
    const { siteId: ofSite, role = 'student' } = identity.provider
    if (siteId === undefined) return false
    if (ofSite === undefined && !(await hasFeature({ kysely }, siteId, SELF_SIGN_UP))) return false
    const nowMs = now()
    const row = {
      email,
      // A site's provider can verify an address only for its own site, so the account's address stays unverified.
      email_verified_at: ofSite === undefined ? nowMs : null,
      name: personName.safeParse(name).data ?? email.replace(/@.*/, ''),
      created_at: nowMs,
    }
    return await kysely.transaction().execute(async (trx) => {
      const personId = await insertPerson(trx, row)
      if (personId === undefined) return false
      const isAdded = await addIdentity(trx, identity, personId, nowMs)
      // The rollback also removes the account, which no person could sign in to.
      if (!isAdded) throw new Error('a parallel sign-in has linked the identity')
      await joinSite(trx, { ...caller, siteId, personId, now: nowMs }, [role])
      return true
    })
  }
}
