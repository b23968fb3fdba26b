import type { Context } from 'koa'
import type Router from 'koa-router'

import { deletionPage, deletionScheduledPage } from '../../../views/account-data.ts'
import type { HtmlValue } from '../../../views/html.ts'
import { useLink } from '../../directory/people/one-time-links.ts'
import { sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { listSolelyOwned } from '../../school/members/site-roles.ts'
import { scheduleDeletion } from '../../school/privacy/delete-account.ts'
import { WRONG_CODE } from '../account/password-fields.ts'
import {
  LinkGone,
  linkRoutes,
  mayUse,
  type OpenedLink,
  type SignedOutPorts,
} from './link-routes.ts'

/**
 * Creates the page on which a person confirms the deletion of the account. It needs no session, only the mailed link,
 * and the code in a browser other than the requesting browser.
 *
 * @param accountDeletionSeconds how long the person can cancel the deletion by signing in
 */
export function deletionRoutes(ports: SignedOutPorts, accountDeletionSeconds: number): Router {
  const router = makeRouter()
  const { database, now } = ports
  const { kysely } = database
  const days = Math.round(accountDeletionSeconds / 86_400)
  const show = async (ctx: Context, { link, form }: OpenedLink, problem?: HtmlValue) => {
    const owned = (await listSolelyOwned(kysely, link.personId)).map(({ name }) => name)
    sendPage(ctx, deletionPage({ ...form, problem, owned, days }))
  }
  linkRoutes(router, 'deletion', ports, {
    againHref: pages.data,
    show,
    async submit(ctx, opened) {
      if (!(await mayUse(ctx, opened, ports))) {
        ctx.status = 422
        return await show(ctx, opened, WRONG_CODE)
      }
      const { link } = opened
      const { personId } = link
      const actor = { personId, ...callerOf(ctx), now: now() }
      const dueAt = actor.now + accountDeletionSeconds * 1000
      const owned = await kysely.transaction().execute(async (trx) => {
        const sites = await scheduleDeletion(trx, database, { personId, dueAt }, actor)
        // Keep the link of the last owner of a site, so it works once the site has another owner.
        if (sites?.length === 0 && !(await useLink(trx, link, actor.now))) throw new LinkGone()
        return sites
      })
      if (!owned) throw new LinkGone()
      if (owned.length > 0) return await show(ctx, opened)
      sendPage(ctx, deletionScheduledPage({ dueAt, keepHref: `${pages.data}?done=kept` }))
    },
  })
  return router
}
