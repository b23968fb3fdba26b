import { identitiesPage } from '../../../views/account-identities.ts'
import type { HtmlValue } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import type { LinkedIdentities } from '../../directory/people/linked-identities.ts'
import { findSiteNames } from '../../directory/sites/site-choice.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import type { AccountPages, Asked } from './account-pages.ts'

/** Creates the page on which a person lists and removes linked identities. */
export function identityRoutes(
  { database, page, freshForm }: AccountPages,
  identities: LinkedIdentities,
): void {
  const show = async ({ area, session: { person }, ctx }: Asked, problem?: HtmlValue) => {
    const nameOf = await findSiteNames(database, person.id)
    const linked = await identities.list(person.id)
    return identitiesPage({
      area,
      identities: linked.map((each) => ({
        ...each,
        siteName: each.siteId && nameOf({ id: each.siteId, name: each.siteName ?? '' }),
      })),
      removeAction: pages.removeIdentity,
      passkeysHref: pages.passkeys,
      done: noticeOf(ctx, { removed: text('identities.removed') }),
      problem,
    })
  }
  page(pages.linkedIdentities, async (asked) => await show(asked))
  // The response is the same for an unknown identity and for another person's identity.
  freshForm(pages.removeIdentity, pages.linkedIdentities, async (asked) => {
    const { ctx, actor } = asked
    const [issuer, subject] = [formField(ctx, 'issuer'), formField(ctx, 'subject')]
    const identity = { providerId: formField(ctx, 'provider'), issuer, subject }
    const isLastWay = await identities.remove(identity, actor)
    if (!isLastWay) return `${pages.linkedIdentities}?done=removed`
    ctx.status = 422
    return await show(asked, text('identities.last'))
  })
}
