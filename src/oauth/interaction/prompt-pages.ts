import type { Context } from 'koa'

import { consentPage } from '../../../views/consent.ts'
import { type SignInPage, signInPage } from '../../../views/sign-in.ts'
import { siteChoicePage } from '../../../views/site-choice.ts'
import type { PersonStore } from '../../directory/people/person-store.ts'
import type { OpenedScopes } from '../../directory/scopes/opened.ts'
import { describeScopes } from '../../directory/scopes/opened.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { interactionGone } from '../../platform/http/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import type { PendingInteraction } from '../authorization/interactions.ts'
import { frameOfPage, showPage } from './page-frame.ts'

export interface PromptPagesDependencies {
  readonly database: Database
  readonly people: Pick<PersonStore, 'findPerson'>
  readonly formKey: Buffer
  readonly opened: OpenedScopes
}

/** The page of each prompt. */
export function makePromptPages({ database, people, formKey, opened }: PromptPagesDependencies) {
  const frameOf = (pending: PendingInteraction) => frameOfPage(pending, formKey)

  const personOf = async ({ personId }: PendingInteraction) => {
    const person = personId === undefined ? undefined : await people.findPerson(personId)
    if (!person) throw interactionGone()
    return person
  }

  /** The pages of a site's own application look like the site; those of all others as the service does. */
  const lookOf = async ({ client: { siteId } }: PendingInteraction) => {
    const found = siteId === undefined ? undefined : await findLook(database, siteId)
    const textOf = (text: string | null | undefined) =>
      found && text != null ? { siteName: found.name, text } : undefined
    return {
      look: siteLook(found),
      signInWords: textOf(found?.signInWords),
      consentWords: textOf(found?.consentWords),
    }
  }

  return {
    async signIn(
      ctx: Context,
      pending: PendingInteraction,
      said: Pick<SignInPage, 'login' | 'problem'>,
    ) {
      const { look, signInWords: words } = await lookOf(pending)
      showPage(ctx, pending, { ...signInPage({ ...frameOf(pending), ...said, words }), look })
    },

    async siteChoice(ctx: Context, pending: PendingInteraction, problem?: string) {
      const person = await personOf(pending)
      const { look } = await lookOf(pending)
      const { sites } = pending
      const page = siteChoicePage({ ...frameOf(pending), person, sites, problem })
      showPage(ctx, pending, { ...page, look })
    },

    async consent(ctx: Context, pending: PendingInteraction) {
      const person = await personOf(pending)
      const { look, consentWords: words } = await lookOf(pending)
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
