/** Creates the routes for signing in with an identity provider. */

import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'
import { AuthorizationResponseError } from 'oauth4webapi'

import type { Html } from '../../../views/html.ts'
import { type TextId, text } from '../../../views/text.ts'
import type { Explained } from '../../directory/people/authenticate.ts'
import type { BrowserSessions } from '../../directory/people/browser-sessions.ts'
import {
  type BegunSignIn,
  type IdentityProvider,
  type ProvidedIdentity,
  ProviderUnreachable,
} from '../../directory/people/identity-providers.ts'
import type { NewIdentity, SignedInPerson } from '../../directory/people/linked-identities.ts'
import { interactionGone, nothingHere } from '../../platform/http/errors.ts'
import { makeKeptValues } from '../../platform/http/kept-values.ts'
import { seeOther } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, enginePages, pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { PendingInteraction } from '../authorization/engine-interactions.ts'
import { type FirstStep, knownSignIns, type Refuse, type Step } from './sign-in-steps.ts'
import { findWays, type InteractionPorts, KEPT_SECONDS, pathOf, pendingLinks } from './ways.ts'

/** The dependencies of the provider routes, and the steps that complete or reject a sign-in. */
interface Steps extends InteractionPorts {
  readonly find: (ctx: Context) => Promise<PendingInteraction>
  /** Completes the sign-in, or asks for a required second factor if the person has one. */
  readonly proceed: Step<[FirstStep]>
  readonly refuse: Refuse
}

/** A failed sign-in with a provider. The message is the reason for the log and the audit trail. */
class ProviderFailure extends Error {
  readonly page: Omit<Explained, 'reason'>

  constructor(status: number, problem: Html, reason: string) {
    super(reason)
    this.page = { status, problem }
  }
}

/** Adds the routes for signing in with an identity provider, and for signing out there. @param form parses a form */
export function providerSignInRoutes(router: Router, form: Middleware, steps: Steps): void {
  const { find, proceed, refuse } = steps
  const { providers } = steps.directory
  signOutRoutes(router, steps)
  const kept = makeKeptValues<BegunSignIn>('gatehouse_provider', KEPT_SECONDS, steps, pathOf)
  const links = pendingLinks(steps)
  const declare = (pattern: string, answer: Step<[IdentityProvider]>) =>
    router.get(pattern, async (ctx) => {
      const pending = await find(ctx)
      const offered = (await findWays(ctx, pending, steps)).providers
      const provider = offered.find(({ id }) => id === ctx['params']['provider'])
      if (!provider) throw nothingHere()
      await answer(ctx, pending, provider).catch(async (error) => {
        if (!(error instanceof ProviderFailure)) throw error
        const reason = `identity provider ${provider.id}: ${error.message}`
        const failed = { kind: 'provider', ...error.page, reason } as const
        await refuse(ctx, pending, failed, { hidden: { way: 'here' } })
      })
    })

  declare(pages.providerSignIn, async (ctx, pending, provider) => {
    const { uid, mustAuthenticate: isAgain } = pending
    const { login = pending.loginHint } = ctx.query
    const loginHint = login === undefined ? undefined : String(login)
    const asked = { uid, loginHint, isAgain }
    const { begun, address } = await providers.begin(provider, asked).catch(explainFor(provider))
    kept.set(ctx, uid, begun)
    seeOther(ctx, address)
  })

  // The interaction's cookies are sent only to the sign-in path and below, so redirect the provider's response there.
  const toAnswer = (ctx: Context, answer: URLSearchParams) => {
    const uid = answer.get('state')?.split('.')[1] ?? ''
    if (!/^[\w-]{1,64}$/.test(uid)) throw interactionGone()
    const provider = String(ctx['params']['provider'])
    seeOther(ctx, `${addressOf(pages.providerAnswer, { uid, provider })}?${answer}`)
  }
  router.get(pages.providerCallback, (ctx) => toAnswer(ctx, new URLSearchParams(ctx.querystring)))
  // Apple sends its response as a cross-site form, so the browser omits our SameSite cookies.
  router.post(pages.providerCallback, form, (ctx) => {
    const names = ['code', 'state', 'iss', 'error'].filter((name) => formField(ctx, name))
    const sent = Object.fromEntries(names.map((name) => [name, formField(ctx, name)]))
    toAnswer(ctx, new URLSearchParams(sent))
  })

  declare(pages.providerAnswer, async (ctx, pending, provider) => {
    const { uid } = pending
    const begun = kept.read(ctx, uid)
    kept.set(ctx, uid, undefined)
    // The page may have been reloaded, or another tab may have begun a sign-in with another provider.
    if (begun?.providerId !== provider.id) return seeOther(ctx, addressOf(pages.login, { uid }))
    const answer = new URLSearchParams(ctx.querystring)
    const said = await providers.complete(provider, begun, answer).catch(explainFor(provider))
    const found = await findLinkedPerson(ctx, pending, { ...said, provider }, steps)
    if ('email' in found) {
      links.set(ctx, uid, found)
      return seeOther(ctx, addressOf(pages.login, { uid }))
    }
    const from = { siteId: provider.siteId, providerId: provider.id }
    const signedIn = { authenticatedAt: begun.begunAt, ...from, ...found }
    await proceed(ctx, pending, { ...signedIn, method: 'identityProvider' })
  })
}

/** Adds the routes that also sign a person out at the identity provider, and then redirect to the original target. */
function signOutRoutes(router: Router, ports: InteractionPorts): void {
  const path = pages.providerSignedOut
  const { providers } = ports.directory
  const kept = makeKeptValues<string>('gatehouse_sign_out', KEPT_SECONDS, ports, () => path)
  router.post(enginePages.confirmSignOut, async (ctx, next) => {
    await next()
    const { providerId, siteId }: Partial<EndedSession> = ctx.state['endedSession'] ?? {}
    if (!providerId || ctx.status !== 303) return
    const listed = await providers.list(siteId ?? undefined)
    const provider = listed.find(({ id }) => id === providerId)
    // A provider that is down must not prevent the sign-out from this service.
    const address = provider && (await providers.signOut(provider).catch(() => undefined))
    if (address === undefined) return
    kept.set(ctx, '', ctx.response.get('Location'))
    ctx.set('Location', address)
  })
  router.get(path, (ctx) => {
    const target = kept.read(ctx, '') ?? enginePages.signedOut
    kept.set(ctx, '', undefined)
    seeOther(ctx, target)
  })
}

type EndedSession = Awaited<ReturnType<BrowserSessions['end']>>[number]

/**
 * Finds the person linked to an identity. At a first sign-in, creates an account, or prepares to link the identity to
 * the account that signs in next. @throws ProviderFailure if the person cannot sign in
 */
async function findLinkedPerson(
  ctx: Context,
  { client: { siteId } }: PendingInteraction,
  identity: ProvidedIdentity & { readonly provider: IdentityProvider },
  steps: Steps,
): Promise<SignedInPerson | NewIdentity> {
  const { provider, issuer, subject, email, name } = identity
  const { identities } = steps.directory
  const key = { providerId: provider.id, issuer, subject }
  const use = async () => {
    const person = await identities.use(key, knownSignIns(steps).read(ctx, ''))
    if (person !== 'disabled') return person
    throw new ProviderFailure(403, text('signIn.disabled'), 'disabled account')
  }
  const known = await use()
  if (known) return known
  if (email === undefined) {
    const problem = text('signIn.noAddress', { provider: provider.name })
    throw new ProviderFailure(403, problem, 'no e-mail address')
  }
  const { clientSecret: _, ...named } = provider
  const link = { provider: named, issuer, subject, email }
  // Do not reveal whether an unverified address has an account.
  if (!identity.isVerified || (await identities.hasAccount(email))) return link
  const isCreated = await steps.createMember({ ...link, name, siteId }, callerOf(ctx))
  const person = isCreated ? await use() : undefined
  if (person) return person
  throw new ProviderFailure(403, text('signIn.noAccount', { email }), 'no such account')
}

/** Creates the handler for failed requests to a provider. It throws a ProviderFailure with an explanation. */
function explainFor({ name }: IdentityProvider) {
  return (error: unknown): never => {
    const [status, id] = explain(error)
    // Log only the message, because properties of the error may contain a token or a code.
    const reason = error instanceof Error ? error.message : String(error)
    throw new ProviderFailure(status, text(id, { provider: name }), reason)
  }
}

function explain(error: unknown): [status: number, problem: TextId] {
  if (error instanceof ProviderUnreachable) return [503, 'signIn.unreachable']
  if (error instanceof AuthorizationResponseError) return [403, 'signIn.refused']
  return [400, 'signIn.unproven']
}
