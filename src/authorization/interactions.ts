import type { Context } from 'koa'
import { errors, type InteractionResults, type Provider } from 'oidc-provider'

import { type ClientFacts, factsOf } from '../clients/client-metadata.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { interactionGone } from '../http/errors.ts'
import { paths } from '../http/paths.ts'
import { findScope } from '../scopes/catalogue.ts'
import type { HeldSite } from '../sites/site-choice.ts'
import { claimsByScope } from '../token/claims.ts'
import { allowedIn, type EngineGrant, newGrantId } from './engine-grant.ts'
import { PASSWORD_ACR } from './provider.ts'

type Details = Awaited<ReturnType<Provider['interactionDetails']>>

/** The engine's interactions in the words of the pages (`interaction/pending-interaction.ts`). */
export function makeInteractions(provider: Provider, grants: Pick<GrantStore, 'save'>) {
  const finish = async (ctx: Context, result: InteractionResults, merge: boolean) =>
    await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: merge })

  return {
    find: async (ctx: Context) => await describe(await findDetails(ctx, provider), provider),
    signedIn: async (ctx: Context, personId: string) =>
      await finish(ctx, { login: { accountId: personId, acr: PASSWORD_ACR, amr: ['pwd'] } }, false),
    siteChosen: async (ctx: Context, siteId: string | undefined) =>
      await finish(ctx, { select_account: { site: siteId } }, true),
    refused: async (ctx: Context, why: string) =>
      await finish(ctx, { error: 'access_denied', error_description: why }, false),
    async consented(ctx: Context) {
      const details = await findDetails(ctx, provider)
      const grantId = await saveGrant(details, { provider, grants })
      return await finish(ctx, { consent: { grantId } }, true)
    },
  }
}

/** The engine's error says too little to a person, and is thrown outside its own error handler. */
async function findDetails(ctx: Context, provider: Provider): Promise<Details> {
  try {
    return await provider.interactionDetails(ctx.req, ctx.res)
  } catch (error) {
    throw error instanceof errors.SessionNotFound ? interactionGone() : error
  }
}

async function describe(details: Details, provider: Provider) {
  const { uid, prompt, params, session } = details
  const client = await provider.Client.find(String(params['client_id']))
  if (!client) throw interactionGone()
  return {
    uid,
    prompt: prompt.name as 'login' | 'select_account' | 'consent',
    client: askingClient(factsOf(client)),
    redirectUri: String(params['redirect_uri']),
    personId: session?.accountId,
    loginHint: typeof params['login_hint'] === 'string' ? params['login_hint'] : undefined,
    scopes: scopesToShow(params),
    sites: sitesOf(prompt.details),
    otherAccountHref: `${paths.authorization}?${sameRequest(params)}`,
  }
}

/**
 * The scopes that the request names, and those whose claims it asks for one by one with the `claims`
 * parameter (OpenID Connect Core §5.5): the person is told of both in the same words.
 */
function scopesToShow(params: Record<string, unknown>): string[] {
  const named = String(params['scope'] ?? '').split(' ')
  const claims = typeof params['claims'] === 'string' ? claimsIn(params['claims']) : []
  const implied = Object.entries(claimsByScope)
    .filter(([, released]) => released.some((claim) => claims.includes(claim)))
    .map(([scope]) => scope)
  return [...new Set([...named, ...implied])].filter(findScope)
}

/** The engine has parsed the parameter already, and refused one that is not as it must be. */
function claimsIn(parameter: string): string[] {
  return Object.values(JSON.parse(parameter) as object).flatMap((asked) => Object.keys(asked ?? {}))
}

function askingClient({ clientId, name, origin, siteName, document }: ClientFacts) {
  // A resource server has no redirect addresses and never gets this far.
  if (origin === 'resource_server') throw interactionGone()
  return {
    name,
    origin,
    siteName,
    ...(document && { describedAt: new URL(clientId).host, reviewed: document.reviewed }),
  }
}

/** The policy (prompts.ts) put the sites here when it asked; they come from our own store. */
function sitesOf(details: Record<string, unknown>): HeldSite[] {
  const { sites, site } = details as { sites?: HeldSite[]; site?: HeldSite }
  return sites ?? (site ? [site] : [])
}

function sameRequest(params: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    for (const single of [value ?? []].flat()) query.append(name, String(single))
  }
  query.set('prompt', 'login')
  query.delete('login_hint')
  return query.toString()
}

interface ConsentDetails {
  readonly missingOIDCScope?: string[]
  readonly missingOIDCClaims?: string[]
  readonly missingResourceScopes?: Record<string, string[]>
  /** Of the metadata document that the person was asked about (prompts.ts). */
  readonly fingerprint?: string
}

/**
 * Writes down what the person agreed to: exactly what was missing, in the grant that the request
 * continues or in a new one. What a form says of scopes is never read, so nobody can add one.
 */
async function saveGrant(
  details: Details,
  { provider, grants }: { readonly provider: Provider; readonly grants: Pick<GrantStore, 'save'> },
): Promise<string> {
  const missing = details.prompt.details as ConsentDetails
  const client = await provider.Client.find(String(details.params['client_id']))
  const personId = details.session?.accountId
  if (!client || personId === undefined) throw interactionGone()
  const grant = await continuedGrant(details, provider)
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '))
  if (missing.missingOIDCClaims) grant.addOIDCClaims(missing.missingOIDCClaims)
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '))
  }
  const { clientId, name, origin } = factsOf(client)
  const [site] = sitesOf(details.prompt.details)
  await grants.save({
    id: grant.jti,
    personId,
    clientId,
    clientName: name,
    clientOrigin: origin,
    siteId: site?.id,
    documentFingerprint: missing.fingerprint,
    allowed: allowedIn(grant),
  })
  return grant.jti
}

async function continuedGrant(details: Details, provider: Provider): Promise<EngineGrant> {
  const known = details.grantId ? await provider.Grant.find(details.grantId) : undefined
  if (known) return known
  const properties = {
    accountId: details.session?.accountId,
    clientId: String(details.params['client_id']),
    jti: newGrantId(),
  }
  return new provider.Grant(properties)
}
