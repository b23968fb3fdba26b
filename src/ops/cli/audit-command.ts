import type { Config } from '../../config/config.ts'
import { auditActions, describeAction } from '../../platform/audit/audit-actions.ts'
import {
  type AuditFilter,
  type FoundEvent,
  findEvents,
  findPersonId,
} from '../../platform/audit/audit-list.ts'
import { eventLine } from '../../platform/audit/audit-stream.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, type Page, readPage } from '../../platform/store/keyset.ts'
import { asOneLine, type Given } from './command-line.ts'
import { withDatabase } from './configured-stores.ts'

const EVENTS_PER_READ = 500
const DAY_MS = 86_400_000

/** `audit`: prints matching events, oldest first. Without `--since`, prints only those from the last 24 hours. */
export async function printAudit(config: Config, given: Given): Promise<undefined> {
  // A program that reads the output, such as `head`, may close the pipe early.
  process.stdout.on('error', () => process.exit())
  const lineOf = given.json ? eventLine : describeEvent
  await withDatabase(config, 'reads', async (database) => {
    const filter = await readFilter(database, given)
    for await (const event of byTime(database, filter)) process.stdout.write(`${lineOf(event)}\n`)
  })
}

async function* byTime(database: Database, filter: AuditFilter): AsyncGenerator<FoundEvent> {
  const order = orderBy('occurred_at', 'asc', 'e.occurred_at', 'e.id')
  let page: Page<FoundEvent> | undefined
  do {
    const request = { first: EVENTS_PER_READ, after: page?.places.at(-1) }
    page = await readPage(findEvents(database, filter), order, request)
    yield* page.rows
  } while (page.hasNextPage)
}

async function readFilter(database: Database, given: Given): Promise<AuditFilter> {
  const { action, client, site, person } = given
  if (action !== undefined && !auditActions.some((each) => each === action)) {
    throw new Error(`There is no action ${action}. Use one of ${auditActions.join(', ')}.`)
  }
  return {
    action,
    clientId: client,
    siteId: site === undefined ? undefined : await findSiteId(database, site),
    personId: person === undefined ? undefined : await findPersonId(database, person),
    fromMs: readTime('since', given.since) ?? Date.now() - DAY_MS,
    untilMs: readTime('until', given.until),
  }
}

async function findSiteId({ kysely }: Database, name: string): Promise<string> {
  const site = await kysely
    .selectFrom('site')
    .select('id')
    .where((eb) => eb.or({ id: name, slug: name }))
    .executeTakeFirst()
  if (!site) throw new Error(`There is no site ${name}. Use the id or slug of a site.`)
  return site.id
}

const units = { m: 60_000, h: 3_600_000, d: DAY_MS } as const

function readTime(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  if (unit !== undefined) return Date.now() - Number(count) * units[unit as keyof typeof units]
  const ms = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) {
    throw new Error(
      `--${option} must be a time like 2026-03-01T12:00:00Z, or a duration like 30m, 12h or 7d.`,
    )
  }
  return ms
}

function describeEvent(event: FoundEvent): string {
  const { actor_person_id, person_id } = event
  const who = actor_person_id === null ? 'unknown' : `${event.actor_name ?? ''} ${actor_person_id}`
  const facts = [
    ['about', person_id],
    ['client', event.client_id],
    ['site', event.site_id],
    ['from', event.address],
    ['because', event.reason],
    ['times', event.times],
    ['request', event.request_id],
  ]
  const known = facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${value}`)
  const subject = event.subject_id === '' ? '' : ` ${event.subject_id}`
  const what = `${who.trim()} ${describeAction(event.action)}${subject}`
  const time = new Date(event.occurred_at).toISOString()
  return asOneLine(`${time}  ${what}  (${known.join('; ')})`)
}
