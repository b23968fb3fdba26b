/** Creates the routes for the pages between an authorization request and its response. */

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import type { Notices } from '../../directory/mail/notices.ts'
import type { NotSignedIn, SignInService } from '../../directory/people/authenticate.ts'
import type { Authentication, SecondMethod } from '../../directory/people/authentication.ts'
import type { SecondFactors } from '../../directory/people/second-factors.ts'
import { explainFailure } from '../../directory/people/sign-in-failure.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import { seeOther } from '../../platform/http/page.ts'
import { checkFormToken, formField } from '../../platform/http/page-form.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type {
  Interactions,
  PendingInteraction,
  PromptName,
} from '../authorization/engine-interactions.ts'
import { completeLink } from './pending-links.ts'
import {
  cancelAddresses,
  formToken,
  makePromptPages,
  type PromptPages,
  type PromptPagesDependencies,
} from './prompt-pages.ts'
import { type ProviderPorts, providerRoutes } from './provider-routes.ts'
import { type FirstStep, makeFirstSteps } from './second-step.ts'

export interface InteractionDependencies
  extends Omit<PromptPagesDependencies, 'providers'>,
    ProviderPorts {
  readonly interactions: Interactions
  /** How long a browser counts as known after a person has signed in with it. */
  readonly knownBrowserSeconds: number
  readonly signIn: SignInService
  readonly secondFactors: Pick<SecondFactors, 'check'>
  readonly noteEvent: NoteEvent
  readonly notices: Pick<Notices, 'newSignIn'>
  readonly now: () => number
}

const FORM_BYTES_MAX = '16kb'

/** Creates the routes /interaction/:uid/login, /second-step, /select_account and /consent. POST …/cancel denies the request. */
export function interactionRoutes(dependencies: InteractionDependencies): Router {
  const router = makeRouter()
  const { interactions, noteEvent } = dependencies
  const form = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })
  const promptPages = makePromptPages(dependencies)
  const { passkey, secondStep, proceed, ...steps } = stepsOf(dependencies, promptPages)
  for (const prompt of ['login', 'select_account', 'consent'] as const) {
    const { show, answer } = steps[prompt]
    router.get(pages[prompt], async (ctx) => {
      await show(ctx, await findPending(ctx, prompt, interactions))
    })
    router.post(pages[prompt], form, async (ctx) => {
      await answer(ctx, await findSubmitted(ctx, prompt, dependencies))
    })
    router.post(cancelAddresses[prompt], form, async (ctx) => {
      const pending = await findSubmitted(ctx, prompt, dependencies)
      noteEvent({ ...eventOf(ctx, pending), action: 'consent.refused', reason: refusedAt[prompt] })
      seeOther(ctx, await interactions.refused(ctx, 'the person refused the request'))
    })
  }
  for (const [path, answer] of [
    [pages.signInWithPasskey, passkey],
    [pages.secondStep, secondStep],
  ] as const) {
    router.post(path, form, async (ctx) => {
      await answer(ctx, await findSubmitted(ctx, 'login', dependencies))
    })
  }
  // A person who reloads the page begins again.
  router.get(pages.secondStep, (ctx) => seeOther(ctx, addressOf(pages.login, ctx['params'])))
  providerRoutes(router, {
    ...dependencies,
    find: async (ctx) => await findPending(ctx, 'login', interactions),
    show: promptPages.signIn,
    cookieOf: (ctx) => ctx.cookies.get(BROWSER_COOKIE),
    proceed,
    noteFailure(ctx, pending, reason) {
      const failed = { ...eventOf(ctx, pending), personId: undefined, reason }
      noteEvent({ ...failed, action: 'sign_in.failure' })
    },
  })
  return router
}

/** Reasons for the audit trail, by the page on which the person cancelled. */
const refusedAt = {
  login: 'did not sign in',
  select_account: 'chose no site',
  consent: 'did not consent',
} as const satisfies Record<PromptName, string>

function eventOf(ctx: Context, { person, client, sites }: PendingInteraction) {
  const siteId = client.siteId ?? (sites.length === 1 ? sites[0]?.id : undefined)
  return { personId: person?.id, clientId: client.clientId, siteId, ...callerOf(ctx) }
}

/** Finds the pending interaction of this browser. @throws interactionGone if there is none for this path */
async function findPending(
  ctx: Context,
  prompt: PromptName,
  interactions: Interactions,
): Promise<PendingInteraction> {
  const pending = await interactions.find(ctx)
  if (pending.uid !== ctx['params'].uid || pending.prompt !== prompt) throw interactionGone()
  return pending
}

/** Finds the pending interaction of a submitted form, after checking the form's anti-forgery token. */
async function findSubmitted(
  ctx: Context,
  prompt: PromptName,
  { interactions, formKey }: InteractionDependencies,
): Promise<PendingInteraction> {
  checkFormToken(ctx, formToken(String(ctx['params'].uid), formKey))
  return await findPending(ctx, prompt, interactions)
}

type Step = (ctx: Context, pending: PendingInteraction) => Promise<void>

/** Returns the handlers of each prompt: `show` for its page, and `answer` for its form; and the steps that sign-ins share. */
function stepsOf(
  dependencies: InteractionDependencies,
  promptPages: PromptPages,
): Readonly<Record<PromptName, { show: Step; answer: Step }>> & ReturnType<typeof signInSteps> {
  const { interactions } = dependencies
  return {
    ...signInSteps(dependencies, promptPages),
    select_account: {
      async show(ctx, pending) {
        if (pending.sites.length >= 2) return await promptPages.siteChoice(ctx, pending)
        seeOther(ctx, await interactions.siteChosen(ctx, pending.sites[0]?.id))
      },
      async answer(ctx, pending) {
        const site = pending.sites.find(({ id }) => id === formField(ctx, 'site'))
        if (site) return seeOther(ctx, await interactions.siteChosen(ctx, site.id))
        ctx.status = 422
        await promptPages.siteChoice(ctx, pending, 'Please choose one of your sites.')
      },
    },
    consent: {
      show: promptPages.consent,
      async answer(ctx) {
        seeOther(ctx, await interactions.consented(ctx))
      },
    },
  }
}

/** Returns the handlers of the sign-in page, of its form for passkeys, and of the second step. */
function signInSteps(dependencies: InteractionDependencies, promptPages: PromptPages) {
  const { signIn, passkeys, secondFactors, now } = dependencies
  const firstSteps = makeFirstSteps(dependencies.seals, now)
  const finish = async (
    ctx: Context,
    pending: PendingInteraction,
    { browser, method, ...first }: FirstStep,
    second?: SecondMethod,
  ) => {
    keepBrowser(ctx, browser, dependencies.knownBrowserSeconds)
    const methods = second ? ([method, second] as const) : ([method] as const)
    await complete(ctx, pending, { ...first, methods }, dependencies)
  }
  /** Completes a sign-in whose first method succeeded, or asks for the second factor that it needs in addition. */
  const proceed = async (
    ctx: Context,
    pending: PendingInteraction,
    first: FirstStep,
    again?: Readonly<Record<'step' | 'problem', string>>,
  ) => {
    const { needsSecondFactor: hasApp, personId, method } = first
    const needsFactor = hasApp || pending.lacksFactor([method])
    const options = needsFactor ? await passkeys.optionsOf(personId, pending.uid) : undefined
    if (!hasApp && !options) return await finish(ctx, pending, first)
    const step = again?.step ?? firstSteps.seal(pending.uid, first)
    await promptPages.secondStep(ctx, pending, { step, hasApp, options, problem: again?.problem })
  }
  const fail = makeFail(dependencies)
  const login = {
    async show(ctx: Context, pending: PendingInteraction) {
      await promptPages.signIn(ctx, pending, { login: pending.loginHint })
    },
    async answer(ctx: Context, pending: PendingInteraction) {
      const typed = { login: formField(ctx, 'login'), password: formField(ctx, 'password') }
      // Read the time before the check, so a sign-out during the check also ends the new session.
      const authenticatedAt = now()
      const known = ctx.cookies.get(BROWSER_COOKIE)
      const outcome = await signIn({ ...typed, address: ctx.ip, browser: known })
      if (outcome.kind === 'signed-in') {
        const { kind: _, ...first } = outcome
        return await proceed(ctx, pending, { ...first, authenticatedAt, method: 'password' })
      }
      const problem = fail(ctx, pending, outcome)
      await promptPages.signIn(ctx, pending, { login: typed.login, problem })
    },
  }
  const passkey: Step = async (ctx, pending) => {
    const authenticatedAt = now()
    const [text, cookie] = [formField(ctx, 'credential'), ctx.cookies.get(BROWSER_COOKIE)]
    const needsTwo = pending.lacksFactor(['passkey'])
    const use = { uid: pending.uid, cookie, address: ctx.ip, needsTwo }
    const outcome = await passkeys.signIn(text, use, callerOf(ctx))
    if (outcome.kind === 'accepted') {
      const { personId, method, isNewBrowser, browser } = outcome
      const first = { personId, method, isNewBrowser, browser, authenticatedAt }
      return await finish(ctx, pending, { ...first, needsSecondFactor: false })
    }
    const problem = fail(ctx, pending, outcome)
    await promptPages.signIn(ctx, pending, { login: pending.loginHint, problem })
  }
  const secondStep: Step = async (ctx, pending) => {
    const { uid } = pending
    const step = formField(ctx, 'step')
    const first = firstSteps.open(uid, step)
    if (!first) return seeOther(ctx, addressOf(pages.login, { uid }))
    const { personId, siteId } = first
    const actor = { personId, ...callerOf(ctx), now: now() }
    const [code, credential] = [formField(ctx, 'code'), formField(ctx, 'credential')]
    const outcome = await secondFactors.check({ code, credential, uid, siteId }, actor)
    if (outcome.kind === 'accepted') return await finish(ctx, pending, first, outcome.method)
    await proceed(ctx, pending, first, { step, problem: fail(ctx, pending, outcome) })
  }
  return { login, passkey, secondStep, proceed }
}

/** Creates the function that records a failure, sets the status and returns the sentence for the page. */
function makeFail({ noteEvent }: InteractionDependencies) {
  return (ctx: Context, pending: PendingInteraction, outcome: NotSignedIn): string => {
    const { status, problem, reason } = explainFailure(outcome)
    ctx.status = status
    if (outcome.kind === 'limited') ctx.set('Retry-After', String(outcome.waitSeconds))
    logFields(ctx).detail = `sign-in ${outcome.kind}`
    // Do not attribute the failure to the person of an earlier session in this browser.
    const aboutPersonId = 'personId' in outcome ? outcome.personId : undefined
    const failed = { ...eventOf(ctx, pending), personId: undefined, aboutPersonId, reason }
    noteEvent({ ...failed, action: 'sign_in.failure' })
    return problem
  }
}

/** Completes a sign-in by any method, and redirects to the next page. */
async function complete(
  ctx: Context,
  pending: PendingInteraction,
  signedIn: Authentication & { readonly isNewBrowser: boolean },
  dependencies: InteractionDependencies,
): Promise<void> {
  const { interactions, noteEvent, notices } = dependencies
  const { personId } = signedIn
  if (signedIn.isNewBrowser) await notices.newSignIn(personId, ctx.get('User-Agent'))
  logFields(ctx).person = personId
  noteEvent({ ...eventOf(ctx, pending), action: 'sign_in.success', personId })
  await completeLink(ctx, pending.uid, signedIn, dependencies)
  seeOther(ctx, await interactions.signedIn(ctx, signedIn))
}

/** Cookie that marks a known browser. It does not identify a person, and is sent only to interaction pages. */
const BROWSER_COOKIE = 'gatehouse_browser'

function keepBrowser(ctx: Context, browser: string, knownBrowserSeconds: number): void {
  const [, interaction = ''] = pages.login.split('/')
  ctx.cookies.set(BROWSER_COOKIE, browser, {
    ...{ httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false, overwrite: true },
    path: `/${interaction}`,
    maxAge: knownBrowserSeconds * 1000,
  })
}
