import { availableLanguage } from '../../../views/text.ts'
import { setLanguage } from '../../directory/people/person-store.ts'
import { keepZone } from '../../platform/http/language.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { actorOf } from '../relying-party/page-session.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'
import type { AccountPages } from './account-pages.ts'

/** Registers the form for the language of a person's pages and mail, and for the time zone in this browser. */
export function languageRoutes(accountPages: AccountPages, { database, now }: OwnPages): void {
  accountPages.form(pages.language, async ({ ctx, session }) => {
    keepZone(ctx, formField(ctx, 'zone'))
    const chosen = formField(ctx, 'language')
    const language = chosen === '' ? null : availableLanguage([chosen])
    // Ignore an unknown language, like an unknown time zone.
    if (language !== undefined) await setLanguage(database, language, actorOf(ctx, session, now))
    return `${pages.account}?done=language`
  })
}
