import { z } from 'zod'

import { providersPage } from '../../../views/admin-providers.ts'
import { presets, standardClaims } from '../../directory/people/provider-presets.ts'
import { SITE_PROVIDERS_MAX, type SiteProviders } from '../../directory/people/site-providers.ts'
import { notAnOperator } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { isVisible } from '../../platform/store/entered-text.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
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

const problems = {
  name: 'Please enter a name of at most 60 letters.',
  issuer: 'The issuer must be an https URL without a query, and with your tenant.',
  clientId: 'Please enter the client ID as the provider shows it.',
  clientSecret: 'Please enter the client secret as the provider shows it.',
  role: 'Please choose a role.',
  emailClaim: 'Please enter the name of the claim with the address.',
  verifiedClaim: 'Please enter the name of the claim that says whether the address is verified.',
  nameClaim: 'Please enter the name of the claim with the name.',
} as const

/** Returns the values of the empty form, or of that of a preset. */
function fieldsOf(preset: string) {
  const { name = '', issuer = '', claims = standardClaims } = presets.get(preset) ?? {}
  const { email: emailClaim, emailVerified: verifiedClaim, name: nameClaim } = claims
  return { name, issuer, clientId: '', emailClaim, verifiedClaim, nameClaim }
}

/** Registers the page with the identity providers of a site. Only owners can use it, after giving the password. */
export function providerRoutes(
  operatorPages: OperatorPages,
  { siteProviders, baseUrl }: { readonly siteProviders: SiteProviders; readonly baseUrl: string },
): void {
  const show = async (
    { site, area, address }: Operator,
    ctx: PageContext,
    typed = fieldsOf(String(ctx.query['preset'])),
    problem?: string,
  ) => {
    if (!site.roles.includes('owner')) throw notAnOperator()
    const providers = (await siteProviders.list(site.id)).map(({ id: provider, name, issuer }) => ({
      name,
      issuer,
      redirectUri: baseUrl + addressOf(pages.providerCallback, { provider }),
      removeAction: address(pages.removeIdentityProvider, { provider }),
    }))
    const action = address(pages.identityProviders)
    const steps = presets.get(String(ctx.query['preset']))?.steps
    const shown = [...presets].map(([preset, { name }]) => ({
      ...{ name, href: `${action}?preset=${preset}` },
    }))
    const form = { action, typed, problem, steps, presets: shown }
    return providersPage({ area, siteName: site.name, providers, ...form })
  }

  operatorPages.freshPage(pages.identityProviders, show)
  operatorPages.freshForm(
    pages.identityProviders,
    pages.identityProviders,
    async (operator, ctx) => {
      const { site, actor, address } = operator
      if (!site.roles.includes('owner')) throw notAnOperator()
      const fields = Object.keys(entered.shape).map((name) => [name, formField(ctx, name)])
      const typed = Object.fromEntries(fields)
      const { data, error } = entered.safeParse(typed)
      const isFull = (await siteProviders.list(site.id)).length >= SITE_PROVIDERS_MAX
      if (!data || isFull) {
        ctx.status = 422
        const field = String(error?.issues[0]?.path[0]) as keyof typeof problems
        const problem =
          problems[field] ??
          `A site can have ${SITE_PROVIDERS_MAX} identity providers; remove one first.`
        return await show(operator, ctx, typed, problem)
      }
      const { emailClaim: email, verifiedClaim: emailVerified, nameClaim: name } = data
      const provider = { ...data, claims: { email, emailVerified, name }, siteId: site.id }
      await siteProviders.add(provider, actor)
      return address(pages.identityProviders)
    },
  )
  operatorPages.freshForm(
    pages.removeIdentityProvider,
    pages.identityProviders,
    async ({ site, actor, address }, ctx) => {
      if (!site.roles.includes('owner')) throw notAnOperator()
      await siteProviders.remove(site.id, ctx.params['provider'] ?? '', actor)
      return address(pages.identityProviders)
    },
  )
}
