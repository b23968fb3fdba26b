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
  const { secondStep, proceed, ...steps } = stepsOf(dependencies, promptPages)
  const usePasskey = passkeyStep(dependencies, promptPages)

  router.post(pages.signInWithPasskey, form, async (ctx) => {
    await usePasskey(ctx, await findSubmitted(ctx, 'login', dependencies))
  })
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
  router.post(pages.secondStep, form, async (ctx) => {
    await secondStep(ctx, await findSubmitted(ctx, 'login', dependencies))
  })
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

const passkeyProblems: Readonly<Record<string, string>> = {
  'copied passkey': 'is locked, because a copy of it was used',
  'unverified passkey': 'did not ask for your PIN, fingerprint or face, which your account needs',
}

/** Returns the handler of the form for passkeys on the sign-in page. */
function passkeyStep(dependencies: InteractionDependencies, promptPages: PromptPages): Step {
  const { passkeys, noteEvent, knownBrowserSeconds, now } = dependencies
  return async (ctx, pending) => {
    const authenticatedAt = now()
    const [text, cookie] = [formField(ctx, 'credential'), ctx.cookies.get(BROWSER_COOKIE)]
    const outcome = await passkeys.signIn(text, pending.uid, cookie, callerOf(ctx))
    if (outcome.kind === 'accepted') {
      const { personId, method, isNewBrowser } = outcome
      keepBrowser(ctx, outcome.browser, knownBrowserSeconds)
      const signedIn = { personId, methods: [method], authenticatedAt, isNewBrowser } as const
      return await complete(ctx, pending, signedIn, dependencies)
    }
    const { why: reason, personId: aboutPersonId } = outcome
    ctx.status = 401
    logFields(ctx).detail = `sign-in with ${reason}`
    const failed = { ...eventOf(ctx, pending), personId: undefined, aboutPersonId, reason }
    noteEvent({ ...failed, action: 'sign_in.failure' })
    const what = passkeyProblems[reason] ?? 'is not valid here'
    const problem = `This passkey ${what}. Sign in another way.`
    await promptPages.signIn(ctx, pending, { login: pending.loginHint, problem })
  }
}

/** Returns the handlers of the sign-in page, and of the second step, which an account with a second factor needs. */
function signInSteps(dependencies: InteractionDependencies, promptPages: PromptPages) {
  const { signIn, secondFactors, noteEvent, now } = dependencies
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
  /** Completes a sign-in whose first method succeeded, or asks for the code that it needs in addition. */
  const proceed = async (
    ctx: Context,
    pending: PendingInteraction,
    { needsSecondFactor, ...first }: FirstStep & { readonly needsSecondFactor: boolean },
  ) => {
    if (!needsSecondFactor) return await finish(ctx, pending, first)
    const step = firstSteps.seal(pending.uid, first)
    await promptPages.secondStep(ctx, pending, { step })
  }
  /** Records a failure, and sets the status. @returns the sentence for the page */
  const fail = (
    ctx: Context,
    pending: PendingInteraction,
    outcome: NotSignedIn,
    aboutPersonId: string | undefined,
  ) => {
    const { status, problem, reason } = explainFailure(outcome)
    ctx.status = status
    if (outcome.kind === 'limited') ctx.set('Retry-After', String(outcome.waitSeconds))
    logFields(ctx).detail = `sign-in ${outcome.kind}`
    // Do not attribute the failure to the person of an earlier session in this browser.
    const failed = { ...eventOf(ctx, pending), personId: undefined, aboutPersonId, reason }
    noteEvent({ ...failed, action: 'sign_in.failure' })
    return problem
  }
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
      const aboutPersonId = outcome.kind === 'refused' ? outcome.personId : undefined
      const problem = fail(ctx, pending, outcome, aboutPersonId)
      await promptPages.signIn(ctx, pending, { login: typed.login, problem })
    },
  }
  const secondStep: Step = async (ctx, pending) => {
    const step = formField(ctx, 'step')
    const first = firstSteps.open(pending.uid, step)
    if (!first) return seeOther(ctx, addressOf(pages.login, { uid: pending.uid }))
    const { personId } = first
    const actor = { personId, ...callerOf(ctx), now: now() }
    const outcome = await secondFactors.check(formField(ctx, 'code'), actor, first.siteId)
    if (outcome.kind === 'accepted') return await finish(ctx, pending, first, outcome.method)
    const problem = fail(ctx, pending, outcome, personId)
    await promptPages.secondStep(ctx, pending, { step, problem })
  }
  return { login, secondStep, proceed }
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
