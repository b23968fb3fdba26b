import type { Context } from 'koa'

import { consentPage } from '../../views/consent.ts'
import type { Page } from '../../views/layout.ts'
import { signInPage } from '../../views/sign-in.ts'
import { siteChoicePage } from '../../views/site-choice.ts'
import { interactionGone } from '../http/errors.ts'
import { sendPage } from '../http/page.ts'
import { addressOf, pages } from '../http/paths.ts'
import { contentSecurityPolicy, formTarget } from '../http/security-headers.ts'
import type { Person } from '../people/person-store.ts'
import { describeScopes } from '../scopes/scope-sentences.ts'
import { clientView } from './client-view.ts'
import { formToken } from './form-token.ts'
import type { PendingInteraction, PromptName } from './pending-interaction.ts'

export interface PromptPagesPorts {
  readonly findPerson: (personId: string) => Promise<Person | undefined>
  readonly formKey: Buffer
}

/** Where the form of each prompt goes. */
export const addresses: Readonly<Record<PromptName, { answer: string; cancel: string }>> = {
  login: { answer: pages.login, cancel: pages.cancelLogin },
  select_account: { answer: pages.select_account, cancel: pages.cancelSiteChoice },
  consent: { answer: pages.consent, cancel: pages.cancelConsent },
}

export interface Typed extends PromptPagesPorts {
  readonly login: string | undefined
  readonly problem?: string
}

export function sendSignIn(ctx: Context, pending: PendingInteraction, typed: Typed): void {
  const { login, problem } = typed
  showPage(ctx, pending, signInPage({ ...frameOf(pending, typed), login, problem }))
}

export async function sendSiteChoice(
  ctx: Context,
  pending: PendingInteraction,
  ports: PromptPagesPorts,
): Promise<void> {
  const page = siteChoicePage({
    ...frameOf(pending, ports),
    person: await personOf(pending, ports),
    sites: pending.sites,
    problem: ctx.status === 422 ? 'Please choose one of your sites.' : undefined,
  })
  showPage(ctx, pending, page)
}

export async function sendConsent(
  ctx: Context,
  pending: PendingInteraction,
  ports: PromptPagesPorts,
): Promise<void> {
  const page = consentPage({
    ...frameOf(pending, ports),
    person: await personOf(pending, ports),
    site: pending.sites[0],
    ...describeScopes(pending.scopes),
    signOutHref: pending.otherAccountHref,
  })
  showPage(ctx, pending, page)
}

/** What every page of an interaction needs. */
function frameOf(pending: PendingInteraction, { formKey }: PromptPagesPorts) {
  const { answer, cancel } = addresses[pending.prompt]
  return {
    action: addressOf(answer, { uid: pending.uid }),
    deny: addressOf(cancel, { uid: pending.uid }),
    csrf: formToken(pending.uid, formKey),
    client: clientView(pending),
  }
}

async function personOf(
  { personId }: PendingInteraction,
  { findPerson }: PromptPagesPorts,
): Promise<Person> {
  const person = personId === undefined ? undefined : await findPerson(personId)
  if (!person) throw interactionGone()
  return person
}

/** The page's forms lead to the application in the end, which its policy has to allow. */
function showPage(ctx: Context, { redirectUri }: PendingInteraction, page: Page): void {
  sendPage(ctx, page)
  ctx.set('Content-Security-Policy', contentSecurityPolicy([formTarget(redirectUri)]))
}
