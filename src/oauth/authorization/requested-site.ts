import type { KoaContextWithOIDC } from 'oidc-provider'

import type { LiveSession } from '../../directory/people/browser-sessions.ts'
import { needsOperator, needsToChange } from '../../directory/scopes/policy.ts'
import { decideSite, type HeldSite, type SiteDecision } from '../../directory/sites/site-choice.ts'
import type { DocumentState } from '../clients/client.ts'
import { factsOfClient } from '../clients/client-metadata.ts'
import { isApproved } from './decide-consent.ts'
import type { EngineDependencies } from './engine-dependencies.ts'

/**
 * Decides the site of an authorization request from the client, scopes and session, and the person's roles and choice.
 */
export async function decideRequestedSite(
  { oidc }: KoaContextWithOIDC,
  { listHeldSites, grants }: EngineDependencies,
): Promise<SiteDecision> {
  const { client, account } = oidc
  if (!client || !account) return { kind: 'none' }
  const { clientId, origin, siteId, document } = factsOfClient(client)
  const scopes = String(oidc.params?.['scope'] ?? '').split(' ')
  const operator = needsOperator(scopes)
  if (siteId === undefined && !operator) return { kind: 'none' }
  const onlySiteId = siteOfSession(oidc)
  const held = await listHeldSites(account.accountId, document && clientId)
  return decideSite({
    clientSiteId: siteId,
    ownersOnly: origin === 'operator',
    operator,
    held: held.filter(({ id }) => onlySiteId === undefined || id === onlySiteId),
    admits: (site) => !document || siteAdmits(site, document, scopes),
    chosenSiteId: chosenSite(oidc),
    // With prompt=select_account, the person must choose again.
    rememberedSiteId: oidc.promptPending('select_account')
      ? undefined
      : (await grants.findGrant({ grantId: oidc.session?.grantIdFor(clientId) }))?.grant.siteId,
  })
}

/** Returns the site whose identity provider began the session; undefined if the session is valid at all sites. */
export function siteOfSession({ account }: KoaContextWithOIDC['oidc']): string | undefined {
  return (account?.['session'] as LiveSession | undefined)?.siteId
}

/** Returns the site of a `bound` decision, or the sites to choose from. Empty for all other decisions. */
export function sitesOf(decision: SiteDecision): readonly HeldSite[] {
  if (decision.kind === 'bound') return [decision.site]
  return decision.kind === 'choose' ? decision.sites : []
}

/** Whether the site's review permits the scopes. Blocked clients get none. Unapproved clients get no write scopes. */
function siteAdmits(site: HeldSite, document: DocumentState, scopes: readonly string[]): boolean {
  if (site.documentReview?.review === 'blocked') return false
  return !needsToChange(scopes) || isApproved(document, site)
}

function chosenSite({ result }: KoaContextWithOIDC['oidc']): string | undefined {
  const choice = result?.['select_account']
  return typeof choice === 'object' && choice && 'site' in choice ? String(choice.site) : undefined
}
