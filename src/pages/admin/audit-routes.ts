import { z } from 'zod'

import { type AuditEntryView, type AuditQuestion, auditPage } from '../../../views/admin-audit.ts'
import { auditActions } from '../../platform/audit/audit-actions.ts'
import { type AuditFilter, findPersonId, listEvents } from '../../platform/audit/audit-list.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'
import type { Database } from '../../platform/store/database.ts'
import type { PlaceInList } from '../../platform/store/keyset.ts'
import { filterOf } from '../relying-party/list-pages.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { sendCsv, sendDownload } from './downloads.ts'
import type { OperatorPages } from './operator-pages.ts'

const DAY_MS = 86_400_000
/** The maximum length of a filter. A longer filter is ignored. */
const FIELD_CHARACTERS_MAX = 2048

/** The maximum number of events in a download. A download omits older events beyond this number. */
const DOWNLOAD_EVENTS_MAX = 10_000
const EVENTS_PER_READ = 500

/** Registers the page that shows and filters a site's audit trail, and the route for downloading it. */
export function auditRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, listPages } = parts
  operatorPages.page(pages.audit, async ({ site, address }, ctx) => {
    const question = questionOf(ctx)
    const kept = new URLSearchParams(Object.entries(question).filter(([, value]) => value !== ''))
    const filter = await auditFilterOf(question, site.id, database)
    const found = await listEvents(database, filter, listPages.requestOf(ctx, kept))
    return auditPage({
      question,
      actions: auditActions,
      entries: found.rows,
      downloads: Object.entries(downloadFormats).map(([format, label]) => ({
        href: `${address(pages.auditDownload, { format })}?${kept}`,
        label,
      })),
      downloadMax: DOWNLOAD_EVENTS_MAX,
      pager: listPages.pagerOf(ctx, found, kept),
    })
  })
  operatorPages.page(pages.auditDownload, async ({ site }, ctx) => {
    const format = ctx.params['format'] ?? ''
    if (!Object.hasOwn(downloadFormats, format)) throw nothingHere()
    const filter = await auditFilterOf(questionOf(ctx), site.id, database)
    const events = await readEvents(database, filter)
    if (format === 'csv') return await sendCsv(ctx, 'audit', events.map(csvRowOf))
    const lines = events.map((event) => `${JSON.stringify(event)}\n`)
    sendDownload(ctx, 'audit.ndjson', lines.join(''))
    ctx.type = 'application/x-ndjson'
    return undefined
  })
}

const downloadFormats = { csv: 'CSV', ndjson: 'NDJSON' } as const

async function auditFilterOf(
  { action, client, person, from, to }: AuditQuestion,
  siteId: string,
  database: Database,
): Promise<AuditFilter> {
  const lastDay = startOfDay(to)
  return {
    siteId,
    action: action || undefined,
    clientId: client || undefined,
    personId: person === '' ? undefined : await findPersonId(database, person),
    fromMs: startOfDay(from),
    untilMs: lastDay === undefined ? undefined : lastDay + DAY_MS,
  }
}

async function readEvents(database: Database, filter: AuditFilter) {
  const events: Awaited<ReturnType<typeof listEvents>>['rows'] = []
  let after: PlaceInList | undefined
  do {
    const page = await listEvents(database, filter, { first: EVENTS_PER_READ, after })
    events.push(...page.rows)
    after = page.hasNextPage ? page.places.at(-1) : undefined
  } while (after !== undefined && events.length < DOWNLOAD_EVENTS_MAX)
  return events
}

function csvRowOf(event: AuditEntryView) {
  const { actorName: actor, action, subject, aboutName: account, reason, address, times } = event
  const changed = event.differences.map(
    ({ name, before, after }) => `${name}: ${before} -> ${after}`,
  )
  const [time, request] = [new Date(event.occurredAt).toISOString(), event.requestId]
  const who = { time, actor, action, subject, account, reason, address, request, times }
  return { ...who, changed: changed.join('; ') }
}

/** Reads the filters from the query. An invalid filter is ignored. */
function questionOf(ctx: PageContext) {
  const field = (name: string) => filterOf(ctx, name, FIELD_CHARACTERS_MAX).trim()
  const action = field('action')
  return {
    action: auditActions.some((each) => each === action) ? action : '',
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
