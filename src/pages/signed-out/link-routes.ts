import type { Context, Middleware } from 'koa'
import type Router from 'koa-router'
import type { Transaction } from 'kysely'

import type { HtmlValue } from '../../../views/html.ts'
import { notePage } from '../../../views/note-page.ts'
import type { LinkForm } from '../../../views/recover.ts'
import type { LinkRequests } from '../../directory/people/link-requests.ts'
import {
  isForBrowser,
  type OneTimeLink,
  type OneTimeLinks,
  useLink,
} from '../../directory/people/one-time-links.ts'
import { markVerified } from '../../directory/people/person-store.ts'
import type { Actor, NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField, type Visitor, type VisitorForms } from '../../platform/http/page-form.ts'
import { addressOf, linkPages, pages, promptPages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type NewPasswords, WRONG_CODE } from '../account/password-fields.ts'
import type { SignedInPages } from '../relying-party/signed-in-pages.ts'

/** The dependencies that the pages in this folder share. */
export interface SignedOutPorts extends NewPasswords {
  readonly database: Database
  readonly links: OneTimeLinks
  readonly linkRequests: LinkRequests
  readonly visitors: VisitorForms
  readonly signedInPages: SignedInPages
  readonly noteEvent: NoteEvent
  readonly now: () => number
}

/** A one-time link that was opened in a browser. */
export interface OpenedLink<Link extends OneTimeLink = LinkOfPerson> {
  readonly link: Link
  /** The values of the form that uses the link. If another browser requested the link, the form also needs the code. */
  readonly form: LinkForm
  /** The path of the interaction from which this browser requested the link, or of the account page. */
  readonly continueHref: string
}

type LinkOfPerson = OneTimeLink & { readonly personId: string }

/** Thrown if a link is unknown, used or expired, or if the change that it allows is no longer possible. */
export class LinkGone extends Error {}

/** Prepares the form that uses a link. It asks for the code if another browser requested the link. */
export function openLink<Link extends OneTimeLink>(
  ctx: Context,
  link: Link,
  { browser, csrf }: Visitor,
): OpenedLink<Link> {
  const needsCode = !isForBrowser(link, browser)
  const form = { action: ctx.path, csrf, email: link.email, needsCode }
  const { from: uid } = JSON.parse(link.data ?? '{}') as { from?: string }
  const continues = uid !== undefined && !needsCode
  const continueHref = continues ? addressOf(promptPages.login, { uid }) : pages.account
  return { link, form, continueHref }
}

export interface LinkHandlers {
  /** The page on which to request a new link. */
  readonly againHref: string
  readonly show: (ctx: Context, opened: OpenedLink, problem?: HtmlValue) => Promise<void>
  /** Uses the link and responds. Called after the code has been checked or, for `recovery`, before. @throws LinkGone */
  readonly submit: (ctx: Context, opened: OpenedLink) => Promise<void>
}

/** Registers the page and form for a person's link. Only the form uses the link, because mail scanners open links. */
export function linkRoutes(
  router: Router,
  kind: 'recovery' | 'second_factor' | 'deletion',
  ports: SignedOutPorts,
  { againHref, show, submit }: LinkHandlers,
): void {
  const { database, links, visitors, now } = ports
  const open = async (ctx: Context, visitor: Visitor) => {
    const token = String(ctx['params'].token)
    const link = await links.find(database.kysely, kind, { token, nowMs: now() })
    if (link?.personId == null) throw new LinkGone()
    return openLink(ctx, { ...link, personId: link.personId }, visitor)
  }
  const gone = explainGone(againHref)
  router.get(linkPages[kind], gone, async (ctx) => {
    await show(ctx, await open(ctx, visitors.enter(ctx)))
  })
  router.post(linkPages[kind], gone, async (ctx) => {
    const opened = await open(ctx, await visitors.submitted(ctx))
    // The form for a new password checks the code itself, after the password.
    if (kind === 'recovery' || (await mayUse(ctx, opened, ports))) return await submit(ctx, opened)
    ctx.status = 422
    await show(ctx, opened, WRONG_CODE)
  })
}

/** Creates middleware that shows a page if a link no longer works. */
export function explainGone(againHref?: string): Middleware {
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!(error instanceof LinkGone)) throw error
      ctx.status = 410
      sendPage(ctx, notePage('link-gone', againHref))
    }
  }
}

/**
 * Uses up a person's link, and makes the change that it allows. Receiving the e-mail verifies the address.
 *
 * @throws LinkGone if, in the meantime, the link was used, the account was disabled or its address changed
 */
export async function useLinkOfPerson(
  ctx: Context,
  link: LinkOfPerson,
  { database: { kysely }, now }: SignedOutPorts,
  change: (trx: Transaction<Schema>, actor: Actor) => Promise<void>,
): Promise<void> {
  const actor = { personId: link.personId, ...callerOf(ctx), now: now() }
  const isDone = await kysely.transaction().execute(async (trx) => {
    if (!(await useLink(trx, link, actor.now))) return false
    // If this fails, the link stays used up, so it does not work after the address changes back.
    if (!(await markVerified(trx, link.personId, link.email, actor.now))) return false
    await change(trx, actor)
    return true
  })
  if (!isDone) throw new LinkGone()
}

/** Marks a link's e-mail address as verified. @throws LinkGone if the account is disabled or has another address */
export async function verifyAddress(
  trx: Transaction<Schema>,
  { personId, email }: LinkOfPerson,
  nowMs: number,
): Promise<void> {
  if (!(await markVerified(trx, personId, email, nowMs))) throw new LinkGone()
}

/** Whether a submitted form may use a link. Records an audit event if the code is required but wrong. */
export async function mayUse(
  ctx: Context,
  { link, form }: OpenedLink<OneTimeLink>,
  { links, database, noteEvent }: SignedOutPorts,
): Promise<boolean> {
  if (!form.needsCode) return true
  if (await links.acceptsCode(database.kysely, link, formField(ctx, 'code'))) return true
  noteEvent({ action: 'link.failure', aboutPersonId: link.personId ?? undefined, ...callerOf(ctx) })
  return false
}
