import { randomBytes } from 'node:crypto'

import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { factsOf } from '../clients/client-metadata.ts'
import type { Grants } from '../grants/grants.ts'
import { coversRequest } from './decide-consent.ts'
import { decideRequestedSite, type RequestedSiteDependencies } from './requested-site.ts'

export interface RememberedGrantDependencies extends RequestedSiteDependencies {
  readonly grants: Pick<Grants, 'findGrant' | 'store'>
}

type EngineGrant = InstanceType<Provider['Grant']>

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
  const { clientId, origin, document } = factsOf(client)
  const grantId = result?.consent?.grantId ?? session?.grantIdFor(clientId)
  if (origin === 'first_party') return await findOwnGrant(ctx, grantId, dependencies)

  const grant = (await dependencies.grants.findGrant({ grantId }))?.grant
  if (!grant) return undefined
  if (!coversRequest(grant, document, await decideRequestedSite(ctx, dependencies))) {
    return undefined
  }
  const known = await provider.Grant.find(grant.id)
  if (known) await dependencies.grants.store.prolong(grant)
  return known
}

/**
 * The grant of this service's own pages (pages/relying-party/sign-in.ts). They only ask who the person
 * is, so there is nothing to consent to; `openid` is all that it holds.
 */
async function findOwnGrant(
  { oidc }: KoaContextWithOIDC,
  grantId: string | undefined,
  { grants }: RememberedGrantDependencies,
): Promise<EngineGrant | undefined> {
  const { account, client, provider } = oidc
  const known = grantId && (await provider.Grant.find(grantId))
  if (known || !account || !client) return known || undefined
  const { clientId, name, origin } = factsOf(client)
  const id = newGrantId()
  await grants.store.save({
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

/** 256 bits in the form of the engine's own ids. */
export function newGrantId(): string {
  return randomBytes(32).toString('base64url')
}
