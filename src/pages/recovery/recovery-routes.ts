/** Creates the pages on which a person who cannot sign in sets a new password, with a mail. */

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import {
  linkGonePage,
  linkSentPage,
  newPasswordPage,
  passwordSetPage,
  recoverPage,
} from '../../../views/recover.ts'
import { isMailAddress } from '../../directory/mail/mail-address.ts'
import type { QueueMail } from '../../directory/mail/messages.ts'
import type { OneTimeLink, OneTimeLinks } from '../../directory/people/one-time-links.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import { RECOVERY_SECONDS, type Recovery } from '../../directory/people/recovery.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { storeNewPassword } from '../../oauth/grants/new-password.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, linkPages, pages, promptPages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Visitor, VisitorForms } from '../../platform/http/visitor-form.ts'
import type { Database } from '../../platform/store/database.ts'
import { type NewPasswords, readNewPassword } from '../account/password-fields.ts'

export interface RecoveryPages extends NewPasswords {
  readonly database: Database
  readonly links: OneTimeLinks
  readonly recovery: Recovery
  readonly queueMail: QueueMail
  /** Whether messages are waiting because the mail server does not respond. */
  readonly mailIsDelayed: () => Promise<boolean>
  readonly visitors: VisitorForms
  readonly now: () => number
}

const FORM_BYTES_MAX = '16kb'

/** Creates the routes below /recover. Opening a link uses nothing up, because mail scanners open links. */
export function recoveryRoutes(
  { database, now }: Pick<RecoveryPages, 'database' | 'now'>,
  given: Omit<RecoveryPages, 'database' | 'now'>,
): Router {
  const ports: RecoveryPages = { ...given, database, now }
  const router = makeRouter()
  const { links, recovery, visitors } = ports
  const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })

  router.get(pages.recover, (ctx) => {
    showRequest(ctx, visitors.enter(ctx), { login: '', from: readUid(ctx.query['from']) })
  })
  router.post(pages.recover, parse, async (ctx) => {
    const visitor = visitors.submitted(ctx)
    const login = formField(ctx, 'login').trim()
    const from = readUid(formField(ctx, 'from'))
    if (!isMailAddress(login)) {
      ctx.status = 422
      const problem = 'Please enter the e-mail address of your account.'
      return showRequest(ctx, visitor, { login, from, problem })
    }
    const { browser } = visitor
    const waitSeconds = await recovery.request({ login, address: ctx.ip, browser, from })
    if (waitSeconds === undefined) return seeOther(ctx, pages.recoverySent)
    ctx.status = 429
    ctx.set('Retry-After', String(waitSeconds))
    const problem = `Too many requests from your network. Please wait ${Math.ceil(waitSeconds / 60)} min.`
    showRequest(ctx, visitor, { login, from, problem })
  })

  router.get(pages.recoverySent, async (ctx) => {
    const { browser } = visitors.enter(ctx)
    const link = await links.findLast(database.kysely, 'recovery', { browser, nowMs: now() })
    if (!link) return seeOther(ctx, pages.recover)
    const page = linkSentPage({
      login: link.email,
      isCertain: false,
      code: links.codeOf(link),
      minutes: RECOVERY_SECONDS / 60,
      againHref: pages.recover,
      isDelayed: await ports.mailIsDelayed(),
    })
    sendPage(ctx, page)
  })

  router.get(linkPages.recovery, async (ctx) => {
    const visitor = visitors.enter(ctx)
    const link = await findLink(ctx, ports)
    if (!link) return showGone(ctx)
    await showNewPassword(ctx, { visitor, link, endApps: true }, ports)
  })
  router.post(linkPages.recovery, parse, async (ctx) => {
    const visitor = visitors.submitted(ctx)
    const link = await findLink(ctx, ports)
    if (!link) return showGone(ctx)
    await setPassword(ctx, { visitor, link }, ports)
  })
  return router
}

const UID = /^[\w-]{1,64}$/

/** Reads the id of an interaction from a parameter; undefined if it is not one. */
export function readUid(value: unknown): string | undefined {
  return typeof value === 'string' && UID.test(value) ? value : undefined
}

function showRequest(
  ctx: Context,
  { csrf }: Visitor,
  typed: { readonly login: string; readonly from: string | undefined; readonly problem?: string },
): void {
  sendPage(ctx, recoverPage({ action: pages.recover, csrf, ...typed }))
}

function showGone(ctx: Context): void {
  ctx.status = 410
  sendPage(ctx, linkGonePage({ againHref: pages.recover }))
}

/** A link of a person who can still sign in. */
type LinkOfPerson = OneTimeLink & { readonly personId: string }

async function findLink(
  ctx: Context,
  { database: { kysely }, links, now }: RecoveryPages,
): Promise<LinkOfPerson | undefined> {
  const token = String(ctx['params'].token)
  const link = await links.find(kysely, 'recovery', { token, nowMs: now() })
  return link?.personId === undefined ? undefined : { ...link, personId: link.personId }
}

interface Opened {
  readonly visitor: Visitor
  readonly link: LinkOfPerson
}

async function showNewPassword(
  ctx: Context,
  { visitor, link, ...typed }: Opened & Typed,
  { database, links, passwordCharactersMin }: RecoveryPages,
): Promise<void> {
  const { siteId } = link
  const page = newPasswordPage({
    action: addressOf(linkPages.recovery, { token: String(ctx['params'].token) }),
    csrf: visitor.csrf,
    email: link.email,
    charactersMin: passwordCharactersMin,
    needsCode: !links.isFor(link, visitor.browser),
    look: siteId === undefined ? undefined : siteLook(await findLook(database, siteId)),
    ...typed,
  })
  sendPage(ctx, page)
}

type Typed = Pick<Parameters<typeof newPasswordPage>[0], 'endApps' | 'problems' | 'codeProblem'>

async function setPassword(ctx: Context, opened: Opened, ports: RecoveryPages): Promise<void> {
  const { database, links, queueMail, now } = ports
  const { link, visitor } = opened
  const endApps = formField(ctx, 'end_apps') === 'yes'
  const refuse = async (status: number, problems: Pick<Typed, 'problems' | 'codeProblem'>) => {
    ctx.status = status
    await showNewPassword(ctx, { ...opened, endApps, ...problems }, ports)
  }
  const { personId, email } = link
  const owner = await database.kysely
    .selectFrom('person')
    .select(['name', 'email'])
    .where('id', '=', personId)
    .executeTakeFirst()
  if (!owner) return showGone(ctx)
  const isSame = links.isFor(link, visitor.browser)
  const read = await readNewPassword(
    ctx,
    owner,
    ports,
    async () => isSame || (await links.acceptsCode(database.kysely, link, formField(ctx, 'code'))),
  )
  if ('problems' in read) {
    // Another browser may have used the link in the meantime.
    if (!(await findLink(ctx, ports))) return showGone(ctx)
    const { code: codeProblem } = read.problems
    return await refuse(read.status, { problems: read.problems, codeProblem })
  }
  const actor = { personId, ...callerOf(ctx), now: now() }
  const isSet = await database.kysely.transaction().execute(async (trx) => {
    if (!(await links.use(trx, link, actor.now))) return false
    // The address may have changed since the mail was sent. Receiving the mail proves the address.
    const { numUpdatedRows } = await trx
      .updateTable('person')
      .set(({ fn, val }) => ({
        email_verified_at: fn.coalesce('email_verified_at', val(actor.now)),
      }))
      .where('id', '=', personId)
      .where('email_canonical', '=', canonicalEmail(email))
      .where('disabled_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return false
    const change = { personId, passwordHash: read.hash, endApps }
    await storeNewPassword(trx, { ...change, byMail: true }, actor)
    await queueMail(trx, { kind: 'password_changed', personId, values: {} }, actor.now)
    return true
  })
  if (!isSet) return showGone(ctx)
  sendPage(ctx, passwordSetPage({ continueHref: isSame ? continueHref(link) : pages.account }))
}

/** Returns the page of the interaction from which the person came. */
export function continueHref({ data }: OneTimeLink): string {
  const { from } = data === undefined ? {} : (JSON.parse(data) as { from?: string })
  return from === undefined ? pages.account : addressOf(promptPages.login, { uid: from })
}
