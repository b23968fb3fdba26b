import { createHmac } from 'node:crypto'

import type { Context } from 'koa'

import type { PromptView } from '../../../views/client-view.ts'
import { consentPage } from '../../../views/consent.ts'
import type { Page } from '../../../views/layout.ts'
import { type SecondStepPage, secondStepPage } from '../../../views/second-factor.ts'
import { type SignInPage, signInPage } from '../../../views/sign-in.ts'
import { siteChoicePage } from '../../../views/site-choice.ts'
import { text } from '../../../views/text.ts'
import { describeScopes } from '../../directory/scopes/scope-uses.ts'
import { hasFeature, SELF_SIGN_UP } from '../../directory/sites/site-admin.ts'
import { findLook, shownText, siteLook } from '../../directory/sites/site-look.ts'
import { readerOf } from '../../platform/http/language.ts'
import { sendPage } from '../../platform/http/page.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import type { PendingInteraction, PromptName } from '../authorization/engine-interactions.ts'
import { clientView, namedSites } from './client-view.ts'
import { findWays, type InteractionPorts } from './ways.ts'

export type PromptPages = ReturnType<typeof makePromptPages>

/** Creates the functions that send the page of each prompt. */
export function makePromptPages(dependencies: InteractionPorts) {
  const { database, formKey, scopeUses } = dependencies
  /** Sends a page with the appearance of the application's site. The page's forms may redirect to the client. */
  const send = async (
    ctx: Context,
    pending: PendingInteraction,
    pageOf: (view: PromptView, site: Awaited<ReturnType<typeof lookOf>>) => Page,
  ) => {
    const { uid, prompt } = pending
    const site = await lookOf(ctx, pending, database)
    const view = {
      action: addressOf(pages[prompt], { uid }),
      deny: addressOf(cancellations[prompt].action, { uid }),
      csrf: formToken(uid, formKey),
      client: clientView(pending),
    }
    sendPage(ctx, { ...pageOf(view, site), look: site.look, leadsToClient: true })
  }

  return {
    async signIn(
      ctx: Context,
      pending: PendingInteraction,
      said: Pick<SignInPage, 'login' | 'problem' | 'hidden'> = {},
    ) {
      const { link, ...ways } = await waysOf(ctx, pending, dependencies)
      const { uid, client, person, loginHint } = pending
      // Our own pages may ask a signed-in person to sign in again (`isFresh` in pages/relying-party).
      const isAgain = client.origin === 'first_party' && loginHint !== undefined
      const page = {
        ...ways,
        // This text does not reveal whether the address has an account.
        note: link && text('signIn.link', { name: link.provider.name, email: link.email }),
        recoverHref: `${pages.recover}?${wayBack(ctx, uid)}`,
        confirms: isAgain && person?.email === loginHint,
        ...said,
        login: said.login ?? link?.email ?? loginHint,
      }
      await send(ctx, pending, (view, { signInWords: words }) =>
        signInPage({ ...view, ...page, words }),
      )
    },

    async secondStep(
      ctx: Context,
      pending: PendingInteraction,
      asked: Pick<SecondStepPage, 'problem' | 'hasApp' | 'options' | 'reset'>,
    ) {
      const action = addressOf(pages.secondStep, { uid: pending.uid })
      await send(ctx, pending, (view) => secondStepPage({ ...view, action, ...asked }))
    },

    async siteChoice(ctx: Context, pending: PendingInteraction, problem?: SignInPage['problem']) {
      const named = await namedSites(pending, database)
      await send(ctx, pending, (view) => siteChoicePage({ ...view, ...named, problem }))
    },

    async consent(ctx: Context, pending: PendingInteraction) {
      const { person, sites } = await namedSites(pending, database)
      const { newScopes } = pending
      await send(ctx, pending, (view, { look, consentWords: words }) =>
        consentPage({
          ...view,
          client: { ...view.client, siteName: look?.name },
          person,
          site: sites[0],
          ...describeScopes(pending.scopes, scopeUses),
          added: newScopes.length === 0 ? undefined : new Set(newScopes),
          signOutHref: pending.otherAccountHref,
          words,
        }),
      )
    },
  }
}

/** Returns the appearance and texts of the application's site. They are undefined if the application has no site. */
async function lookOf(
  ctx: Context,
  { client: { siteId } }: PendingInteraction,
  database: Database,
) {
  const found = siteId === undefined ? undefined : await findLook(database, siteId)
  const name = found && shownText(found, 'displayName')
  const textOf = (field: 'signInWords' | 'consentWords') =>
    found && { siteName: name, text: shownText(found, field) }
  return {
    look: siteLook(ctx, found),
    signInWords: textOf('signInWords'),
    consentWords: textOf('consentWords'),
  }
}

/** Returns the sign-in methods that the page offers. */
async function waysOf(ctx: Context, pending: PendingInteraction, dependencies: InteractionPorts) {
  const { directory, database } = dependencies
  const { uid, client, lacksFactor } = pending
  const { providers, isOnly, link } = await findWays(ctx, pending, dependencies)
  const verification = lacksFactor(['passkey']) ? 'required' : 'preferred'
  const options = isOnly ? undefined : directory.passkeys.requestOptions(uid, verification)
  const canSignUp =
    client.siteId !== undefined && (await hasFeature(database, client.siteId, SELF_SIGN_UP))
  return {
    isOnly,
    link,
    passkey: options && { action: addressOf(pages.signInWithPasskey, { uid }), options },
    factorsHref: lacksFactor(['password']) ? pages.secondFactor : undefined,
    providers: providers.map(({ id, name }) => {
      const href = addressOf(pages.providerSignIn, { uid, provider: id })
      return { id, name, href }
    }),
    routes: !link && providers.some(({ domains }) => domains.length > 0),
    signUpHref: canSignUp
      ? `${addressOf(pages.signUp, { site: client.siteId ?? '' })}?${wayBack(ctx, uid)}`
      : undefined,
  }
}

/** Returns the query with which pages outside the interaction link back to it, in the same language. */
function wayBack(ctx: Context, from: string): URLSearchParams {
  return new URLSearchParams({ from, ui_locales: readerOf(ctx).language })
}

/** The form action of the *Cancel* button of each prompt, and the reason in the audit trail. */
export const cancellations = {
  login: { action: pages.cancelLogin, reason: 'the person did not sign in' },
  select_account: { action: pages.cancelSiteChoice, reason: 'the person chose no site' },
  consent: { action: pages.cancelConsent, reason: 'the person did not consent' },
} as const satisfies Record<PromptName, object>

/**
 * Returns the anti-forgery token for the forms of an interaction (RFC 6749 §10.12). It protects browsers without
 * SameSite support. In others, the SameSite=Lax cookie of the interaction already blocks forms from other sites.
 */
export function formToken(uid: string, formKey: Buffer): string {
  return createHmac('sha256', formKey).update(`interaction ${uid}`).digest('base64url')
}
