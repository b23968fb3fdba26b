/** Creates the pages on which a person who cannot sign in sets a new password, or removes a lost authenticator app. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import {
  factorResetDonePage,
  factorResetPage,
  newPasswordPage,
  passwordSetPage,
  recoverPage,
} from '../../../views/recover.ts'
import { queueMail } from '../../directory/mail/messages.ts'
import { findResetTime, removeSecondFactors } from '../../directory/people/second-factors.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { endSessions, storeNewPassword } from '../../oauth/grants/end-access.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { readNewPassword, WRONG_CODE } from '../account/password-fields.ts'
import { askRoutes, sentRoute } from './ask-routes.ts'
import {
  LinkGone,
  linkRoutes,
  mayUse,
  type OpenedLink,
  type SignedOutPorts,
  useLinkOfPerson,
} from './link-routes.ts'

/** Creates the routes below /recover. */
export function recoveryRoutes(ports: SignedOutPorts): Router {
  const router = makeRouter()
  askRoutes(router, ports, {
    kind: 'recovery',
    ask: pages.recover,
    sent: pages.recoverySent,
    open: async () => ({ page: recoverPage, request: ports.linkRequests.recovery }),
  })
  linkRoutes(router, 'recovery', ports, {
    againHref: pages.recover,
    show: async (ctx, opened) => await showNewPassword(ctx, opened, { endApps: true }, ports),
    submit: async (ctx, opened) => await setPassword(ctx, opened, ports),
  })
  factorResetRoutes(router, ports)
  return router
}

type Typed = Pick<Parameters<typeof newPasswordPage>[0], 'endApps' | 'problems'>

async function showNewPassword(
  ctx: Context,
  { link: { siteId }, form }: OpenedLink,
  typed: Typed,
  { database, passwordCharactersMin: charactersMin }: SignedOutPorts,
): Promise<void> {
  const look = siteId === null ? undefined : siteLook(ctx, await findLook(database, siteId))
  sendPage(ctx, newPasswordPage({ ...form, ...typed, charactersMin, look }))
}

async function setPassword(ctx: Context, opened: OpenedLink, ports: SignedOutPorts): Promise<void> {
  const { link, continueHref } = opened
  const endApps = formField(ctx, 'end_apps') === 'yes'
  const owner = await ports.database.kysely
    .selectFrom('person')
    .select(['id', 'name', 'email'])
    .where('id', '=', link.personId)
    .executeTakeFirstOrThrow()
  const read = await readNewPassword(ctx, owner, ports, () => mayUse(ctx, opened, ports))
  if ('problems' in read) {
    ctx.status = read.status
    return await showNewPassword(ctx, opened, { endApps, problems: read.problems }, ports)
  }
  await useLinkOfPerson(ctx, link, ports, async (trx, actor) => {
    const { personId } = actor
    const change = { personId, passwordHash: read.hash, endApps, byMail: true }
    await storeNewPassword(trx, change, actor)
    await queueMail(trx, { kind: 'password_changed', personId, values: {} }, actor.now)
  })
  sendPage(ctx, passwordSetPage({ continueHref }))
}

/** Registers the pages on which a person removes a lost authenticator app, with a link that the second step mailed. */
function factorResetRoutes(router: Router, ports: SignedOutPorts): void {
  // To ask again, a person has to enter the password again.
  const againHref = pages.account
  const sent = pages.factorResetSent
  sentRoute(router, ports, { kind: 'second_factor', ask: againHref, sent, open: async () => ({}) })
  linkRoutes(router, 'second_factor', ports, {
    againHref,
    async show(ctx, { form }, problem) {
      sendPage(ctx, factorResetPage({ ...form, problem }))
    },
    async submit(ctx, opened) {
      const { link, form, continueHref } = opened
      if (!(await mayUse(ctx, opened, ports))) {
        ctx.status = 422
        return sendPage(ctx, factorResetPage({ ...form, problem: WRONG_CODE }))
      }
      await useLinkOfPerson(ctx, link, ports, async (trx, actor) => {
        const { personId } = actor
        const resetTime = await findResetTime(trx, personId)
        if (resetTime === undefined || resetTime > actor.now) throw new LinkGone()
        await removeSecondFactors(trx, personId, actor, 'second_factor.reset')
        await endSessions(trx, [personId], actor.now)
      })
      sendPage(ctx, factorResetDonePage({ continueHref }))
    },
  })
}
