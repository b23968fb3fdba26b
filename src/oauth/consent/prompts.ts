import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'

import { needsOperator, needsToChange } from '../../directory/scopes/policy.ts'
import { decideReview } from '../../directory/sites/review-policy.ts'
import { decideSite, type HeldSite, type SiteDecision } from '../../directory/sites/site-choice.ts'
import { accessDenied } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'
import type { DocumentState } from '../clients/client.ts'
import { factsOf } from '../clients/client-metadata.ts'
import type { FindGrant } from '../grants/access.ts'

const LOGIN_REQUIRED = 'login_required'

/**
 * What a person is asked, and when: to sign in, to choose a site, to consent. The names are the
 * standard prompt names, so that a client may send `prompt=select_account` to change the site.
 */
export interface PromptDependencies {
  readonly listHeldSites: (personId: string, clientId?: string) => Promise<HeldSite[]>
  readonly findGrant: FindGrant
  /** How the callbacks begin of which each connection of an assistant has its own. */
  readonly connectionPrefixes: readonly string[]
}

export function promptPolicy(dependencies: PromptDependencies) {
  const { base, Check, Prompt } = interactionPolicy
  const policy = base()

  policy.get('login')?.checks.add(
    // A session outlives a person who was disabled or removed; without this check the engine
    // would go on with a session that belongs to nobody.
    new Check(
      'account_gone',
      'the account does not exist any more',
      // OpenID Connect Core §3.1.2.6, for prompt=none; without it the engine says interaction_required.
      LOGIN_REQUIRED,
      ({ oidc }) => Boolean(oidc.session?.accountId && !oidc.account),
    ),
  )
  policy.get('login')?.checks.add(
    // The session knows whole seconds, so one that began in the very second of the sign-out is over.
    new Check(
      'signed_out_everywhere',
      'the person signed out everywhere',
      LOGIN_REQUIRED,
      ({ oidc }) => {
        const signedOutAt = oidc.account?.['signedOutAt']
        const beganAt = oidc.session?.loginTs ?? 0
        return typeof signedOutAt === 'number' && beganAt <= Math.floor(signedOutAt / 1000)
      },
    ),
  )

  policy.get('login')?.checks.add(
    // Where the session is kept in Redis, one that was signed out can come back with an older Redis.
    new Check(
      'signed_out_here',
      'the person signed out of this session',
      LOGIN_REQUIRED,
      ({ oidc }) => oidc.account?.['sessionEnded'] === true,
    ),
  )

  policy.add(
    new Prompt(
      { name: 'select_account', requestable: true },
      async (ctx) => ({ sites: sitesOf(await siteDecision(ctx, dependencies)) }),
      new Check('no_site', 'a site must be chosen', async (ctx) => {
        const decision = await siteDecision(ctx, dependencies)
        if (decision.kind === 'refused') throw accessDenied(`${decision.why}; ${whereElse(ctx)}`)
        return decision.kind === 'choose'
      }),
    ),
    1,
  )

  // The engine asks every native client for consent each time. Design 17 narrows that to clients
  // that anybody on the machine, or anybody at all, could claim to be (RFC 8252 §8.6).
  const consent = policy.get('consent')
  consent?.checks.remove('native_client_prompt')
  consent?.checks.add(
    new Check(
      'unverified_client',
      'consent is not remembered for this client',
      'consent_required',
      async (ctx) => !ctx.oidc.result?.consent && (await couldBeAnybody(ctx, dependencies)),
    ),
  )
  if (consent) {
    consent.details = async (ctx) => {
      const [site] = sitesOf(await siteDecision(ctx, dependencies))
      // The document as it is asked about, so that the consent is for this one and no later one.
      const document = ctx.oidc.client && factsOf(ctx.oidc.client).document
      const reviewed = document && isReviewed(document, site)
      return { site, fingerprint: document?.fingerprint, reviewed }
    }
  }
  return policy
}

/**
 * Whoever returns to the person's own computer, at a loopback address or a scheme of an app's own: any
 * program there could claim to be the client, whose id is no secret (RFC 8252 §8.6). Documents that nobody
 * reviewed. And callbacks that belong to one connection of many, of a platform or of an assistant:
 * whoever makes such a connection has the same client_id as everybody else (design 17).
 */
async function couldBeAnybody(
  ctx: KoaContextWithOIDC,
  dependencies: PromptDependencies,
): Promise<boolean> {
  const { client, params } = ctx.oidc
  const { connectionPrefixes } = dependencies
  if (!client) return false
  const { origin, document, patternCallback } = factsOf(client)
  if (origin === 'first_party') return false
  if (document) {
    const [site, ...others] = sitesOf(await siteDecision(ctx, dependencies))
    if (others.length > 0 || !isReviewed(document, site)) return true
  }
  const redirectUri = String(params?.['redirect_uri'])
  const isOfOne =
    redirectUri === patternCallback ||
    connectionPrefixes.some((prefix) => redirectUri.startsWith(prefix))
  return isOfOne || !redirectUri.startsWith('https:')
}

/** Whether a document is approved at a site, or for every site where none is meant (design 31). */
function isReviewed(document: DocumentState, site: HeldSite | undefined): boolean {
  const { reviewed, fingerprint } = document
  const platform = reviewed ? ({ review: 'approved', fingerprint } as const) : undefined
  return decideReview({ platform, site: site?.documentReview }, fingerprint) === 'approved'
}

/** Where a document is blocked its client gets nothing, and where it is not approved it changes nothing. */
function admitsAt(
  document: DocumentState | undefined,
  scopes: readonly string[],
): (site: HeldSite) => boolean {
  if (!document) return () => true
  return (site) =>
    site.documentReview?.review !== 'blocked' &&
    (!needsToChange(scopes) || isReviewed(document, site))
}

/** The sites that a page has to show; the one alone when there is nothing to choose. */
function sitesOf(decision: SiteDecision): readonly HeldSite[] {
  if (decision.kind === 'bound') return [decision.site]
  return decision.kind === 'choose' ? decision.sites : []
}

/** The site that this authorization request is bound to. */
export async function siteDecision(
  { oidc }: KoaContextWithOIDC,
  { listHeldSites, findGrant }: PromptDependencies,
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
    admits: admitsAt(document, scopes),
    chosenSiteId: chosenSite(oidc),
    // A client that asks for the choice wants it made again.
    rememberedSiteId: oidc.promptPending('select_account')
      ? undefined
      : (await findGrant({ grantId: oidc.session?.grantIdFor(clientId) }))?.grant.siteId,
  })
}

/** The site that the person chose on the page of this very request. */
function chosenSite({ result }: KoaContextWithOIDC['oidc']): string | undefined {
  const choice = result?.['select_account']
  return typeof choice === 'object' && choice && 'site' in choice ? String(choice.site) : undefined
}

/** What a person does who is at the wrong application. */
function whereElse({ oidc }: KoaContextWithOIDC): string {
  return `${oidc.provider.issuer}${pages.connectHome} says how members of a site connect`
}
