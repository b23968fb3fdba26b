import { notificationsPage } from '../../../views/account-notifications.ts'
import { text } from '../../../views/text.ts'
import { findSiteNames, makeFindHeldSites } from '../../directory/sites/site-choice.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { inboxData } from '../../school/viewer/notifications.ts'
import type { AccountPages } from './account-pages.ts'

/** Creates the page on which a person chooses the notifications of each site. */
export function notificationRoutes({ database, now, page, form }: AccountPages): void {
  const inbox = inboxData(database, now)
  const findSites = makeFindHeldSites(database)
  const listOf = async (personId: string) => {
    const nameOf = await findSiteNames(database, personId)
    return await Promise.all(
      (await findSites(personId)).map(async (site) => {
        const membership = { personId, siteId: site.id }
        const name = nameOf(site)
        return { name, membership, subscriptions: await inbox.listSubscriptions(membership) }
      }),
    )
  }
  page(pages.notifications, async ({ area, session: { person }, ctx }) => {
    const done = noticeOf(ctx, { saved: text('notifications.saved') })
    const sites = await listOf(person.id)
    return notificationsPage({ area, action: pages.notifications, sites, done })
  })
  form(pages.notifications, async ({ session: { person }, ctx }) => {
    const chosen = new Set(formFields(ctx, 'subscription'))
    for (const { membership, subscriptions } of await listOf(person.id)) {
      for (const { id, enabledAt } of subscriptions) {
        const enabled = chosen.has(id)
        if (enabled !== (enabledAt !== null))
          await inbox.updateSubscription(membership, { id, enabled })
      }
    }
    return `${pages.notifications}?done=saved`
  })
}
