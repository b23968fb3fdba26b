/** Creates the pages on which a person removes a lost authenticator app, with a link that the second step mailed. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { factorResetDonePage, factorResetPage } from '../../../views/recover.ts'
import { findResetTime } from '../../directory/people/factor-reset.ts'
import { RECOVERY_SECONDS } from '../../directory/people/link-requests.ts'
import { removeSecondFactors } from '../../directory/people/second-factors.ts'
import { endSessions } from '../../oauth/grants/end-access.ts'
import { sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { type AskPorts, continueHref, sentRoute } from './ask-routes.ts'
import { confirmRoutes, type OpenedLink, useLinkOfPerson } from './link-routes.ts'

/** Creates the routes /recover-sent/second-factor and /recover/second-factor/:token. */
export function factorResetRoutes(ports: AskPorts): Router {
  const router = makeRouter()
  const { links } = ports
  // To ask again, a person has to enter the password again.
  const askHref = pages.account
  sentRoute(router, ports, {
    kind: 'second_factor',
    sent: pages.factorResetSent,
    livesSeconds: RECOVERY_SECONDS,
    isCertain: true,
    open: async () => ({ askHref }),
  })
  confirmRoutes(router, 'second_factor', ports, {
    againHref: askHref,
    async show(ctx, { visitor: { browser, csrf }, link }, problem) {
      const needsCode = !links.isFor(link, browser)
      const page = { action: ctx.path, csrf, email: link.email, needsCode, problem }
      sendPage(ctx, factorResetPage(page))
    },
    async confirm(ctx, { link, visitor }) {
      if (!(await removeApp(ctx, link, ports))) return 'gone'
      const isSame = links.isFor(link, visitor.browser)
      sendPage(
        ctx,
        factorResetDonePage({ continueHref: isSame ? continueHref(link) : pages.account }),
      )
      return undefined
    },
  })
  return router
}

/** Removes the app and ends all sessions. Returns false if the link or the rule of the sites no longer allows it. */
async function removeApp(
  ctx: Context,
  link: OpenedLink['link'],
  { database, links, now }: AskPorts,
): Promise<boolean> {
  const { personId } = link
  const actor = { personId, ...callerOf(ctx), now: now() }
  return await database.kysely.transaction().execute(async (trx) => {
    const resetTime = await findResetTime(trx, personId)
    if (resetTime === undefined || resetTime > actor.now) return false
    if (!(await useLinkOfPerson(trx, links, link, actor.now))) return false
    await removeSecondFactors(trx, personId, actor, 'second_factor.reset')
    await endSessions(trx, [personId], actor.now)
    return true
  })
}
