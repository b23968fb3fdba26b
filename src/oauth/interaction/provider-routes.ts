/** Creates the routes for signing in with an identity provider. */

import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'
import { AuthorizationResponseError } from 'oauth4webapi'

import type { BrowserSessions } from '../../directory/people/browser-sessions.ts'
import {
  type BegunSignIn,
  type IdentityProvider,
  type ProvidedIdentity,
  type ProviderSignIn,
  ProviderUnreachable,
} from '../../directory/people/identity-providers.ts'
import type {
  LinkedIdentities,
  Newcomer,
  SignedInPerson,
} from '../../directory/people/linked-identities.ts'
import { interactionGone, nothingHere } from '../../platform/http/errors.ts'
import { makeKeptValues } from '../../platform/http/kept-values.ts'
import { seeOther } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, enginePages, pages } from '../../platform/http/paths.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { PendingInteraction } from '../authorization/engine-interactions.ts'
import type { PromptPages } from './prompt-pages.ts'
import { browserCookieOf, type FirstStep, type Step } from './sign-in-steps.ts'
import { findWays, keptIn, type PendingLink, pendingLinks, type WaysPorts } from './ways.ts'

export interface ProviderPorts extends WaysPorts {
  readonly providers: ProviderSignIn
  readonly identities: LinkedIdentities
  /** Creates the account of a person whose address the provider has verified. Returns whether that was possible. */
  readonly createMember: (
    newcomer: Newcomer,
    caller: ReturnType<typeof callerOf>,
  ) => Promise<boolean>
}

/** The steps that sign-ins by every method share. */
interface Steps extends ProviderPorts {
  readonly find: (ctx: Context) => Promise<PendingInteraction>
  readonly show: PromptPages['signIn']
  /** Completes the sign-in, or asks for the second factor that it needs in addition. */
  readonly proceed: Step<[FirstStep]>
  readonly noteFailure: (ctx: Context, pending: PendingInteraction, reason: string) => void
}

/** Adds the routes from the sign-in page to an identity provider and back. @param form parses a form */
export function providerRoutes(router: Router, form: Middleware, steps: Steps): void {
  const { providers, find } = steps
  signOutRoutes(router, steps)
  const kept = keptIn<BegunSignIn>('gatehouse_provider', steps)

  router.get(pages.providerSignIn, async (ctx) => {
    const pending = await find(ctx)
    const provider = await providerOf(ctx, pending, steps)
    const { uid, mustAuthenticate: isAgain } = pending
    const { login = pending.loginHint } = ctx.query
    const loginHint = login === undefined ? undefined : String(login)
    const started = await providers
      .begin(provider, { uid, loginHint, isAgain })
      .catch(explainTo(ctx, pending, steps, provider))
    if (!started) return
    kept.set(ctx, uid, started.begun)
    seeOther(ctx, started.address)
  })

  // The cookies of an interaction are sent only to its own pages, so the response continues there.
  const toAnswer = (ctx: Context, answer: URLSearchParams) => {
    const uid = answer.get('state')?.split('.')[1] ?? ''
    if (!/^[\w-]{1,64}$/.test(uid)) throw interactionGone()
    const provider = String(ctx['params']['provider'])
    seeOther(ctx, `${addressOf(pages.providerAnswer, { uid, provider })}?${answer}`)
  }
  router.get(pages.providerCallback, (ctx) => toAnswer(ctx, new URLSearchParams(ctx.querystring)))
  // Apple sends its response as a form, without our cookies because its page is on another site.
  router.post(pages.providerCallback, form, (ctx) => {
    const answer = new URLSearchParams()
    for (const name of ['code', 'state', 'iss', 'error']) {
      if (formField(ctx, name)) answer.set(name, formField(ctx, name))
    }
    toAnswer(ctx, answer)
  })

  router.get(pages.providerAnswer, async (ctx) => {
    const pending = await find(ctx)
    const provider = await providerOf(ctx, pending, steps)
    const { uid } = pending
    const begun = kept.read(ctx, uid)
    kept.set(ctx, uid, undefined)
    // The page was reloaded, or another tab has begun a sign-in with another provider.
    if (begun?.providerId !== provider.id) return seeOther(ctx, addressOf(pages.login, { uid }))
    const identity = await providers
      .complete(provider, begun, new URLSearchParams(ctx.querystring))
      .catch(explainTo(ctx, pending, steps, provider))
    if (!identity) return
    const outcome = await personOf(ctx, pending, { ...identity, provider }, steps)
    const { person, link, problem = '', reason } = outcome
    if (person) {
      const from = { siteId: provider.siteId, providerId: provider.id }
      const signedIn = { authenticatedAt: begun.begunAt, ...from, ...person }
      return await steps.proceed(ctx, pending, { ...signedIn, method: 'identityProvider' })
    }
    if (link) {
      pendingLinks(steps).set(ctx, uid, link)
      return seeOther(ctx, addressOf(pages.login, { uid }))
    }
    ctx.status = 403
    steps.noteFailure(ctx, pending, `identity provider ${provider.id}: ${reason}`)
    await steps.show(ctx, pending, { problem })
  })
}

/** Adds the routes that sign a person out at the identity provider, too, before they lead on to where a sign-out leads. */
function signOutRoutes(router: Router, ports: ProviderPorts): void {
  const kept = makeKeptValues<string>('gatehouse_sign_out', SIGN_OUT_SECONDS, ports)
  router.post(enginePages.confirmSignOut, async (ctx, next) => {
    await next()
    const { providerId, siteId }: Partial<EndedSession> = ctx.state['endedSession'] ?? {}
    if (!providerId || ctx.status !== 303) return
    const provider = (await ports.providers.list(siteId ?? undefined)).find(
      ({ id }) => id === providerId,
    )
    // A provider that is down must not prevent the sign-out here.
    const address = provider && (await ports.providers.signOut(provider).catch(() => undefined))
    if (address === undefined) return
    kept.set(ctx, pages.providerSignedOut, '', ctx.response.get('Location'))
    ctx.set('Location', address)
  })
  router.get(pages.providerSignedOut, (ctx) => {
    const target = kept.read(ctx, '') ?? enginePages.signedOut
    kept.set(ctx, pages.providerSignedOut, '', undefined)
    seeOther(ctx, target)
  })
}

/** How long a person has for the sign-out page of a provider, in seconds. */
const SIGN_OUT_SECONDS = 600

type EndedSession = Awaited<ReturnType<BrowserSessions['end']>>[number]

/** A person to sign in, an identity to link to the account of the next sign-in, or the reason for a refusal. */
interface Outcome {
  readonly person?: SignedInPerson
  readonly link?: PendingLink
  readonly problem?: string
  readonly reason?: string
}

/** Finds the person to whom an identity is linked, or decides what happens at a first sign-in. */
async function personOf(
  ctx: Context,
  { client: { siteId } }: PendingInteraction,
  identity: ProvidedIdentity & { readonly provider: IdentityProvider },
  { identities, createMember }: Steps,
): Promise<Outcome> {
  const { provider, issuer, subject, email, name } = identity
  const use = async () => await identities.use(identity, browserCookieOf(ctx))
  const known = await use()
  if (known === 'disabled') {
    const problem = 'Your account is disabled. Please ask an operator of your site.'
    return { reason: 'disabled account', problem }
  }
  if (known) return { person: known }
  if (email === undefined) {
    const problem = `${provider.name} did not tell your e-mail address, so no account can be found. Please sign in another way.`
    return { reason: 'no address', problem }
  }
  const { clientSecret: _, ...named } = provider
  const link = { provider: named, issuer, subject, email }
  // Do not reveal whether an unverified address has an account.
  if (!identity.isVerified || (await identities.hasAccount(email))) return { link }
  const isCreated = await createMember({ ...link, name, siteId }, callerOf(ctx))
  const person = isCreated ? await use() : undefined
  if (person && person !== 'disabled') return { person }
  const problem = `There is no account for ${email}. Please ask an operator of your site for an invitation, or sign in another way.`
  return { reason: 'no such account', problem }
}

/** Finds the provider that the URL names, if it is offered for this sign-in. @throws nothingHere */
async function providerOf(
  ctx: Context,
  pending: PendingInteraction,
  ports: ProviderPorts,
): Promise<IdentityProvider> {
  const { providers } = await findWays(ctx, pending, ports)
  const provider = providers.find(({ id }) => id === ctx['params'].provider)
  if (!provider) throw nothingHere()
  return provider
}

/** Creates a handler that shows the sign-in page with the reason why a sign-in with a provider failed. */
function explainTo(
  ctx: Context,
  pending: PendingInteraction,
  { show, noteFailure }: Pick<Steps, 'show' | 'noteFailure'>,
  { id, name }: IdentityProvider,
) {
  return async (error: unknown): Promise<undefined> => {
    const [status, problem] = explain(error, name)
    ctx.status = status
    // The messages contain no token and no code; the properties of an error might.
    const reason = error instanceof Error ? error.message : String(error)
    logFields(ctx).detail = `identity provider ${id}: ${reason}`
    noteFailure(ctx, pending, `identity provider ${id}: ${reason}`)
    await show(ctx, pending, { problem, hidden: { way: 'here' } })
  }
}

function explain(error: unknown, name: string): [status: number, problem: string] {
  if (error instanceof ProviderUnreachable) {
    return [
      503,
      `${name} cannot be reached at the moment. Please try again later, or sign in another way.`,
    ]
  }
  if (error instanceof AuthorizationResponseError) {
    return [403, `${name} did not sign you in. Please try again, or sign in another way.`]
  }
  return [
    400,
    `${name} did not prove who you are, so you are not signed in. Please try again, or sign in another way.`,
  ]
}
