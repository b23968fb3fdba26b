/** Whether the consent page is shown: what may be remembered for a client, and what the session remembers of it. */

import type { KoaContextWithOIDC } from 'oidc-provider'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { factsOf } from '../clients/client-metadata.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { type EngineGrant, newGrantId } from './engine-grant.ts'
import { type PromptDependencies, siteDecision } from './prompts.ts'

export interface RememberedGrantDependencies extends PromptDependencies {
  readonly grants: Pick<GrantStore, 'save' | 'prolong'>
}

/**
 * The grant that an authorization request continues: the one given on the consent page just now, or
 * the one that the session remembers, unless it is for another site than this request is bound to.
 */
export async function findRememberedGrant(
  ctx: KoaContextWithOIDC,
  dependencies: RememberedGrantDependencies,
): Promise<EngineGrant | undefined> {
  const { client, provider, result, session } = ctx.oidc
  if (!client) return undefined
  const facts = factsOf(client)
  const grantId = result?.consent?.grantId ?? session?.grantIdFor(facts.clientId)
  if (facts.origin === 'first_party') return await ownGrant(ctx, grantId, dependencies)

  const grant = (await dependencies.findGrant({ grantId }))?.grant
  // A metadata document that changed its name or its redirect addresses inherits no consent.
  if (!grant || grant.documentFingerprint !== facts.document?.fingerprint) return undefined
  const decision = await siteDecision(ctx, dependencies)
  if (decision.kind === 'bound' ? decision.site.id !== grant.siteId : decision.kind !== 'none') {
    return undefined
  }
  const known = await provider.Grant.find(grant.id)
  if (known) await dependencies.grants.prolong(grant)
  return known
}

/**
 * The grant of this service's own pages (pages/relying-party/own-client.ts). They only ask who the person
 * is, so there is nothing to consent to; `openid` is all that it holds.
 */
async function ownGrant(
  { oidc }: KoaContextWithOIDC,
  grantId: string | undefined,
  { grants }: RememberedGrantDependencies,
): Promise<EngineGrant | undefined> {
  const { account, client, provider } = oidc
  const known = grantId && (await provider.Grant.find(grantId))
  if (known || !account || !client) return known || undefined
  const { clientId, name, origin } = factsOf(client)
  const id = newGrantId()
  await grants.save({
    id,
    personId: account.accountId,
    clientId,
    clientName: name,
    clientOrigin: origin,
    siteId: undefined,
    documentFingerprint: undefined,
    allowed: { openid: { scope: OPENID } },
  })
  return await provider.Grant.find(id)
}
