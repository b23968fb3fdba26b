import { randomBytes } from 'node:crypto'

import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { factsOfClient } from '../clients/client-metadata.ts'
import { coversRequest } from './decide-consent.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { decideRequestedSite } from './requested-site.ts'

type EngineGrant = InstanceType<Provider['Grant']>

/**
 * Finds the grant that an authorization request continues, and extends it. Takes the id of the grant from the consent
 * page just submitted, or from the session. Ignores a grant for another site, or for a metadata document with another
 * name or other redirect URIs. For our own pages, creates the grant if there is none, and does not extend it.
 */
export async function findRememberedGrant(
  ctx: KoaContextWithOIDC,
  dependencies: EngineDependencies,
): Promise<EngineGrant | undefined> {
  const { client, provider, result, session } = ctx.oidc
  if (!client) return undefined
  const { clientId, origin, document } = factsOfClient(client)
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
 * Finds or creates the person's grant to our own pages (pages/relying-party/sign-in.ts). The grant contains only
 * `openid`, and needs no consent.
 */
async function findOwnGrant(
  { oidc }: KoaContextWithOIDC,
  grantId: string | undefined,
  { grants }: EngineDependencies,
): Promise<EngineGrant | undefined> {
  const { account, client, provider } = oidc
  const known = grantId && (await provider.Grant.find(grantId))
  if (known || !account || !client) return known || undefined
  const { clientId, name, origin } = factsOfClient(client)
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

/** Generates a grant id of 256 random bits. */
export function newGrantId(): string {
  return randomBytes(32).toString('base64url')
}
