/** Creates the pages that mailed links open: to set a password, remove an authenticator app, or delete the account. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { deletionPage } from '../../../views/account-data.ts'
import { notePage } from '../../../views/note-page.ts'
import { factorResetPage, newPasswordPage, recoverPage } from '../../../views/recover.ts'
import { timeOf } from '../../../views/text.ts'
import { useLink } from '../../directory/people/one-time-links.ts'
import { findResetTime, removeSecondFactors } from '../../directory/people/second-factors.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { endSessions, storeNewPassword } from '../../oauth/grants/end-access.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { listSolelyOwned } from '../../school/members/site-roles.ts'
import { scheduleDeletion } from '../../school/privacy/delete-account.ts'
import { readNewPassword } from '../account/password-fields.ts'
import { askRoutes, sentRoute } from './ask-routes.ts'
import {
  LinkGone,
  type LinkHandlers,
  linkRoutes,
  mayUse,
  type OpenedLink,
  type SignedOutPorts,
  useLinkOfPerson,
  verifyAddress,
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
  sendPage(ctx, { ...newPasswordPage({ ...form, ...typed, charactersMin }), look })
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
    const change = { personId: actor.personId, passwordHash: read.hash, endApps }
    await storeNewPassword(trx, change, actor)
  })
  sendPage(ctx, notePage('password-set', continueHref))
}

/** Registers the pages on which a person removes a lost authenticator app. The second sign-in step mails the link. */
function factorResetRoutes(router: Router, ports: SignedOutPorts): void {
  // To request another link, the person must enter the password again.
  const againHref = pages.account
  const sent = pages.factorResetSent
  sentRoute(router, ports, { kind: 'second_factor', ask: againHref, sent, open: async () => ({}) })
  linkRoutes(router, 'second_factor', ports, {
    againHref,
    async show(ctx, { form }, problem) {
      sendPage(ctx, factorResetPage({ ...form, problem }))
    },
    async submit(ctx, opened) {
      const { link, continueHref } = opened
      await useLinkOfPerson(ctx, link, ports, async (trx, actor) => {
        const { personId } = actor
        const resetTime = await findResetTime(trx, personId)
        if (resetTime === undefined || resetTime > actor.now) throw new LinkGone()
        await removeSecondFactors(trx, personId, actor, 'second_factor.reset')
        await endSessions(trx, [personId], actor.now)
      })
      sendPage(ctx, notePage('factor-reset-done', continueHref))
    },
  })
}

/**
 * Creates the page on which a person confirms the deletion of the account. The page needs the mailed link but no
 * session. A browser that did not request the link also needs the code.
 *
 * @param accountDeletionSeconds how long the person can cancel the deletion by signing in
 */
export function deletionRoutes(ports: SignedOutPorts, accountDeletionSeconds: number): Router {
  const router = makeRouter()
  const { database, now } = ports
  const { kysely } = database
  const days = Math.round(accountDeletionSeconds / 86_400)
  const show: LinkHandlers['show'] = async (ctx, { link, form }, problem) => {
    const owned = (await listSolelyOwned(kysely, link.personId)).map(({ name }) => name)
    sendPage(ctx, deletionPage({ ...form, problem, owned, days }))
  }
  linkRoutes(router, 'deletion', ports, {
    againHref: pages.data,
    show,
    async submit(ctx, opened) {
      const { link } = opened
      const { personId } = link
      const actor = { personId, ...callerOf(ctx), now: now() }
      const dueAt = actor.now + accountDeletionSeconds * 1000
      const owned = await kysely.transaction().execute(async (trx) => {
        await verifyAddress(trx, link, actor.now)
        const sites = await scheduleDeletion(trx, database, { personId, dueAt }, actor)
        // Keep the link of the last owner of a site, so it works once the site has another owner.
        if (sites?.length === 0 && !(await useLink(trx, link, actor.now))) throw new LinkGone()
        return sites
      })
      if (!owned) throw new LinkGone()
      if (owned.length > 0) return await show(ctx, opened)
      // The page at `keepHref` requires a sign-in, which cancels the deletion. So its notice `kept` is always true.
      const keepHref = `${pages.data}?done=kept`
      sendPage(ctx, notePage('deletion-scheduled', keepHref, { time: timeOf(dueAt) }))
    },
  })
  return router
}
