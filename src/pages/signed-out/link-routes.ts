import type { Context } from 'koa'
import type Router from 'koa-router'

import { linkGonePage } from '../../../views/recover.ts'
import type { OneTimeLink, OneTimeLinks } from '../../directory/people/one-time-links.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { sendPage } from '../../platform/http/page.ts'
import { formField, type Visitor, type VisitorForms } from '../../platform/http/page-form.ts'
import { linkPages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { Database } from '../../platform/store/database.ts'

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
  kind: 'recovery' | 'deletion',
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
