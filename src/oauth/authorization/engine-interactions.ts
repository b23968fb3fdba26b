import type { Context } from 'koa'
import { errors, type InteractionResults, type Provider } from 'oidc-provider'

import {
  type Authentication,
  lacksSecondFactor,
  MFA_ACR,
} from '../../directory/people/authentication.ts'
import { findScope } from '../../directory/scopes/catalogue.ts'
import type { HeldSite } from '../../directory/sites/site-choice.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import { prefer, readUiLocales } from '../../platform/http/language.ts'
import { paths } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { type EngineClient, factsOfClient } from '../clients/client-metadata.ts'
import type { NewGrant } from '../grants/grant-store.ts'
import { claimsByScope } from '../token/claims.ts'
import { loginResult } from './browser-session.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { newGrantId } from './remembered-grant.ts'
import { OPERATORS_NEED_MFA, plainNames, requiredAcr } from './required-acr.ts'

export type Interactions = ReturnType<typeof makeInteractions>

export type PendingInteraction = ReturnType<typeof toPending>

export type PromptName = 'login' | 'select_account' | 'consent'

/**
 * Creates the functions that find and complete the engine's interactions, for the pages in oauth/interaction. To
 * complete an interaction, redirect to the URL that the function returns.
 */
export function makeInteractions(provider: Provider, dependencies: EngineDependencies) {
  const { grants, clients } = dependencies
  const finish = async (ctx: Context, result: InteractionResults, merge: boolean) =>
    await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: merge })

  return {
    /** Finds this browser's interaction. @throws interactionGone if there is none, or it may no longer continue */
    find: async (ctx: Context) => toPending(await findWaiting(ctx, provider, dependencies)),
    /** Completes a sign-in. No session begins if the person signed out everywhere at or after `authenticatedAt`. */
    async signedIn(ctx: Context, authentication: Authentication) {
      // Keep the chosen site, because it may be the reason for this second sign-in.
      const { lastSubmission } = await provider.interactionDetails(ctx.req, ctx.res)
      const chosen = lastSubmission && { select_account: lastSubmission['select_account'] }
      return await finish(ctx, { ...chosen, login: loginResult(authentication) }, false)
    },
    siteChosen: async (ctx: Context, siteId: string | undefined) =>
      await finish(ctx, { select_account: { site: siteId } }, true),
    /** Sends `access_denied` to the client, with `state` and `iss`. */
    refused: async (ctx: Context, why: string) =>
      await finish(ctx, { error: 'access_denied', error_description: why }, false),
    async consented(ctx: Context) {
      const waiting = await findWaiting(ctx, provider, dependencies)
      const grant = await grantOfConsent(waiting, provider)
      await grants.store.save(grant, callerOf(ctx))
      if (grant.clientOrigin === 'loopback') await clients.loopback.use(grant.clientId)
      if (waiting.byPattern) {
        await clients.callbacks.use(grant.clientId, waiting.redirectUri, grant.personId)
      }
      return await finish(ctx, { consent: { grantId: grant.id } }, true)
    },
  }
}

type Waiting = Awaited<ReturnType<typeof findWaiting>>

/** Finds this browser's interaction. @throws interactionGone if there is none, or it may no longer continue */
async function findWaiting(
  ctx: Context,
  provider: Provider,
  { visitors, people }: EngineDependencies,
) {
  // Replace the engine's error, because its message is unclear to people.
  const details = await provider.interactionDetails(ctx.req, ctx.res).catch((error: unknown) => {
    throw error instanceof errors.SessionNotFound ? interactionGone() : error
  })
  if (details.prompt.details['browser'] !== visitors.digestOf(ctx)) throw interactionGone()
  const { prompt, session } = details
  const person = session && (await people.findPerson(session.accountId, { id: session.uid }))
  // The session may have ended while the page was open. The login page needs no session.
  if (prompt.name !== 'login' && !person?.session) throw interactionGone()
  const client = await provider.Client.find(String(details.params['client_id']))
  if (!client || !mayStillAsk(client, details.params)) throw interactionGone()
  const { ui_locales, redirect_uri } = details.params
  const request = readUiLocales(ui_locales)
  prefer(ctx, { request, person: person?.locale, timeZone: person?.timeZone })
  const redirectUri = String(redirect_uri)
  // Callbacks that match a pattern are added to a client only in authorization requests, so this client lacks them.
  const byPattern = redirectUri.startsWith('https:') && !client.redirectUris?.includes(redirectUri)
  const mustPush = client['requirePushedAuthorizationRequests'] === true
  return { details, person, client: factsOfClient(client), redirectUri, byPattern, mustPush }
}

/**
 * Whether the client may still use the scopes and the redirect URI of the request. The engine has checked them, but an
 * operator may have removed a scope or URI since then. No operator can edit the redirect URIs of an integration.
 */
function mayStillAsk(client: EngineClient, params: Record<string, unknown>): boolean {
  const allowed = client.scope?.split(' ')
  const asked = String(params['scope'] ?? '').split(' ')
  if (allowed && asked.some((scope) => findScope(scope) && !allowed.includes(scope))) return false
  const hasPatterns = factsOfClient(client).origin === 'integration'
  return hasPatterns || client.redirectUriAllowed(String(params['redirect_uri']))
}

function toPending({ details, person, client, redirectUri, byPattern, mustPush }: Waiting) {
  const { uid, prompt, params } = details
  const maxAge = params['max_age'] ?? params[plainNames.max_age]
  const { clientId, document } = client
  const { reviewed = document?.reviewed } = prompt.details as PromptDetails
  return {
    uid,
    prompt: prompt.name as PromptName,
    client: {
      ...client,
      /** The host of the client's metadata document; undefined if it has none. */
      describedAt: document && new URL(clientId).host,
      /** Whether the metadata document is approved at the site, or for all sites. Undefined if there is no document. */
      reviewed: document && reviewed,
      /** Whether the redirect URI matched a pattern. If so, it belongs to a single connection of a platform. */
      byPattern,
    },
    redirectUri,
    /** The person who is signed in, if any. */
    person,
    loginHint: typeof params['login_hint'] === 'string' ? params['login_hint'] : undefined,
    /** Whether the person must authenticate again, even if the identity provider has a session. */
    mustAuthenticate: /\blogin\b/.test(String(params['prompt'])) || maxAge !== undefined,
    /** Whether the request needs a second factor in addition to the given methods. */
    lacksFactor: (methods: Authentication['methods']) =>
      lacksSecondFactor(
        prompt.reasons.includes(OPERATORS_NEED_MFA) ? [MFA_ACR] : requiredAcr(params),
        methods,
      ),
    scopes: scopesToShow(params),
    /** The requested scopes that the remembered grant lacks; empty if no grant is remembered. */
    newScopes: details.grantId === undefined ? [] : missingScopes(prompt.details),
    /** For the prompt `select_account`, the sites to choose from. For other prompts, the request's site, if any. */
    sites: promptSites(prompt.details as PromptDetails),
    /** Link for using another account. Repeats the request or, if requests must be pushed, signs the person out. */
    otherAccountHref: mustPush ? paths.endSession : `${paths.authorization}?${sameRequest(params)}`,
  }
}

/** Returns the known scopes that are requested, or implied by the `claims` parameter (OpenID Connect Core §5.5). */
function scopesToShow({ scope, claims: parameter }: Record<string, unknown>): string[] {
  const named = String(scope ?? '').split(' ')
  // The engine has already rejected malformed JSON.
  const wanted: object = typeof parameter === 'string' ? JSON.parse(parameter) : {}
  const claims = Object.values(wanted).flatMap((part) => Object.keys(part ?? {}))
  const implied = Object.entries(claimsByScope)
    .filter(([, released]) => released.some((claim) => claims.includes(claim)))
    .map(([scope]) => scope)
  return [...new Set([...named, ...implied])].filter(findScope)
}

/** The details of a prompt, from our policy (prompts.ts) and from the engine. */
interface PromptDetails {
  readonly missingOIDCScope?: string[]
  readonly missingOIDCClaims?: string[]
  readonly missingResourceScopes?: Record<string, string[]>
  /** The fingerprint of the metadata document that the consent page describes. */
  readonly fingerprint?: string
  /** Whether the metadata document is approved at the site of the consent. */
  readonly reviewed?: boolean
  readonly sites?: readonly HeldSite[]
  readonly site?: HeldSite
}

function missingScopes(details: PromptDetails): string[] {
  const { missingOIDCScope = [], missingResourceScopes = {} } = details
  return [...missingOIDCScope, ...Object.values(missingResourceScopes).flat()]
}

function promptSites({ sites, site }: PromptDetails): readonly HeldSite[] {
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

/**
 * Adds everything that the consent page showed to the remembered grant, or to a new grant, and returns the grant. The
 * form has no scope fields, so a forged form cannot add scopes.
 */
async function grantOfConsent(
  { details, person, client }: Waiting,
  provider: Provider,
): Promise<NewGrant> {
  const missing = details.prompt.details as PromptDetails
  const { clientId, name, origin } = client
  if (!person) throw interactionGone()
  const { id: accountId } = person
  const fresh = { accountId, clientId, jti: newGrantId() }
  const continued = details.grantId ? await provider.Grant.find(details.grantId) : undefined
  const grant = continued ?? new provider.Grant(fresh)
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '))
  if (missing.missingOIDCClaims) grant.addOIDCClaims(missing.missingOIDCClaims)
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(' '))
  }
  const { jti: id, openid, resources } = grant
  return {
    id,
    personId: accountId,
    clientId,
    clientName: name,
    clientOrigin: origin,
    siteId: promptSites(missing)[0]?.id,
    documentFingerprint: missing.fingerprint,
    allowed: { openid, resources },
  }
}
