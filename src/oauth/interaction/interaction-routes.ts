/** Creates the routes for the pages between an authorization request and its response. */

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import type { Notices } from '../../directory/mail/notices.ts'
import type { SignInService } from '../../directory/people/authenticate.ts'
import type { Authentication } from '../../directory/people/authentication.ts'
import type { KnownBrowsers } from '../../directory/people/known-browsers.ts'
import type { PersonStore } from '../../directory/people/person-store.ts'
import { explainFailure } from '../../directory/people/sign-in-failure.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import { seeOther } from '../../platform/http/page.ts'
import { checkFormToken, formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
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
  type PromptPagesDependencies,
} from './prompt-pages.ts'
import { type ProviderPorts, providerRoutes } from './provider-routes.ts'

export interface InteractionDependencies
  extends Omit<PromptPagesDependencies, 'providers'>,
    ProviderPorts {
  readonly interactions: Interactions
  readonly people: Pick<PersonStore, 'cancelDeletion' | 'findPerson'> & {
    /** How long a browser counts as known after a person has signed in with it. */
    readonly knownBrowserSeconds: number
    readonly recognizeBrowser: KnownBrowsers['recognize']
  }
  readonly signIn: SignInService
  readonly noteEvent: NoteEvent
  readonly notices: Pick<Notices, 'newSignIn'>
  readonly now: () => number
}

type IdentityParts = Pick<ProviderPorts, 'providers' | 'identities' | 'seals'>

type Asked = Omit<InteractionDependencies, keyof IdentityParts> & {
  readonly identity: IdentityParts
}

const FORM_BYTES_MAX = '16kb'

/** Creates the routes /interaction/:uid/login, /select_account and /consent. POST …/cancel denies the request. */
export function interactionRoutes({ identity, ...given }: Asked): Router {
  const dependencies: InteractionDependencies = { ...given, ...identity }
  const router = makeRouter()
  const { interactions, noteEvent, people } = dependencies
  const form = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })
  const promptPages = makePromptPages(dependencies)
  const steps = stepsOf(dependencies, promptPages)
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
  providerRoutes(router, {
    ...dependencies,
    find: async (ctx) => await findPending(ctx, 'login', interactions),
    show: makePromptPages(dependencies).signIn,
    complete: async (ctx, pending, signedIn) => {
      const person = await people.findPerson(signedIn.personId)
      if (!person) throw interactionGone()
      const cookie = ctx.cookies.get(BROWSER_COOKIE)
      const { browser, isNewBrowser } = people.recognizeBrowser(cookie, person)
      keepBrowser(ctx, browser, people.knownBrowserSeconds)
      await complete(ctx, pending, { ...signedIn, isNewBrowser }, dependencies)
    },
    noteFailure(ctx, pending, reason) {
      noteEvent({
        ...eventOf(ctx, pending),
        personId: undefined,
        action: 'sign_in.failure',
        reason,
      })
    },
    cancelDeletion: people.cancelDeletion,
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

type PromptPages = ReturnType<typeof makePromptPages>
type Step = (ctx: Context, pending: PendingInteraction) => Promise<void>

/** Returns the handlers of each prompt: `show` for its page, and `answer` for its form. */
function stepsOf(
  dependencies: InteractionDependencies,
  promptPages: PromptPages,
): Readonly<Record<PromptName, { show: Step; answer: Step }>> {
  const { interactions, signIn, noteEvent, people, now } = dependencies
  return {
    login: {
      async show(ctx, pending) {
        await promptPages.signIn(ctx, pending, { login: pending.loginHint })
      },
      async answer(ctx, pending) {
        const login = formField(ctx, 'login')
        const password = formField(ctx, 'password')
        const browser = ctx.cookies.get(BROWSER_COOKIE)
        // Read the time before the check, so a sign-out during the check also ends the new session.
        const authenticatedAt = now()
        const outcome = await signIn({ login, password, address: ctx.ip, browser })
        if (outcome.kind === 'signed-in') {
          const { personId, isNewBrowser } = outcome
          const signedIn = { personId, methods: ['password'], authenticatedAt } as const
          keepBrowser(ctx, outcome.browser, people.knownBrowserSeconds)
          return await complete(ctx, pending, { ...signedIn, isNewBrowser }, dependencies)
        }
        const { status, problem, reason } = explainFailure(outcome)
        ctx.status = status
        if (outcome.kind === 'limited') ctx.set('Retry-After', String(outcome.waitSeconds))
        logFields(ctx).detail = `sign-in ${outcome.kind}`
        const aboutPersonId = outcome.kind === 'refused' ? outcome.personId : undefined
        // Do not attribute the failure to the person of an earlier session in this browser.
        const failed = { ...eventOf(ctx, pending), personId: undefined, aboutPersonId, reason }
        noteEvent({ ...failed, action: 'sign_in.failure' })
        await promptPages.signIn(ctx, pending, { login, problem })
      },
    },
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

/** Returns the handler of the form for passkeys on the sign-in page. */
function passkeyStep(dependencies: InteractionDependencies, promptPages: PromptPages): Step {
  const { passkeys, noteEvent, people, now } = dependencies
  return async (ctx, pending) => {
    const authenticatedAt = now()
    const [text, cookie] = [formField(ctx, 'credential'), ctx.cookies.get(BROWSER_COOKIE)]
    const outcome = await passkeys.signIn(text, pending.uid, cookie, callerOf(ctx))
    if (outcome.kind === 'accepted') {
      const { personId, method, isNewBrowser } = outcome
      keepBrowser(ctx, outcome.browser, people.knownBrowserSeconds)
      const signedIn = { personId, methods: [method], authenticatedAt, isNewBrowser } as const
      return await complete(ctx, pending, signedIn, dependencies)
    }
    const { why: reason, personId: aboutPersonId } = outcome
    ctx.status = 401
    logFields(ctx).detail = `sign-in with ${reason}`
    const failed = { ...eventOf(ctx, pending), personId: undefined, aboutPersonId, reason }
    noteEvent({ ...failed, action: 'sign_in.failure' })
    const isLocked = reason === 'copied passkey'
    const what = isLocked ? 'is locked, because a copy of it was used' : 'is not valid here'
    const problem = `This passkey ${what}. Sign in another way.`
    await promptPages.signIn(ctx, pending, { login: pending.loginHint, problem })
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
