/** Creates the pages on which a person who cannot sign in sets a new password, with a mailed link. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { newPasswordPage, passwordSetPage, recoverPage } from '../../../views/recover.ts'
import type { QueueMail } from '../../directory/mail/messages.ts'
import { type LinkRequests, RECOVERY_SECONDS } from '../../directory/people/link-requests.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { storeNewPassword } from '../../oauth/grants/end-access.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { type NewPasswords, readNewPassword } from '../account/password-fields.ts'
import { type AskPorts, askRoutes, continueHref } from './ask-routes.ts'
import { linkRoutes, mayUse, type OpenedLink, useLinkOfPerson } from './link-routes.ts'

export interface RecoveryPorts extends NewPasswords, AskPorts {
  readonly linkRequests: LinkRequests
  readonly queueMail: QueueMail
}

/** Creates the routes below /recover. */
export function recoveryRoutes(ports: RecoveryPorts): Router {
  const router = makeRouter()
  askRoutes(router, ports, {
    kind: 'recovery',
    ask: pages.recover,
    sent: pages.recoverySent,
    livesSeconds: RECOVERY_SECONDS,
    isCertain: false,
    open: async () => ({
      askHref: pages.recover,
      sentHref: pages.recoverySent,
      page: recoverPage,
      request: ports.linkRequests.recovery,
    }),
  })
  linkRoutes(router, 'recovery', ports, {
    againHref: pages.recover,
    show: async (ctx, opened) => await showNewPassword(ctx, { ...opened, endApps: true }, ports),
    submit: async (ctx, opened) => await setPassword(ctx, opened, ports),
  })
  return router
}

type Typed = Pick<Parameters<typeof newPasswordPage>[0], 'endApps' | 'problems'>

async function showNewPassword(
  ctx: Context,
  { visitor, link, ...typed }: OpenedLink & Typed,
  { database, links, passwordCharactersMin }: RecoveryPorts,
): Promise<void> {
  const { siteId } = link
  const page = newPasswordPage({
    action: ctx.path,
    csrf: visitor.csrf,
    email: link.email,
    charactersMin: passwordCharactersMin,
    needsCode: !links.isFor(link, visitor.browser),
    look: siteId === null ? undefined : siteLook(ctx, await findLook(database, siteId)),
    ...typed,
  })
  sendPage(ctx, page)
}

async function setPassword(
  ctx: Context,
  opened: OpenedLink,
  ports: RecoveryPorts,
): Promise<'gone' | undefined> {
  const { database, links } = ports
  const { link, visitor } = opened
  const endApps = formField(ctx, 'end_apps') === 'yes'
  const owner = await database.kysely
    .selectFrom('person')
    .select(['name', 'email'])
    .where('id', '=', link.personId)
    .executeTakeFirst()
  if (!owner) return 'gone'
  const admits = async () => await mayUse(ctx, ports, link, visitor)
  const read = await readNewPassword(ctx, owner, ports, admits)
  if ('problems' in read) {
    ctx.status = read.status
    await showNewPassword(ctx, { ...opened, endApps, problems: read.problems }, ports)
    return undefined
  }
  const change = { passwordHash: read.hash, endApps }
  if (!(await useLink(ctx, link, change, ports))) return 'gone'
  const isSame = links.isFor(link, visitor.browser)
  sendPage(ctx, passwordSetPage({ continueHref: isSame ? continueHref(link) : pages.account }))
  return undefined
}

/**
 * Stores a new password, and uses the link up. Returns false if, in the meantime, the link was used, the account was
 * disabled or its address changed.
 */
async function useLink(
  ctx: Context,
  link: OpenedLink['link'],
  change: { readonly passwordHash: string; readonly endApps: boolean },
  { database, links, queueMail, now }: RecoveryPorts,
): Promise<boolean> {
  const { personId } = link
  const actor = { personId, ...callerOf(ctx), now: now() }
  return await database.kysely.transaction().execute(async (trx) => {
    if (!(await useLinkOfPerson(trx, links, link, actor.now))) return false
    await storeNewPassword(trx, { personId, ...change, byMail: true }, actor)
    await queueMail(trx, { kind: 'password_changed', personId, values: {} }, actor.now)
    return true
  })
}
