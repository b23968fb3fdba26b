/** Stores the identity providers of sites, with their client secrets encrypted. */

import { randomBytes } from 'node:crypto'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import type { IdentityProvider } from './identity-providers.ts'
import type { Seals } from './second-factors.ts'

export type SiteProviders = ReturnType<typeof makeSiteProviders>

export interface NewSiteProvider extends Omit<IdentityProvider, 'id'> {
  readonly siteId: string
  readonly role: 'student' | 'lecturer'
}

export const SITE_PROVIDERS_MAX = 10

const labelOf = (id: string) => `client secret of the identity provider ${id}`

export function makeSiteProviders({ kysely }: Database, seals: Seals) {
  return {
    /** Lists the identity providers of a site, oldest first. */
    async list(siteId: string): Promise<IdentityProvider[]> {
      const rows = await kysely
        .selectFrom('identity_provider')
        .select(['id', 'site_id as siteId', 'name', 'issuer', 'client_id as clientId', 'role'])
        .select(['sealed_secret', 'email_claim', 'verified_claim', 'name_claim'])
        .where('site_id', '=', siteId)
        .orderBy('created_at')
        .execute()
      return rows.map(({ sealed_secret, email_claim, verified_claim, name_claim, ...row }) => ({
        ...row,
        claims: { email: email_claim, emailVerified: verified_claim, name: name_claim },
        clientSecret: seals.open(sealed_secret, labelOf(row.id)),
      }))
    },

    /** Adds a provider, and records an audit event. */
    async add(provider: NewSiteProvider, actor: Actor): Promise<void> {
      const { siteId, name, issuer, clientId, role, claims } = provider
      const id = `idp_${randomBytes(15).toString('base64url')}`
      const sealed_secret = seals.seal(provider.clientSecret, labelOf(id))
      const named = { name, issuer, client_id: clientId, role }
      const row = {
        ...{ id, site_id: siteId, ...named, sealed_secret, created_at: actor.now },
        ...{ email_claim: claims.email, verified_claim: claims.emailVerified },
        name_claim: claims.name,
      }
      await kysely.transaction().execute(async (trx) => {
        await trx.insertInto('identity_provider').values(row).execute()
        const subject = { kind: 'identity_provider', id }
        const change = {
          action: 'identity_provider.add',
          subject,
          siteId,
          after: { ...named, claims },
        } as const
        await recordAuditEvent(trx, actor, change)
      })
    },

    /** Removes a provider with its links, and ends the sessions that the site's providers have begun. */
    async remove(siteId: string, id: string, actor: Actor): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        const removed = await trx
          .deleteFrom('identity_provider')
          .where('id', '=', id)
          .where('site_id', '=', siteId)
          .returning(['name', 'issuer'])
          .executeTakeFirst()
        if (!removed) return
        await trx.deleteFrom('linked_identity').where('provider_id', '=', id).execute()
        await trx.deleteFrom('browser_session').where('site_id', '=', siteId).execute()
        const subject = { kind: 'identity_provider', id }
        const change = { action: 'identity_provider.remove', subject, siteId } as const
        await recordAuditEvent(trx, actor, { ...change, before: removed })
      })
    },
  }
}
