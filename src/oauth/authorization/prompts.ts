import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'

import { accessDenied } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'
import { factsOfClient } from '../clients/client-metadata.ts'
import { consentCannotBeRemembered, isApproved } from './decide-consent.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { decideRequestedSite, siteOfSession, sitesOf } from './requested-site.ts'
import { assuranceChecks } from './required-acr.ts'

/**
 * Creates the policy that decides when to ask for sign-in, site choice or consent. The prompts have standard names, so
 * a client can send `prompt=select_account` to let the person change the site.
 */
export function promptPolicy(dependencies: EngineDependencies) {
  const { base, Check, Prompt } = interactionPolicy
  const policy = base()

  const login = policy.get('login')
  // The engine would prompt forever for an `acr` that the person cannot satisfy.
  for (const reason of ['essential_acr', 'essential_acrs']) login?.checks.remove(reason)
  for (const check of [...loginChecks(), ...assuranceChecks(dependencies)]) login?.checks.add(check)

  login?.checks.add(
    new Check('other_site', 'the session is not for this site', 'login_required', async (ctx) => {
      const from = siteOfSession(ctx.oidc)
      const { origin, siteId } = ctx.oidc.client ? factsOfClient(ctx.oidc.client) : {}
      // Our own pages check the site themselves, because the request does not say which page was opened.
      if (origin === 'first_party' || (from !== undefined && from === siteId)) return false
      const decision = await decideRequestedSite(ctx, dependencies)
      if (from !== undefined) return sitesOf(decision)[0]?.id !== from
      return decision.kind === 'bound' && decision.site.hasOwnSignIn === true
    }),
  )
  // If the site is already decided, the sign-in page offers its identity providers.
  if (login) {
    login.details = async (ctx) => {
      const decision = await decideRequestedSite(ctx, dependencies)
      return decision.kind === 'bound' ? { site: decision.site } : {}
    }
  }

  policy.add(
    new Prompt(
      { name: 'select_account', requestable: true },
      async (ctx) => ({ sites: sitesOf(await decideRequestedSite(ctx, dependencies)) }),
      new Check('no_site', 'the person must choose a site', async (ctx) => {
        const decision = await decideRequestedSite(ctx, dependencies)
        if (decision.kind === 'refused') throw accessDenied(`${decision.why}; ${connectHint(ctx)}`)
        return decision.kind === 'choose'
      }),
    ),
    1,
  )

  // By default, the engine asks for consent at every authorization of a native client. Replace this rule (design 17).
  const consent = policy.get('consent')
  consent?.checks.remove('native_client_prompt')
  consent?.checks.add(
    new Check(
      'unverified_client',
      'the person must consent to each request from this client',
      'consent_required',
      async (ctx) => {
        const { client, params, result } = ctx.oidc
        if (result?.consent || !client) return false
        const facts = factsOfClient(client)
        const sites = facts.document ? sitesOf(await decideRequestedSite(ctx, dependencies)) : []
        const redirectUri = String(params?.['redirect_uri'])
        return consentCannotBeRemembered(facts, redirectUri, sites, dependencies.connectionPrefixes)
      },
    ),
  )
  if (consent) {
    consent.details = async (ctx) => {
      const [site] = sitesOf(await decideRequestedSite(ctx, dependencies))
      // The consent applies only to this version of the document.
      const document = ctx.oidc.client && factsOfClient(ctx.oidc.client).document
      const reviewed = document && isApproved(document, site)
      return { site, fingerprint: document?.fingerprint, reviewed }
    }
  }
  return policy
}

/**
 * Creates the checks for ended sessions and for disabled or deleted accounts. The engine would accept them. With
 * `prompt=none`, the error is `login_required` instead of the default, `interaction_required` (OpenID Connect Core
 * §3.1.2.6).
 */
function loginChecks() {
  const { Check } = interactionPolicy
  const required = 'login_required'
  return [
    // The session store keeps the sessions of disabled and deleted accounts.
    new Check('account_gone', 'the account no longer exists or is disabled', required, ({ oidc }) =>
      Boolean(oidc.session?.accountId && !oidc.account),
    ),
    // The session store may still contain a session ended by a new password, or by a sign-out in another browser.
    new Check('session_ended', 'the session has ended', required, ({ oidc }) =>
      Boolean(oidc.account && oidc.account['session'] === undefined),
    ),
  ]
}

/** Returns the end of an error description: where to find the instructions for connecting. */
function connectHint({ oidc }: KoaContextWithOIDC): string {
  return `${oidc.provider.issuer}${pages.connectHome} explains how a site's members connect`
}
