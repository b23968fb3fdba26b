import type { Context } from 'koa'

import { consentPage } from '../../../views/consent.ts'
import { type SignInPage, signInPage } from '../../../views/sign-in.ts'
import { siteChoicePage } from '../../../views/site-choice.ts'
import type { PersonStore } from '../../directory/people/person-store.ts'
import type { OpenedScopes } from '../../directory/scopes/opened.ts'
import { describeScopes } from '../../directory/scopes/scope-sentences.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { clientView } from './client-view.ts'
import { formToken } from './form-token.ts'
import { findPageLook, type PageLookPorts } from './page-look.ts'
import type { PendingInteraction } from './pending-interaction.ts'
import { showPage } from './show-page.ts'

export interface PromptPagesDependencies extends PageLookPorts {
  readonly findPerson: PersonStore['findPerson']
  readonly formKey: Buffer
  readonly opened: OpenedScopes
}

/** Where the form that refuses is sent, at each prompt. */
export const cancelAddresses = {
  login: pages.cancelLogin,
  select_account: pages.cancelSiteChoice,
  consent: pages.cancelConsent,
} as const

/** The page of each prompt. */
export function makePromptPages({
  findPerson,
  formKey,
  opened,
  ...ports
}: PromptPagesDependencies) {
  /** What every page of an interaction needs. */
  const frameOf = (pending: PendingInteraction) => ({
    action: addressOf(pages[pending.prompt], { uid: pending.uid }),
    deny: addressOf(cancelAddresses[pending.prompt], { uid: pending.uid }),
    csrf: formToken(pending.uid, formKey),
    client: clientView(pending),
  })

  const personOf = async ({ personId }: PendingInteraction) => {
    const person = personId === undefined ? undefined : await findPerson(personId)
    if (!person) throw interactionGone()
    return person
  }

  return {
    async signIn(
      ctx: Context,
      pending: PendingInteraction,
      said: Pick<SignInPage, 'login' | 'problem'>,
    ) {
      const { look, signInWords: words } = await findPageLook(pending, ports)
      showPage(ctx, pending, { ...signInPage({ ...frameOf(pending), ...said, words }), look })
    },

    async siteChoice(ctx: Context, pending: PendingInteraction, problem?: string) {
      const person = await personOf(pending)
      const { look } = await findPageLook(pending, ports)
      const { sites } = pending
      const page = siteChoicePage({ ...frameOf(pending), person, sites, problem })
      showPage(ctx, pending, { ...page, look })
    },

    async consent(ctx: Context, pending: PendingInteraction) {
      const person = await personOf(pending)
      const { look, consentWords: words } = await findPageLook(pending, ports)
      const page = consentPage({
        ...frameOf(pending),
        person,
        site: pending.sites[0],
        ...describeScopes(pending.scopes, opened),
        signOutHref: pending.otherAccountHref,
        words,
      })
      showPage(ctx, pending, { ...page, look })
    },
  }
}
