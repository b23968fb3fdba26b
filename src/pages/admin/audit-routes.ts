import type Router from 'koa-router'

import { type AuditEntryView, auditPage } from '../../../views/admin-audit.ts'
import { auditActions } from '../../platform/audit/audit-actions.ts'
import { findPersonId, listEvents } from '../../platform/audit/audit-list.ts'
import { sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

const DAY_MS = 86_400_000
/** Longer than any id or e-mail address. */
const FIELD_CHARACTERS_MAX = 500

/** The audit trail of a site, all of it or what a form asks for. */
export function auditRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { database, listPages } = parts
  router.get(
    pages.audit,
    operatorPages.page(async (ctx, { area, site }) => {
      const question = questionOf(ctx)
      const kept = new URLSearchParams(Object.entries(question).filter(([, value]) => value !== ''))
      const filter = {
        siteId: site.id,
        action: question.action || undefined,
        clientId: question.client || undefined,
        // What is nobody's id or address finds nothing, as somebody's who did nothing here.
        personId:
          question.person && ((await findPersonId(database, question.person)) ?? question.person),
        fromMs: momentOf(question.from),
        untilMs: dayAfter(momentOf(question.to)),
      }
      const wanted = { ...filter, personId: filter.personId || undefined }
      const found = await listEvents(database, wanted, listPages.requestOf(ctx, kept))
      const page = auditPage({
        area,
        siteName: site.name,
        question,
        actions: Object.entries(auditActions).map(([name, words]) => ({ name, words })),
        entries: found.rows.map(
          (entry): AuditEntryView => ({
            ...entry,
            before: factsOf(entry.before),
            after: factsOf(entry.after),
          }),
        ),
        action: ctx.path,
        pager: listPages.pagerOf(ctx, found, kept),
      })
      sendPage(ctx, page)
    }),
  )
  return router
}

/** What the form asks for; a field that is not as the form sends it is as good as none. */
function questionOf(ctx: PageContext) {
  const field = (name: string) => {
    const value = ctx.query[name]
    const text = typeof value === 'string' ? value.trim() : ''
    return text.length > FIELD_CHARACTERS_MAX || text.includes('\0') ? '' : text
  }
  const action = field('action')
  return {
    action: Object.hasOwn(auditActions, action) ? action : '',
    client: field('client'),
    person: field('person'),
    from: momentOf(field('from')) === undefined ? '' : field('from'),
    to: momentOf(field('to')) === undefined ? '' : field('to'),
  }
}

/** The beginning of a day in UTC. */
function momentOf(date: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined
  const ms = Date.parse(date)
  return Number.isNaN(ms) ? undefined : ms
}

function dayAfter(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms + DAY_MS
}

/** What the audit trail keeps as JSON, as names and values. */
function factsOf(json: string | undefined): { name: string; value: string }[] | undefined {
  if (json === undefined) return undefined
  const facts: Record<string, unknown> = JSON.parse(json)
  return Object.entries(facts).map(([name, value]) => ({
    name,
    value: [value]
      .flat()
      .map((one) => inWords(name, one))
      .join(', '),
  }))
}

/** What is kept as epoch milliseconds is told as a moment. */
function inWords(name: string, value: unknown): string {
  const isMoment = name.endsWith('At') && typeof value === 'number'
  return isMoment ? new Date(value).toISOString() : String(value)
}
