import type { KoaContextWithOIDC } from 'oidc-provider'

import { needsOperator, needsToChange } from '../../directory/scopes/policy.ts'
import { decideSite, type HeldSite, type SiteDecision } from '../../directory/sites/site-choice.ts'
import type { DocumentState } from '../clients/client.ts'
import { factsOf } from '../clients/client-metadata.ts'
import type { FindGrant } from '../grants/access.ts'
import { isApproved } from './decide-consent.ts'

export interface RequestedSiteDependencies {
  readonly listHeldSites: (personId: string, clientId?: string) => Promise<HeldSite[]>
  readonly grants: { readonly findGrant: FindGrant }
}

/** Decides which site this authorization request is bound to, from what it asks and what is remembered. */
export async function decideRequestedSite(
  { oidc }: KoaContextWithOIDC,
  { listHeldSites, grants }: RequestedSiteDependencies,
): Promise<SiteDecision> {
  const { client, account } = oidc
  if (!client || !account) return { kind: 'none' }
  const { clientId, siteId, document } = factsOf(client)
  const scopes = String(oidc.params?.['scope'] ?? '').split(' ')
  const operator = needsOperator(scopes)
  if (siteId === undefined && !operator) return { kind: 'none' }
  return decideSite({
    clientSiteId: siteId,
    operator,
    held: await listHeldSites(account.accountId, document && clientId),
    admits: (site) => !document || admitsDocument(site, document, scopes),
    chosenSiteId: chosenSite(oidc),
    // A client that requests the choice wants it made again.
    rememberedSiteId: oidc.promptPending('select_account')
      ? undefined
      : (await grants.findGrant({ grantId: oidc.session?.grantIdFor(clientId) }))?.grant.siteId,
  })
}

/** The sites that a page has to show; a single one when there is nothing to choose. */
export function sitesOf(decision: SiteDecision): readonly HeldSite[] {
  if (decision.kind === 'bound') return [decision.site]
  return decision.kind === 'choose' ? decision.sites : []
}

/** A blocked document gets nothing at a site, and one that is not approved gets no write scope there. */
function admitsDocument(
  site: HeldSite,
  document: DocumentState,
  scopes: readonly string[],
): boolean {
  if (site.documentReview?.review === 'blocked') return false
  return !needsToChange(scopes) || isApproved(document, site)
}

/** The site that the person chose on the page of this very request. */
function chosenSite({ result }: KoaContextWithOIDC['oidc']): string | undefined {
  const choice = result?.['select_account']
  return typeof choice === 'object' && choice && 'site' in choice ? String(choice.site) : undefined
}
