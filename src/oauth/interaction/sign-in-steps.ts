/** Handles the sign-in page, its passkey form and the second step. Completes sign-ins by every method. */

import type { Context } from 'koa'

import type { Html, HtmlValue } from '../../../views/html.ts'
import type { SignInPage } from '../../../views/sign-in.ts'
import { explainFailure, type NotSignedIn } from '../../directory/people/authenticate.ts'
import type {
  Authentication,
  FirstMethod,
  SecondMethod,
} from '../../directory/people/authentication.ts'
import { findRoute } from '../../directory/people/identity-providers.ts'
import type { SignedInPerson } from '../../directory/people/linked-identities.ts'
import { findResetTime } from '../../directory/people/second-factors.ts'
import { makeKeptValues } from '../../platform/http/kept-values.ts'
import { seeOther } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { PendingInteraction } from '../authorization/engine-interactions.ts'
import type { PromptPages } from './prompt-pages.ts'
import { findWays, type InteractionPorts, pathOf, pendingLinks } from './ways.ts'

/** A handler for requests in a pending interaction. */
export type Step<More extends unknown[] = []> = (
  ctx: Context,
  pending: PendingInteraction,
  ...more: More
) => Promise<void>

/** Records why a sign-in failed, and shows the sign-in page with the reason. */
export type Refuse = Step<[NotSignedIn, Pick<SignInPage, 'login' | 'hidden'>?]>

/** A completed first step of a sign-in. If a second step is required, the sign-in has no effect until that succeeds. */
export interface FirstStep extends Omit<Authentication, 'methods'>, SignedInPerson {
  readonly method: FirstMethod
}

/** The time limit for the second step, in seconds. */
const STEP_SECONDS = 600

/** Returns the handlers of the sign-in page, its passkey form and the second step. */
export function makeSignInSteps(dependencies: InteractionPorts, promptPages: PromptPages) {
  const { now } = dependencies
  const { signIn, passkeys } = dependencies.directory
  const known = knownSignIns(dependencies)
  const later = makeLaterSteps(dependencies, promptPages)
  const { finish, proceed, refuse } = later
  const login = {
    show: promptPages.signIn,
    answer: (async (ctx, pending) => {
      const typed = { login: formField(ctx, 'login'), password: formField(ctx, 'password') }
      const { providers, link } = await findWays(ctx, pending, dependencies)
      const route = findRoute(providers, typed.login)
      // People also use this form to link an identity, or if their provider has failed.
      if (route && !link && formField(ctx, 'way') !== 'here') {
        const path = addressOf(pages.providerSignIn, { uid: pending.uid, provider: route.id })
        return seeOther(ctx, `${path}?${new URLSearchParams({ login: typed.login })}`)
      }
      // Read the time before the check, so a sign-out during the check also ends the new session.
      const authenticatedAt = now()
      const outcome = await signIn({ ...typed, address: ctx.ip, browser: known.read(ctx, '') })
      if (outcome.kind !== 'signed-in')
        return await refuse(ctx, pending, outcome, { login: typed.login })
      const { kind: _, ...first } = outcome
      await proceed(ctx, pending, { ...first, authenticatedAt, method: 'password' })
    }) satisfies Step,
  }
  const passkey: Step = async (ctx, pending) => {
    const authenticatedAt = now()
    const needsTwo = pending.lacksFactor(['passkey'])
    const use = { uid: pending.uid, known: known.read(ctx, ''), address: ctx.ip, needsTwo }
    const outcome = await passkeys.signIn(formField(ctx, 'credential'), use, callerOf(ctx))
    if (outcome.kind !== 'accepted') return await refuse(ctx, pending, outcome)
    const { personId, method, isNewBrowser, browser } = outcome
    const first = { personId, method, isNewBrowser, browser, authenticatedAt }
    await finish(ctx, pending, { ...first, needsSecondFactor: false })
  }
  return { ...later, login, passkey }
}

/** Returns the steps that follow the first sign-in method, and the handler of the second step. */
function makeLaterSteps(dependencies: InteractionPorts, promptPages: PromptPages) {
  const { database, visitors, interactions, noteEvent, now } = dependencies
  const { passkeys, secondFactors, linkRequests, notices } = dependencies.directory
  const firstSteps = makeKeptValues<FirstStep>('gatehouse_step', STEP_SECONDS, dependencies, pathOf)
  const fail = makeFail(dependencies)
  const refuse: Refuse = async (ctx, pending, outcome, said) =>
    await promptPages.signIn(ctx, pending, { ...said, problem: fail(ctx, pending, outcome) })
  /** Completes a sign-in, and redirects to the next page. Rejects a method that the site does not accept. */
  const finish: Step<[FirstStep, SecondMethod?]> = async (ctx, pending, first, second) => {
    const { browser, method, needsSecondFactor: _, ...rest } = first
    const { personId, isNewBrowser } = first
    firstSteps.set(ctx, pending.uid, undefined)
    const siteId = await linkAndJudge(ctx, pending, first, dependencies)
    if (siteId === 'refused')
      return await refuse(ctx, pending, { kind: 'refused', why: 'wrong sign-in method', personId })
    knownSignIns(dependencies).set(ctx, '', browser)
    if (isNewBrowser) await notices.newSignIn(personId, ctx.get('User-Agent'))
    logFields(ctx).person = personId
    noteEvent({ ...eventOf(ctx, pending), action: 'sign_in.success', personId })
    const methods = second ? ([method, second] as const) : ([method] as const)
    seeOther(ctx, await interactions.signedIn(ctx, { ...rest, methods, siteId }))
  }
  /** Returns the time from which the person may remove the authenticator app by e-mail; undefined if not allowed. */
  const resetTimeOf = async ({ personId, siteId }: FirstStep) =>
    siteId === undefined ? await findResetTime(database.kysely, personId) : undefined
  const showSecond: Step<[FirstStep, HtmlValue?]> = async (ctx, pending, first, problem) => {
    const { uid } = pending
    const { personId, needsSecondFactor: hasApp } = first
    const options = await passkeys.optionsOf(personId, uid)
    const from = await resetTimeOf(first)
    const action = addressOf(pages.resetSecondStep, { uid })
    const reset = from === undefined ? undefined : { action, notBefore: from > now() && from }
    await promptPages.secondStep(ctx, pending, { hasApp, options, reset, problem })
  }
  /** Completes a sign-in after the first step, or asks for a required second factor if the person has one. */
  const proceed: Step<[FirstStep]> = async (ctx, pending, first) => {
    const { uid } = pending
    const canBeAsked =
      pending.lacksFactor([first.method]) && (await passkeys.optionsOf(first.personId, uid))
    if (!first.needsSecondFactor && !canBeAsked) return await finish(ctx, pending, first)
    firstSteps.set(ctx, uid, first)
    await showSecond(ctx, pending, first)
  }
  /** Creates a handler for browsers that have completed the first step in this interaction. */
  const afterFirst =
    (answer: Step<[FirstStep]>): Step =>
    async (ctx, pending) => {
      const first = firstSteps.read(ctx, pending.uid)
      if (!first) return seeOther(ctx, addressOf(pages.login, { uid: pending.uid }))
      await answer(ctx, pending, first)
    }
  const secondStep = {
    show: afterFirst(showSecond),
    answer: afterFirst(async (ctx, pending, first) => {
      const actor = { personId: first.personId, ...callerOf(ctx), now: now() }
      const sent = { code: formField(ctx, 'code'), credential: formField(ctx, 'credential') }
      const outcome = await secondFactors.check({ ...sent, uid: pending.uid }, actor)
      if (outcome.kind === 'accepted') return await finish(ctx, pending, first, outcome.method)
      await showSecond(ctx, pending, first, fail(ctx, pending, outcome))
    }),
  }
  const resetApp = afterFirst(async (ctx, pending, first) => {
    const from = await resetTimeOf(first)
    if (from === undefined || from > now()) return await showSecond(ctx, pending, first)
    const { personId } = first
    const asked = { browser: visitors.enter(ctx).browser, from: pending.uid }
    const waitSeconds = await linkRequests.factorReset(personId, asked)
    if (waitSeconds === undefined) return seeOther(ctx, pages.factorResetSent)
    const problem = fail(ctx, pending, { kind: 'limited', waitSeconds, personId })
    await showSecond(ctx, pending, first, problem)
  })
  return { refuse, finish, proceed, secondStep, resetApp }
}

/**
 * Links the pending identity, if any, and decides at which site the sign-in is valid. Returns a site, undefined for all
 * sites, or `refused` if the site accepts only its own identity providers and the person used another method.
 */
async function linkAndJudge(
  ctx: Context,
  pending: PendingInteraction,
  { personId, siteId }: Pick<Authentication, 'personId' | 'siteId'>,
  dependencies: InteractionPorts,
): Promise<string | undefined> {
  const { link, isExclusive, siteId: asked } = await findWays(ctx, pending, dependencies)
  if (link) pendingLinks(dependencies).set(ctx, pending.uid, undefined)
  const mayLink = link !== undefined && siteId === undefined
  const { identities } = dependencies.directory
  const isLinked = mayLink && (await identities.link(link, personId, callerOf(ctx)))
  if (!isExclusive || siteId === asked) return siteId
  // If the identity was linked, the site's provider has authenticated the person earlier in this interaction.
  return isLinked ? asked : 'refused'
}

/** Creates the function that records a failure and sets the status. The function returns the message for the page. */
function makeFail({ noteEvent }: InteractionPorts) {
  return (ctx: Context, pending: PendingInteraction, outcome: NotSignedIn): Html => {
    const { status, problem, reason } = explainFailure(outcome)
    ctx.status = status
    if (outcome.kind === 'limited') ctx.set('Retry-After', String(outcome.waitSeconds))
    logFields(ctx).detail = outcome.kind === 'provider' ? reason : `sign-in ${outcome.kind}`
    // Do not attribute the failure to the person of an earlier session in this browser.
    const aboutPersonId = 'personId' in outcome ? outcome.personId : undefined
    const failed = { ...eventOf(ctx, pending), personId: undefined, aboutPersonId, reason }
    noteEvent({ ...failed, action: 'sign_in.failure' })
    return problem
  }
}

export function eventOf(ctx: Context, { person, client, sites }: PendingInteraction) {
  const siteId = client.siteId ?? (sites.length === 1 ? sites[0]?.id : undefined)
  return { personId: person?.id, clientId: client.clientId, siteId, ...callerOf(ctx) }
}

const [, root] = pages.login.split('/')

/** Keeps the browser's earlier sign-ins in a cookie, which is sent to the pages of every interaction. */
export const knownSignIns = (ports: InteractionPorts) => {
  const { knownBrowserSeconds: seconds } = ports.directory
  const path = () => `/${root}`
  return makeKeptValues<SignedInPerson['browser']>('gatehouse_browser', seconds, ports, path)
}
