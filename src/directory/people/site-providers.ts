/** Stores the identity providers of sites, with their client secrets encrypted. */

import { randomBytes } from 'node:crypto'
import dns from 'node:dns/promises'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Seals } from '../../platform/http/kept-values.ts'
import type { Database } from '../../platform/store/database.ts'
import { isMailDomain } from '../../platform/store/mail-address.ts'
import { providerLabel } from '../../platform/store/sealed-secrets.ts'
import { setFeature } from '../sites/site-admin.ts'
import { OWN_SIGN_IN } from '../sites/site-choice.ts'
import type { IdentityProvider, ListProviders } from './identity-providers.ts'

export type SiteProviders = ReturnType<typeof makeSiteProviders>

export interface NewSiteProvider extends Omit<IdentityProvider, 'id' | 'domains' | 'isOnlyWay'> {
  readonly siteId: string
  readonly role: 'student' | 'lecturer'
}

export const SITE_PROVIDERS_MAX = 10
export const DOMAINS_MAX = 50

export function makeSiteProviders({ kysely }: Database, seals: Seals) {
  return {
    /** Lists a site's identity providers, oldest first, and states whether they are the only way to sign in there. */
    async list(siteId: string): Promise<IdentityProvider[]> {
      const rows = await kysely
        .selectFrom('identity_provider as p')
        .leftJoin('site_feature as own', (join) =>
          join.onRef('own.site_id', '=', 'p.site_id').on('own.feature', '=', OWN_SIGN_IN),
        )
        .selectAll('p')
        .select('own.enabled_at')
        .where('p.site_id', '=', siteId)
        .orderBy('p.created_at')
        .execute()
      return rows.map(({ id, name, issuer, role, ...row }) => ({
        ...{ id, siteId, name, issuer, role, clientId: row.client_id },
        claims: JSON.parse(row.claims),
        clientSecret: seals.open(row.sealed_secret, providerLabel(id)),
        domains: row.domains.split(' ').filter(Boolean),
        isOnlyWay: row.enabled_at !== null,
      }))
    },

    setDomains: makeSetDomains(kysely),

    /** Adds a provider, and records an audit event. */
    async add(provider: NewSiteProvider, actor: Actor): Promise<void> {
      const { siteId, name, issuer, clientId, role, claims } = provider
      const id = `idp_${randomBytes(15).toString('base64url')}`
      const sealed_secret = seals.seal(provider.clientSecret, providerLabel(id))
      const named = { name, issuer, client_id: clientId, role }
      const row = {
        ...{ id, site_id: siteId, ...named, sealed_secret, created_at: actor.now },
        claims: JSON.stringify(claims),
      }
      await kysely.transaction().execute(async (trx) => {
        await trx.insertInto('identity_provider').values(row).execute()
        const change = { action: 'identity_provider.add', after: { ...named, claims } } as const
        await recordAuditEvent(trx, actor, { ...providerSubject({ id, siteId }), ...change })
      })
    },

    /** Removes a provider and its identities. Ends all sessions that a provider of the site has authenticated. */
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
        const left = trx.selectFrom('identity_provider').select('id').where('site_id', '=', siteId)
        if (!(await left.executeTakeFirst())) {
          await setFeature(trx, { siteId, feature: OWN_SIGN_IN, on: false }, actor)
        }
        const change = { action: 'identity_provider.remove', before: removed } as const
        await recordAuditEvent(trx, actor, { ...providerSubject({ id, siteId }), ...change })
      })
    },
  }
}

const providerSubject = ({ id, siteId }: Pick<IdentityProvider, 'id' | 'siteId'>) => ({
  ...{ subject: { kind: 'identity_provider', id }, siteId },
})

/** Creates the function that lists a site's providers: its own and, unless only they are accepted, the platform's. */
export function makeListProviders(
  ofPlatform: readonly IdentityProvider[],
  siteProviders: Pick<SiteProviders, 'list'>,
): ListProviders {
  return async (siteId) => {
    if (siteId === undefined) return ofPlatform
    const own = await siteProviders.list(siteId)
    return own[0]?.isOnlyWay ? own : ofPlatform.concat(own)
  }
}

/**
 * Creates the function that sets the e-mail domains whose users sign in with a provider. New domains need a TXT record
 * that names the provider (`proofOf`). If a domain is invalid, or a new domain has no such record, the function changes
 * nothing, and returns the problem and the domain.
 */
function makeSetDomains(kysely: Database['kysely']) {
  return async (provider: IdentityProvider, domains: readonly string[], actor: Actor) => {
    const { id, domains: before } = provider
    const noDomain = domains.find((domain) => !isMailDomain(domain))
    if (noDomain !== undefined) return { problem: 'noDomain', domain: noDomain } as const
    for (const domain of domains) {
      if (before.includes(domain) || (await isProven(domain, id))) continue
      return { problem: 'unproven', domain } as const
    }
    const after = [...new Set(domains)].join(' ')
    await kysely.transaction().execute(async (trx) => {
      const update = trx.updateTable('identity_provider').set({ domains: after })
      await update.where('id', '=', id).execute()
      const values = { before: { domains: before.join(' ') }, after: { domains: after } }
      const change = { action: 'identity_provider.domains', ...values } as const
      await recordAuditEvent(trx, actor, { ...providerSubject(provider), ...change })
    })
    return undefined
  }
}

/** Returns the TXT record that allows a provider to use a domain. Only the owner of the domain can publish it. */
export const proofOf = (id: string, domain: string) => ({
  name: `_gatehouse.${domain}`,
  value: `gatehouse-provider=${id}`,
})

async function isProven(domain: string, id: string): Promise<boolean> {
  const { name, value } = proofOf(id, domain)
  const resolver = new dns.Resolver({ timeout: 2000, tries: 2 })
  resolver.setServers(dns.getServers())
  const records = await resolver.resolveTxt(name).catch(() => [])
  return records.some((parts) => parts.join('') === value)
}
