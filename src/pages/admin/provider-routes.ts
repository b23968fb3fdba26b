import { z } from 'zod'

import { providersPage } from '../../../views/admin-providers.ts'
import { maxAges, twoFactorsPage } from '../../../views/admin-two-factors.ts'
import { type Html, html } from '../../../views/html.ts'
import { text, textIfAny } from '../../../views/text.ts'
import { presets, standardClaims } from '../../directory/people/provider-presets.ts'
import { DOMAINS_MAX, proofOf, SITE_PROVIDERS_MAX } from '../../directory/people/site-providers.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { EVERYTHING } from '../../directory/scopes/sensitive-operations.ts'
import {
  FACTOR_RESET,
  hasFeature,
  setAssuranceDemand,
  switchFeature,
} from '../../directory/sites/site-admin.ts'
import { OWN_SIGN_IN } from '../../directory/sites/site-choice.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { isVisible } from '../../platform/store/entered-text.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

const shown = z
  .string()
  .trim()
  .max(60)
  .regex(/^[^\p{C}]+$/u)
  .refine(isVisible)

const claim = z.string().regex(/^[\x21-\x7e]{1,100}$/)

const entered = z.object({
  name: shown,
  issuer: z
    .url({ protocol: /^https$/ })
    .max(500)
    .regex(/^[^?#{}]+$/),
  clientId: z.string().regex(/^[\x20-\x7e]{1,200}$/),
  clientSecret: z.string().regex(/^[\x20-\x7e]{1,500}$/),
  role: z.enum(['student', 'lecturer']),
  emailClaim: claim,
  verifiedClaim: claim,
  nameClaim: claim,
})

/** Returns the initial values of the form, from a preset or with only the standard claims. */
function presetFields(preset: string) {
  const { name = '', issuer = '', claims = standardClaims } = presets.get(preset) ?? {}
  const { email: emailClaim, emailVerified: verifiedClaim, name: nameClaim } = claims
  return { name, issuer, clientId: '', emailClaim, verifiedClaim, nameClaim }
}

/** Creates the function that shows the page. If a form was rejected, the page contains the problem and the input. */
function makeShow({ siteProviders, baseUrl }: AdminParts) {
  return async ({ site, address }: Operator, ctx: PageContext, refused?: Refused) => {
    const listed = await siteProviders.list(site.id)
    const providers = listed.map(({ id: provider, name, issuer, domains }) => ({
      ...{ name, issuer, domains, proof: proofOf(provider, '<domain>') },
      redirectUri: baseUrl + addressOf(pages.providerCallback, { provider }),
      domainsAction: address(pages.providerDomains, { provider }),
      removeAction: address(pages.removeIdentityProvider, { provider }),
    }))
    const { problem, typed = presetFields(String(ctx.query['preset'])) } = refused ?? {}
    const action = address(pages.identityProviders)
    const steps = textIfAny(`providers.steps.${ctx.query['preset']}`, { tenant: '{tenant}' })
    const shown = [...presets].map(([preset, { name }]) => ({
      ...{ name, href: `${action}?preset=${preset}` },
    }))
    const form = { action, typed, problem, steps, presets: shown }
    const only = { isOnly: listed[0]?.isOnlyWay === true, onlyAction: address(pages.ownSignIn) }
    const signOutUri = baseUrl + pages.providerSignedOut
    return providersPage({ siteName: site.name, providers, signOutUri, ...only, ...form })
  }
}

interface Refused {
  readonly problem: Html
  readonly typed?: ReturnType<typeof presetFields>
}

/** Registers the page on which owners manage a site's identity providers. It requires a recent sign-in. */
export function providerRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { siteProviders, database } = parts
  const { identityProviders: home } = pages
  const { freshPage, freshForm } = operatorPages.ofOwners
  const show = makeShow(parts)
  freshPage(home, async (operator, ctx) => await show(operator, ctx))
  freshForm(home, home, async (operator, ctx) => {
    const { site, actor, address } = operator
    const fields = Object.keys(entered.shape).map((name) => [name, formField(ctx, name)])
    const typed = Object.fromEntries(fields)
    const { data, error } = entered.safeParse(typed)
    const isFull = (await siteProviders.list(site.id)).length >= SITE_PROVIDERS_MAX
    if (!data || isFull) {
      const field = error?.issues[0]?.path[0] as keyof typeof entered.shape | undefined
      const problem = text(`providers.problem.${field ?? 'full'}`, { max: SITE_PROVIDERS_MAX })
      return invalid(ctx, await show(operator, ctx, { problem, typed }))
    }
    const { emailClaim: email, verifiedClaim: emailVerified, nameClaim: name } = data
    const provider = { ...data, claims: { email, emailVerified, name }, siteId: site.id }
    await siteProviders.add(provider, actor)
    return address(home)
  })
  freshForm(pages.removeIdentityProvider, home, async ({ site, actor, address }, ctx) => {
    await siteProviders.remove(site.id, ctx.params['provider'] ?? '', actor)
    return address(home)
  })
  freshForm(pages.providerDomains, home, async (operator, ctx) => {
    const { site, actor, address } = operator
    const listed = await siteProviders.list(site.id)
    const provider = listed.find(({ id }) => id === ctx.params['provider'])
    if (!provider) throw nothingHere()
    const typed = formField(ctx, 'domains')
      .toLowerCase()
      .split(/[\s,]+/)
    const domains = typed.filter(Boolean).slice(0, DOMAINS_MAX)
    const refused = await siteProviders.setDomains(provider, domains, actor)
    if (!refused) return address(home)
    const { name, value } = proofOf(provider.id, refused.domain)
    const [domain, record] = [refused.domain, name].map((each) => html`<bdi>${each}</bdi>`)
    const shown = { domain, record, value: html`<code>${value}</code>` }
    const problem = text(`providers.problem.${refused.problem}`, shown)
    return invalid(ctx, await show(operator, ctx, { problem }))
  })
  freshForm(pages.ownSignIn, home, async ({ site, actor, address }, ctx) => {
    const on = formField(ctx, 'on') === 'yes' && (await siteProviders.list(site.id)).length > 0
    await switchFeature(database, { siteId: site.id, feature: OWN_SIGN_IN, on }, actor)
    return address(home)
  })
}

/**
 * Registers the page on which an owner makes two factors mandatory for operators. Opening the page requires two
 * factors, so owners cannot lock themselves out.
 */
export function twoFactorRoutes(operatorPages: OperatorPages, { database }: AdminParts): void {
  const areas = [...new Set(scopeNames('operator').map((scope) => scope.split(':')[0] ?? ''))]
  const { freshPage, freshForm } = operatorPages.ofOwners
  freshPage(pages.twoFactors, async ({ site }) => {
    const { assuranceDemand: demand } = site
    const isAll = demand?.areas.includes(EVERYTHING) ?? false
    const hasReset = await hasFeature(database, site.id, FACTOR_RESET)
    return twoFactorsPage({ demand, isAll, areas, hasReset })
  })
  freshForm(pages.twoFactors, pages.twoFactors, async (operator, ctx) => {
    const { site, actor, address } = operator
    const isChosen = (seconds: number) => `${seconds}` === formField(ctx, 'max-age')
    const maxAgeSeconds = maxAges.find(isChosen) || undefined
    const chosen = areas.filter((area) => formFields(ctx, 'area').includes(area))
    const isOn = formField(ctx, 'for') !== 'nothing'
    const covered = formField(ctx, 'for') === 'everything' ? [EVERYTHING] : chosen
    const demand = isOn ? { areas: covered, maxAgeSeconds } : undefined
    await setAssuranceDemand(database, site.id, demand, actor)
    const on = formField(ctx, 'reset') === 'yes'
    await switchFeature(database, { siteId: site.id, feature: FACTOR_RESET, on }, actor)
    return `${address(pages.twoFactors)}?done=saved`
  })
}
