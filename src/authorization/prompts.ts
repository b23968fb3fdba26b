import { interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider'

import { accessDenied } from '../errors.ts'
import { needsOperator } from '../scopes/policy.ts'
import { decideSite, type HeldSite, type SiteDecision } from '../sites/site-choice.ts'
import { factsOf } from './presented-client.ts'
import { siteOfGrant } from './site-of-grant.ts'

/**
 * What a person is asked, and when: to sign in, to choose a site, to consent. The names are the
 * standard prompt names, so that a client may send `prompt=select_account` to change the site.
 */
export type ListHeldSites = (personId: string) => Promise<HeldSite[]>

export function promptPolicy(listHeldSites: ListHeldSites) {
  const { base, Check, Prompt } = interactionPolicy
  const policy = base()

  policy.get('login')?.checks.add(
    // A session outlives an account that was disabled or removed; without this check the engine
    // would go on with a session that belongs to nobody.
    new Check('account_gone', 'the account does not exist any more', ({ oidc }) =>
      Boolean(oidc.session?.accountId && !oidc.account),
    ),
  )

  policy.add(
    new Prompt(
      { name: 'select_account', requestable: true },
      async (ctx) => ({ sites: sitesOf(await siteDecision(ctx, listHeldSites)) }),
      new Check('no_site', 'a site must be chosen', async (ctx) => {
        const decision = await siteDecision(ctx, listHeldSites)
        if (decision.kind === 'refused') throw accessDenied(decision.why)
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
    new Check('unverified_client', 'consent is not remembered for this client', ({ oidc }) => {
      const origin = oidc.client && factsOf(oidc.client).origin
      return (origin === 'loopback' || origin === 'document') && !oidc.result?.consent
    }),
  )
  if (consent) {
    consent.details = async (ctx) => {
      const [site] = sitesOf(await siteDecision(ctx, listHeldSites))
      return { site }
    }
  }
  return policy
}

/** The sites that a page has to show; the one alone when there is nothing to choose. */
function sitesOf(decision: SiteDecision): readonly HeldSite[] {
  if (decision.kind === 'bound') return [decision.site]
  return decision.kind === 'choose' ? decision.sites : []
}

const decisions = new WeakMap<KoaContextWithOIDC, Promise<SiteDecision>>()

/** The site that this authorization request is bound to; asked once a request. */
export function siteDecision(
  ctx: KoaContextWithOIDC,
  listHeldSites: ListHeldSites,
): Promise<SiteDecision> {
  const known = decisions.get(ctx)
  if (known !== undefined) return known
  const decision = decide(ctx, listHeldSites)
  decisions.set(ctx, decision)
  return decision
}

async function decide(
  { oidc }: KoaContextWithOIDC,
  listHeldSites: ListHeldSites,
): Promise<SiteDecision> {
  const { client, account } = oidc
  if (!client || !account) return { kind: 'none' }
  const { clientId, siteId } = factsOf(client)
  const operator = needsOperator(String(oidc.params?.['scope'] ?? '').split(' '))
  if (siteId === undefined && !operator) return { kind: 'none' }
  return decideSite({
    clientSiteId: siteId,
    operator,
    held: await listHeldSites(account.accountId),
    chosenSiteId: chosenSite(oidc),
    // A client that asks for the choice wants it made again.
    rememberedSiteId: oidc.promptPending('select_account')
      ? undefined
      : siteOfGrant(oidc.session?.grantIdFor(clientId)),
  })
}

/** The site that the person chose on the page of this very request. */
function chosenSite({ result }: KoaContextWithOIDC['oidc']): string | undefined {
  const choice = result?.['select_account']
  return typeof choice === 'object' && choice && 'site' in choice ? String(choice.site) : undefined
}
