/** Creates the routes for the pages between an authorization request and its response. */

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import { text } from '../../../views/text.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import { seeOther } from '../../platform/http/page.ts'
import { checkFormToken, formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { PendingInteraction, PromptName } from '../authorization/engine-interactions.ts'
import { cancellations, formToken, makePromptPages, type PromptPages } from './prompt-pages.ts'
import { providerSignInRoutes } from './provider-routes.ts'
import { eventOf, makeSignInSteps, type Step } from './sign-in-steps.ts'
import type { InteractionPorts } from './ways.ts'

const FORM_BYTES_MAX = '16kb'

/** Creates the routes for sign-in, site choice and consent. POST …/cancel denies the request. */
export function interactionRoutes(dependencies: InteractionPorts): Router {
  const router = makeRouter()
  const { interactions, noteEvent } = dependencies
  const form = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })
  const promptPages = makePromptPages(dependencies)
  const signInSteps = makeSignInSteps(dependencies, promptPages)
  const { login, passkey, secondStep, resetApp, proceed, refuse } = signInSteps
  /** Declares a page and its form. They work only for the pending interaction of this browser. */
  const declare = (pattern: string, prompt: PromptName, { show, answer }: Partial<Handlers>) => {
    const find = async (ctx: Context) => await findPending(ctx, prompt, dependencies)
    if (show) router.get(pattern, async (ctx) => await show(ctx, await find(ctx)))
    if (!answer) return
    router.post(pattern, form, async (ctx) => {
      checkFormToken(ctx, formToken(String(ctx['params']['uid']), dependencies.formKey))
      await answer(ctx, await find(ctx))
    })
  }
  const steps = { login, ...laterPrompts(dependencies, promptPages) }
  for (const prompt of ['login', 'select_account', 'consent'] as const) {
    declare(pages[prompt], prompt, steps[prompt])
    const { action, reason } = cancellations[prompt]
    declare(action, prompt, {
      async answer(ctx, pending) {
        noteEvent({ ...eventOf(ctx, pending), action: 'consent.refused', reason })
        seeOther(ctx, await interactions.refused(ctx, 'the person refused the request'))
      },
    })
  }
  declare(pages.signInWithPasskey, 'login', { answer: passkey })
  declare(pages.secondStep, 'login', secondStep)
  declare(pages.resetSecondStep, 'login', { answer: resetApp })
  providerSignInRoutes(router, form, {
    ...{ ...dependencies, proceed, refuse },
    find: async (ctx) => await findPending(ctx, 'login', dependencies),
  })
  return router
}

type Handlers = Readonly<Record<'show' | 'answer', Step>>

/** Finds the pending interaction of this browser. @throws interactionGone if there is none for this path */
async function findPending(
  ctx: Context,
  prompt: PromptName,
  { interactions }: InteractionPorts,
): Promise<PendingInteraction> {
  const pending = await interactions.find(ctx)
  if (pending.uid !== ctx['params'].uid || pending.prompt !== prompt) throw interactionGone()
  return pending
}

/** Returns the handlers for the prompts that follow the sign-in. */
function laterPrompts(
  { interactions }: InteractionPorts,
  promptPages: PromptPages,
): Readonly<Record<Exclude<PromptName, 'login'>, Handlers>> {
  return {
    select_account: {
      async show(ctx, pending) {
        if (pending.sites.length >= 2) return await promptPages.siteChoice(ctx, pending)
        seeOther(ctx, await interactions.siteChosen(ctx, pending.sites[0]?.id))
      },
      async answer(ctx, pending) {
        const site = pending.sites.find(({ id }) => id === formField(ctx, 'site'))
        if (site) return seeOther(ctx, await interactions.siteChosen(ctx, site.id))
        ctx.status = 422
        await promptPages.siteChoice(ctx, pending, text('siteChoice.problem'))
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
