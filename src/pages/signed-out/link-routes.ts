import type { Context } from 'koa'
import type Router from 'koa-router'
import type { Kysely } from 'kysely'

import type { HtmlValue } from '../../../views/html.ts'
import { linkGonePage } from '../../../views/recover.ts'
import type { OneTimeLink, OneTimeLinks } from '../../directory/people/one-time-links.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField, type Visitor, type VisitorForms } from '../../platform/http/page-form.ts'
import { linkPages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { WRONG_CODE } from '../account/password-fields.ts'

export interface LinkPorts {
  readonly database: Database
  readonly links: OneTimeLinks
  readonly visitors: VisitorForms
  readonly noteEvent: NoteEvent
  readonly now: () => number
}

/** A link of a person, opened in a browser. */
export interface OpenedLink {
  readonly visitor: Visitor
  readonly link: OneTimeLink & { readonly personId: string }
}

interface LinkForm {
  /** Where to ask for a new link. */
  readonly againHref: string
  readonly show: (ctx: Context, opened: OpenedLink) => Promise<void>
  /** Uses the link and responds. Returns `gone` if the link no longer works. */
  readonly submit: (ctx: Context, opened: OpenedLink) => Promise<'gone' | undefined>
}

/** Registers the page of a mailed link, and its form. Only the form uses the link, because mail scanners open it. */
export function linkRoutes(
  router: Router,
  kind: 'recovery' | 'second_factor' | 'deletion',
  { database: { kysely }, links, visitors, now }: LinkPorts,
  { againHref, show, submit }: LinkForm,
): void {
  const open = async (ctx: Context, visitor: Visitor) => {
    const token = String(ctx['params'].token)
    const link = await links.find(kysely, kind, { token, nowMs: now() })
    return link?.personId == null
      ? undefined
      : { visitor, link: { ...link, personId: link.personId } }
  }
  router.get(linkPages[kind], async (ctx) => {
    const opened = await open(ctx, visitors.enter(ctx))
    if (!opened) return showGone(ctx, againHref)
    await show(ctx, opened)
  })
  router.post(linkPages[kind], async (ctx) => {
    const opened = await open(ctx, await visitors.submitted(ctx))
    if (!opened || (await submit(ctx, opened)) === 'gone') showGone(ctx, againHref)
  })
}

interface ConfirmForm extends Pick<LinkForm, 'againHref'> {
  readonly show: (ctx: Context, opened: OpenedLink, problem?: HtmlValue) => Promise<void>
  /** Like `submit` of `LinkForm`, after the code was checked. */
  readonly confirm: LinkForm['submit']
}

/** Registers the page of a mailed link that only asks for confirmation and, in another browser, the code. */
export function confirmRoutes(
  router: Router,
  kind: 'second_factor' | 'deletion',
  ports: LinkPorts,
  { againHref, show, confirm }: ConfirmForm,
): void {
  linkRoutes(router, kind, ports, {
    againHref,
    show,
    async submit(ctx, opened) {
      if (await mayUse(ctx, ports, opened.link, opened.visitor)) return await confirm(ctx, opened)
      ctx.status = 422
      await show(ctx, opened, WRONG_CODE)
      return undefined
    },
  })
}

/**
 * Uses up a person's link, in the transaction of the change that it allows. Returns false if, in the meantime, the link
 * was used, the account was disabled or its address changed. Receiving the mail proves the address.
 */
export async function useLinkOfPerson(
  trx: Kysely<Schema>,
  links: Pick<OneTimeLinks, 'use'>,
  link: OpenedLink['link'],
  nowMs: number,
): Promise<boolean> {
  if (!(await links.use(trx, link, nowMs))) return false
  const { numUpdatedRows } = await trx
    .updateTable('person')
    .set(({ fn, val }) => ({ email_verified_at: fn.coalesce('email_verified_at', val(nowMs)) }))
    .where('id', '=', link.personId)
    .where('email_canonical', '=', canonicalEmail(link.email))
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Sends a page that says that a link no longer works. `againHref` is where to ask for a new link. */
export function showGone(ctx: Context, againHref?: string): undefined {
  ctx.status = 410
  sendPage(ctx, linkGonePage({ againHref }))
}

/**
 * Whether a submitted form may use a link. The form needs the code if the link is for another browser. Records an audit
 * event if the code is wrong.
 */
export async function mayUse(
  ctx: Context,
  { links, database, noteEvent }: Pick<LinkPorts, 'links' | 'database' | 'noteEvent'>,
  link: OneTimeLink,
  { browser }: Visitor,
): Promise<boolean> {
  if (links.isFor(link, browser)) return true
  if (await links.acceptsCode(database.kysely, link, formField(ctx, 'code'))) return true
  noteEvent({ action: 'link.failure', aboutPersonId: link.personId ?? undefined, ...callerOf(ctx) })
  return false
}
