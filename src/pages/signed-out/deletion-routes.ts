import type { Context } from 'koa'
import type Router from 'koa-router'

import { deletionPage, deletionScheduledPage } from '../../../views/account-data.ts'
import type { HtmlValue } from '../../../views/html.ts'
import { sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { listSolelyOwned } from '../../school/members/site-roles.ts'
import { scheduleDeletion } from '../../school/privacy/delete-account.ts'
import { confirmRoutes, type LinkPorts, type OpenedLink } from './link-routes.ts'

/**
 * Creates the page on which a person confirms the deletion of the account. It needs no session, only the mailed link,
 * and the code in a browser other than the requesting browser.
 *
 * @param accountDeletionSeconds how long the person can cancel the deletion by signing in
 */
export function deletionRoutes(ports: LinkPorts, accountDeletionSeconds: number): Router {
  const router = makeRouter()
  const { database, links } = ports
  const show = async (ctx: Context, { visitor, link }: OpenedLink, problem?: HtmlValue) => {
    const page = deletionPage({
      action: ctx.path,
      csrf: visitor.csrf,
      email: link.email,
      needsCode: !links.isFor(link, visitor.browser),
      problem,
      owned: (await listSolelyOwned(database.kysely, link.personId)).map(({ name }) => name),
      days: Math.round(accountDeletionSeconds / 86_400),
    })
    sendPage(ctx, page)
  }
  confirmRoutes(router, 'deletion', ports, {
    againHref: pages.data,
    show,
    async confirm(ctx, opened) {
      const { link } = opened
      const { personId } = link
      if ((await listSolelyOwned(database.kysely, personId)).length > 0) {
        // Keep the link, so it works once the site has another owner.
        await show(ctx, opened)
        return undefined
      }
      const actor = { personId, ...callerOf(ctx), now: ports.now() }
      const dueAt = actor.now + accountDeletionSeconds * 1000
      const owned = await database.kysely.transaction().execute(async (trx) => {
        if (!(await links.use(trx, link, actor.now))) return undefined
        return await scheduleDeletion(trx, database, { personId, dueAt }, actor)
      })
      if (!owned) return 'gone'
      if (owned.length > 0) await show(ctx, opened)
      else sendPage(ctx, deletionScheduledPage({ dueAt, keepHref: `${pages.data}?done=kept` }))
      return undefined
    },
  })
  return router
}
