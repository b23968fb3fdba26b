import { sql } from 'kysely'

import { COUNT_DAYS, dayOf } from '../../src/oauth/grants/grant-store.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { usualRetention } from './clean-up.ts'

// biome-ignore lint/style/noProcessEnv: a run chooses its number of rows; a million take half an hour
const { CLEAN_UP_ROWS: wanted } = process.env

/** The number of rows; by default, ten times the maximum per statement. */
export const manyRows = wanted === undefined ? 10_000 : Number(wanted)

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS

/** Statements that switch foreign keys off and on, because checking the references takes longer than the inserts. */
const unchecked = {
  sqlite: ['pragma foreign_keys = off', 'pragma foreign_keys = on'],
  postgres: ['set session_replication_role = replica', 'set session_replication_role = default'],
} as const

const payload = `'${'{}'.padEnd(400)}'`
const grant = `'person', 'client', 'Client', 'site', '${'{}'.padEnd(200)}'`

const byTime = (id: string, expiry: string) => [
  `oauth_state (model, id, payload, expires_at) select 'AccessToken', ${id}, ${payload}, ${expiry}`,
  `oauth_grant
    (person_id, client_id, client_name, client_origin, allowed, id, granted_at, expires_at)
    select ${grant}, ${id}, 0, ${expiry}`,
  `platform_callback (client_id, uri, registered_at, expires_at)
    select 'client', ${id}, 0, ${expiry}`,
  `unused_client (client_id, network, registered_at, expires_at)
    select ${id}, 'network', 0, ${expiry}`,
  `browser_session (person_id, started_at, authenticated_at, acr, seen_at, device, id, expires_at)
    select 'person', 0, 0, 'acr', 0, 'Firefox', ${id}, ${expiry}`,
  `signed_out_session (digest, signed_out_at, kept_until) select ${id}, 0, ${expiry}`,
  `one_time_link (kind, email, email_canonical, created_at, id, expires_at)
    select 'recovery', '', '', 0, ${id}, ${expiry}`,
  `webhook_delivery (endpoint_id, event_id, type, duration_ms, id, attempted_at)
    select 'endpoint', 'event', 'type', 0, ${id}, ${expiry} - ${30 * DAY_MS}`,
  `request_count (key, points, ends_at) select ${id}, 1, ${expiry}`,
  `audit_event (action, subject_kind, subject_id, id, occurred_at)
    select 'site.update', 'site', 'site', ${id}, ${expiry} - ${usualRetention.auditDays * DAY_MS}`,
  `change_key (site_id, client_id, digest, made_id, key, expires_at)
    select 'site', 'client', 'digest', 'made', ${id}, ${expiry}`,
  `pending_change (site_id, person_id, client_id, operation, arguments, digest, id, expires_at)
    select 'site', 'person', 'client', 'publishCourse', '{}', ${id}, ${id}, ${expiry}`,
]

/** Adds `rows` expired rows (a multiple of ten), and fewer unexpired rows, to each table that the clean-up covers. */
export async function fillExpiring(
  database: Database,
  { rows, nowMs }: { readonly rows: number; readonly nowMs: number },
): Promise<void> {
  const lastDay = dayOf(nowMs) - COUNT_DAYS
  const many = (last: number, insert: string) =>
    `with recursive n (i) as (select cast(1 as bigint) union all select i + 1 from n where i < ${last})
      insert into ${insert}`
  // Multiplying by a prime scatters consecutive rows, as random ids would.
  const id = (name: string) =>
    `'${name}-' || cast((i * 7919) % 1000003 as text) || '-' || cast(i as text)`
  const family = `'${'s'.repeat(22)}', '{"scope":"openid","bound":false}', 1, '${nowMs}', 0`
  const families = `refresh_token_family
    (seed, token, generation, steps, started_at, id, grant_id, kept_until)`
  const sessions = `relying_party_session
    (client_id, person_id, started_at, family_id, grant_id, expires_at)`
  const living = "from oauth_grant where id like 'new%'"
  const livingMany = "from oauth_grant, n where id like 'new%'"
  const numbered = `cast(i as text) || '-' || id, id, ${nowMs} - i ${livingMany}`
  const documents = (count: number, name: string, fetchedMs: number, review: string) =>
    `${many(count, 'document_client')}
      (document, fingerprint, first_seen_at, client_id, fetched_at, fresh_until, review)
      select ${payload}, 'fingerprint', 0, ${id(name)}, ${fetchedMs} + i, 0, ${review} from n`
  const refusals = (count: number, name: string, day: number) =>
    `${many(count, 'site_refusal_day')} (site_id, error, refusals, day)
      select ${id(name)}, 'invalid_grant', 1, ${day} from n`
  const [begin, end] = unchecked[database.engine]
  const statements = [
    `insert into person (id, email, email_canonical, name, created_at)
      values ('person', 'a@b', 'a@b', 'Person', 0)`,
    ...byTime(id('old'), `${nowMs} - i`).map((row) => many(rows, `${row} from n`)),
    ...byTime(id('new'), `${nowMs + YEAR_MS} + i`).map((row) => many(rows / 10, `${row} from n`)),
    refusals(rows, 'old', lastDay),
    refusals(rows / 10, 'new', lastDay + 1),
    `insert into oauth_grant_scope select id, 'openid' from oauth_grant`,
    `insert into oauth_grant_day select id, ${dayOf(nowMs)}, 1 from oauth_grant`,
    many(10, `oauth_grant_day select id, ${lastDay} + 1 - i, 1 ${livingMany}`),
    `insert into ${families} select ${family}, 'last-' || id, id, ${nowMs + YEAR_MS} ${living}`,
    many(10, `${families} select ${family}, ${numbered}`),
    many(10, `${sessions} select 'client', 'person', 0, ${numbered}`),
    `insert into ${sessions}
      select 'client', 'person', 0, 'last-' || id, id, ${nowMs + YEAR_MS} ${living}`,
    documents(rows, 'old', 0, 'null'),
    documents(rows / 10, 'new', nowMs, 'null'),
    documents(rows / 10, 'reviewed', 0, "'approved'"),
  ]
  await database.kysely.connection().execute(async (connection) => {
    for (const statement of [begin, ...statements, end])
      await sql.raw(statement).execute(connection)
  })
}

export function livingRows(rows: number): Record<string, number> {
  const tables = [
    ...['audit_event', 'site_refusal_day', 'change_key', 'pending_change', 'platform_callback'],
    ...['unused_client', 'webhook_delivery', 'request_count', 'oauth_state'],
    ...['oauth_grant', 'oauth_grant_scope', 'oauth_grant_day', 'refresh_token_family'],
    'relying_party_session',
  ]
  const tenths = Object.fromEntries(tables.map((table) => [table, rows / 10]))
  return { ...tenths, person: 1, document_client: rows / 5 }
}
