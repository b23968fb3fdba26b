/** The pages between an authorization request and its answer. The engine is behind an interface. */

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import { interactionGone } from '../http/errors.ts'
import { formField } from '../http/form.ts'
import { seeOther } from '../http/page.ts'
import { pages } from '../http/paths.ts'
import { logFields } from '../http/request-log.ts'
import { makeRouter } from '../http/router.ts'
import type { NotSignedIn, SignInService } from '../people/authenticate.ts'
import { checkForm } from './form-token.ts'
import type { Interactions, PendingInteraction, PromptName } from './pending-interaction.ts'
import {
  addresses,
  type PromptPagesPorts,
  sendConsent,
  sendSignIn,
  sendSiteChoice,
} from './prompt-pages.ts'

export interface InteractionDependencies extends PromptPagesPorts {
  readonly interactions: Interactions
  readonly signIn: SignInService
}

const FORM_BYTES_MAX = '16kb'

/**
 * /interaction/:uid/login, /select_account and /consent: the pages between an authorization request
 * and its answer. Each prompt has its own address, and `POST …/cancel` refuses at any of them.
 */
export function interactionRoutes(dependencies: InteractionDependencies): Router {
  const router = makeRouter()
  const { interactions } = dependencies
  const form = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })

  router.get(pages.login, async (ctx) => {
    const pending = await findPending(ctx, 'login', dependencies)
    sendSignIn(ctx, pending, { ...dependencies, login: pending.loginHint })
  })
  router.post(pages.login, form, async (ctx) => {
    const pending = await findSubmitted(ctx, 'login', dependencies)
    await answerSignIn(ctx, pending, dependencies)
  })

  router.get(pages.select_account, async (ctx) => {
    const pending = await findPending(ctx, 'select_account', dependencies)
    if (pending.sites.length < 2) {
      return seeOther(ctx, await interactions.siteChosen(ctx, pending.sites[0]?.id))
    }
    await sendSiteChoice(ctx, pending, dependencies)
  })
  router.post(pages.select_account, form, async (ctx) => {
    const pending = await findSubmitted(ctx, 'select_account', dependencies)
    const site = pending.sites.find(({ id }) => id === formField(ctx, 'site'))
    if (site) return seeOther(ctx, await interactions.siteChosen(ctx, site.id))
    ctx.status = 422
    await sendSiteChoice(ctx, pending, dependencies)
  })

  router.get(pages.consent, async (ctx) => {
    const pending = await findPending(ctx, 'consent', dependencies)
    await sendConsent(ctx, pending, dependencies)
  })
  router.post(pages.consent, form, async (ctx) => {
    await findSubmitted(ctx, 'consent', dependencies)
    seeOther(ctx, await interactions.consented(ctx))
  })

  for (const prompt of ['login', 'select_account', 'consent'] as const) {
    router.post(addresses[prompt].cancel, form, async (ctx) => {
      await findSubmitted(ctx, prompt, dependencies)
      seeOther(ctx, await interactions.refused(ctx, 'the person refused the request'))
    })
  }
  return router
}

/** The interaction of this browser, if it is the one in the address and waits for this prompt. */
async function findPending(
  ctx: Context,
  prompt: PromptName,
  { interactions }: InteractionDependencies,
): Promise<PendingInteraction> {
  const pending = await interactions.find(ctx)
  if (pending.uid !== ctx['params'].uid || pending.prompt !== prompt) throw interactionGone()
  return pending
}

/** As `findPending`, for a form that was sent: it must be the form of our own page. */
async function findSubmitted(
  ctx: Context,
  prompt: PromptName,
  dependencies: InteractionDependencies,
): Promise<PendingInteraction> {
  checkForm(ctx, String(ctx['params'].uid), dependencies.formKey)
  return await findPending(ctx, prompt, dependencies)
}

async function answerSignIn(
  ctx: Context,
  pending: PendingInteraction,
  dependencies: InteractionDependencies,
): Promise<void> {
  const login = formField(ctx, 'login')
  const password = formField(ctx, 'password')
  const outcome = await dependencies.signIn({ login, password, address: ctx.ip })
  if (outcome.kind === 'signed-in') {
    logFields(ctx).person = outcome.personId
    return seeOther(ctx, await dependencies.interactions.signedIn(ctx, outcome.personId))
  }
  const [status, problem] = explain(outcome)
  ctx.status = status
  logFields(ctx).detail = `sign-in ${outcome.kind}`
  sendSignIn(ctx, pending, { ...dependencies, login, problem })
}

function explain(outcome: NotSignedIn): [number, string] {
  switch (outcome.kind) {
    case 'refused':
      return [401, 'The e-mail address or the password is not right. Please try again.']
    case 'limited':
      return [
        429,
        `Too many attempts. Please wait ${Math.ceil(outcome.waitSeconds / 60)} minutes and try again.`,
      ]
    case 'busy':
      return [503, 'Many people are signing in at the moment. Please try again in a few seconds.']
  }
}
