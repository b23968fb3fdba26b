import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import { dataPage, deletionPage, deletionScheduledPage } from '../../../views/account-data.ts'
import { linkGonePage } from '../../../views/recover.ts'
import type { QueueMail } from '../../directory/mail/messages.ts'
import type { OneTimeLink, OneTimeLinks } from '../../directory/people/one-time-links.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import { noticeOf, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, linkPages, pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Visitor, VisitorForms } from '../../platform/http/visitor-form.ts'
import { listSolelyOwned } from '../../school/members/last-owner.ts'
import { scheduleDeletion } from '../../school/privacy/delete-account.ts'
import { exportPerson } from '../../school/privacy/export-person.ts'
import { actorOf } from '../relying-party/page-session.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'
import { areaOf } from './query-routes.ts'

export interface DataPages {
  readonly links: OneTimeLinks
  readonly queueMail: QueueMail
  readonly visitors: VisitorForms
}

interface Lifetimes {
  /** How long a person can cancel the deletion of the account by signing in. */
  readonly accountDeletionSeconds: number
}

/** How long the link of the mail that confirms a deletion works. */
const LINK_SECONDS = 3600
const FORM_BYTES_MAX = '16kb'

/** Creates the pages for a person's own data: its download, and the deletion of the account. */
export function dataRoutes(ownPages: OwnPages, ports: DataPages, lifetimes: Lifetimes): Router {
  const router = makeRouter()
  const { database, signedInPages, now } = ownPages
  const { links, queueMail, visitors } = ports
  const { kysely } = database

  router.get(
    pages.data,
    signedInPages.page(async (ctx, session) => {
      const { id } = session.person
      const { browser } = visitors.enter(ctx)
      const link = await links.findLast(kysely, 'deletion', { browser, nowMs: now() })
      return dataPage({
        area: areaOf(session, pages.data),
        downloadAction: pages.downloadData,
        deleteAction: pages.deleteAccount,
        email: session.person.email,
        owned: (await listSolelyOwned(kysely, id)).map(({ name }) => name),
        code: link?.personId === id ? links.codeOf(link) : undefined,
        done: noticeOf(ctx, { kept: 'You signed in, so your account is not deleted.' }),
      })
    }),
  )
  router.post(
    pages.downloadData,
    signedInPages.form(
      signedInPages.fresh(async (ctx, session) => {
        const { person } = session
        ctx.body = await exportPerson(database, person.id, actorOf(ctx, session, now))
        ctx.type = 'json'
        const header = { 'Content-Disposition': 'attachment; filename="my-data.json"' }
        ctx.set({ ...header, 'Cache-Control': 'no-store' })
        return undefined
      }, pages.data),
    ),
  )
  router.post(
    pages.deleteAccount,
    signedInPages.form(
      signedInPages.fresh(async (ctx, { person }) => {
        const { id: personId, email } = person
        const { browser } = visitors.enter(ctx)
        const nowMs = now()
        await kysely.transaction().execute(async (trx) => {
          if ((await listSolelyOwned(trx, personId)).length > 0) return
          const earlier = trx.deleteFrom('one_time_link').where('person_id', '=', personId)
          await earlier.where('kind', '=', 'deletion').execute()
          const whose = { email, emailCanonical: canonicalEmail(email), personId, browser }
          const life = { nowMs, livesSeconds: LINK_SECONDS }
          const linkId = await links.create(trx, { kind: 'deletion', ...whose }, life)
          const mail = { kind: 'deletion_requested', to: email, personId, linkId } as const
          await queueMail(trx, { ...mail, values: {} }, nowMs)
        })
        return pages.data
      }, pages.data),
    ),
  )
  confirmRoutes(router, ownPages, { ...ports, ...lifetimes })
  return router
}

/** Registers the page that the link in the mail opens. It needs no session, but the browser that asked, or its code. */
function confirmRoutes(
  router: Router,
  { database, now }: OwnPages,
  { links, visitors, accountDeletionSeconds }: DataPages & Lifetimes,
): void {
  const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_BYTES_MAX })

  const findLink = async (ctx: Context) => {
    const token = String(ctx['params'].token)
    const link = await links.find(database.kysely, 'deletion', { token, nowMs: now() })
    if (link?.personId !== undefined) return { ...link, personId: link.personId }
    showGone(ctx)
    return undefined
  }
  const show = async (
    ctx: Context,
    { csrf, browser }: Visitor,
    link: OneTimeLink & { readonly personId: string },
    problem?: string,
  ) => {
    if (problem !== undefined) ctx.status = 422
    const page = deletionPage({
      action: addressOf(linkPages.deletion, { token: String(ctx['params'].token) }),
      csrf,
      email: link.email,
      needsCode: !links.isFor(link, browser),
      problem,
      owned: (await listSolelyOwned(database.kysely, link.personId)).map(({ name }) => name),
      days: Math.round(accountDeletionSeconds / 86_400),
    })
    sendPage(ctx, page)
  }

  router.get(linkPages.deletion, async (ctx) => {
    const visitor = visitors.enter(ctx)
    const link = await findLink(ctx)
    if (link) await show(ctx, visitor, link)
  })
  router.post(linkPages.deletion, parse, async (ctx) => {
    const visitor = visitors.submitted(ctx)
    const link = await findLink(ctx)
    if (!link) return
    const isSame = links.isFor(link, visitor.browser)
    if (!isSame && !(await links.acceptsCode(database.kysely, link, formField(ctx, 'code')))) {
      // Another browser may have used the link in the meantime.
      if (!(await findLink(ctx))) return
      const problem = 'This is not the code. After five attempts, ask for a new link.'
      return await show(ctx, visitor, link, problem)
    }
    const actor = { personId: link.personId, ...callerOf(ctx), now: now() }
    const dueAt = actor.now + accountDeletionSeconds * 1000
    const deletion = { personId: link.personId, dueAt }
    const owned = await database.kysely.transaction().execute(async (trx) => {
      if (!(await links.use(trx, link, actor.now))) return undefined
      return await scheduleDeletion(trx, database, deletion, actor)
    })
    if (!owned) return showGone(ctx)
    if (owned.length > 0) return await show(ctx, visitor, link)
    sendPage(ctx, deletionScheduledPage({ dueAt, keepHref: `${pages.data}?done=kept` }))
  })
}

function showGone(ctx: Context): void {
  ctx.status = 410
  sendPage(ctx, linkGonePage({ againHref: pages.data }))
}
