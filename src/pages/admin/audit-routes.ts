import { z } from 'zod'

import { type AuditEntryView, auditPage } from '../../../views/admin-audit.ts'
import { auditActions } from '../../platform/audit/audit-actions.ts'
import { findPersonId, listEvents } from '../../platform/audit/audit-list.ts'
import { pages } from '../../platform/http/paths.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { OperatorPages } from './operator-pages.ts'

const DAY_MS = 86_400_000
/** Maximum length of a filter. A longer filter is ignored. */
const FIELD_CHARACTERS_MAX = 2048

/** Registers the page that shows and filters the audit trail of a site. */
export function auditRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, listPages } = parts
  operatorPages.page(pages.audit, async ({ area, site }, ctx) => {
    const question = questionOf(ctx)
    const kept = new URLSearchParams(Object.entries(question).filter(([, value]) => value !== ''))
    const { action, client, person, from, to } = question
    const lastDay = startOfDay(to)
    const wanted = {
      siteId: site.id,
      action: action || undefined,
      clientId: client || undefined,
      // An unknown id or e-mail address stays as entered. Such an address matches no event.
      personId: person === '' ? undefined : ((await findPersonId(database, person)) ?? person),
      fromMs: startOfDay(from),
      untilMs: lastDay === undefined ? undefined : lastDay + DAY_MS,
    }
    const found = await listEvents(database, wanted, listPages.requestOf(ctx, kept))
    return auditPage({
      area,
      siteName: site.name,
      question,
      actions: Object.entries(auditActions).map(([name, words]) => ({ name, words })),
      entries: found.rows.map((entry): AuditEntryView => {
        const { before, after } = entry
        return { ...entry, before: factsOf(before), after: factsOf(after) }
      }),
      action: ctx.path,
      pager: listPages.pagerOf(ctx, found, kept),
    })
  })
}

/** Reads the filters from the query. An invalid filter is ignored. */
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
    from: startOfDay(field('from')) === undefined ? '' : field('from'),
    to: startOfDay(field('to')) === undefined ? '' : field('to'),
  }
}

/** Parses a date, such as `2026-01-31`. Returns its start in UTC, in epoch milliseconds; undefined if parsing fails. */
function startOfDay(date: string): number | undefined {
  if (!z.iso.date().safeParse(date).success) return undefined
  return Date.parse(date)
}

/** Parses the JSON of an audit event into names and values. */
function factsOf(json: string | undefined): { name: string; value: string }[] | undefined {
  if (json === undefined) return undefined
  const facts: Record<string, unknown> = JSON.parse(json)
  return Object.entries(facts).map(([name, value]) => ({
    name,
    value: [value]
      .flat()
      .map((one) => textOf(name, one))
      .join(', '),
  }))
}

/** Formats a value. A number in a field whose name ends in `At` is a time, in epoch milliseconds. */
function textOf(name: string, value: unknown): string {
  const isMoment = name.endsWith('At') && typeof value === 'number'
  return isMoment ? new Date(value).toISOString() : String(value)
}
