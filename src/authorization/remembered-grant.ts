import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { factsOf } from '../clients/client-metadata.ts'
import { OPENID } from '../scopes/catalogue.ts'
import { fingerprintOfGrant, siteOfGrant } from '../token/site-of-grant.ts'
import { type ListHeldSites, siteDecision } from './prompts.ts'

type Grant = InstanceType<Provider['Grant']>

export interface GrantLifetime {
  /** How long a grant must live from now, so that it outlives every token made of it. */
  readonly grantSeconds: number
  readonly now: () => number
}

/**
 * The grant that an authorization request continues: the one given on the consent page just now, or
 * the one that the session remembers, unless it is for another site than this request is bound to.
 */
export async function findRememberedGrant(
  ctx: KoaContextWithOIDC,
  listHeldSites: ListHeldSites,
  lifetime: GrantLifetime,
): Promise<Grant | undefined> {
  const { oidc } = ctx
  const grantId =
    oidc.result?.consent?.grantId ?? oidc.session?.grantIdFor(oidc.client?.clientId ?? '')
  if (oidc.client && factsOf(oidc.client).origin === 'first_party') {
    return await ownGrant(ctx, grantId)
  }
  if (!grantId || isOfAnotherDocument(grantId, oidc)) return undefined
  const decision = await siteDecision(ctx, listHeldSites)
  if (decision.kind === 'choose' || decision.kind === 'refused') return undefined
  if (decision.kind === 'bound' && decision.site.id !== siteOfGrant(grantId)) return undefined
  const grant = await oidc.provider.Grant.find(grantId)
  if (grant) await prolong(grant, lifetime)
  return grant
}

/**
 * The grant of this service's own pages (relying-party/own-client.ts). They only ask who the person is,
 * so there is nothing to consent to; `openid` is all that it holds.
 */
async function ownGrant({ oidc }: KoaContextWithOIDC, grantId: string | undefined) {
  const known = grantId ? await oidc.provider.Grant.find(grantId) : undefined
  if (known) return known
  const grant = new oidc.provider.Grant({
    accountId: oidc.account?.accountId,
    clientId: oidc.client?.clientId,
  })
  grant.addOIDCScope(OPENID)
  await grant.save()
  return grant
}

/** A metadata document that changed its name or its redirect addresses inherits no consent. */
function isOfAnotherDocument(grantId: string, { client }: KoaContextWithOIDC['oidc']): boolean {
  return fingerprintOfGrant(grantId) !== (client && factsOf(client).document?.fingerprint)
}

const DAY_SECONDS = 86_400

/**
 * The engine gives a grant one fixed expiry, and saving it again keeps that one, so that a consent
 * that is remembered for months would end the refresh tokens made of it early. It is moved on, at
 * most once a day, because most requests need not write.
 */
async function prolong(grant: Grant, { grantSeconds, now }: GrantLifetime): Promise<void> {
  const full = Math.floor(now() / 1000) + grantSeconds
  if (grant.exp !== undefined && grant.exp > full - DAY_SECONDS) return
  grant.exp = full
  await grant.save()
}
