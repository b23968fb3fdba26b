import { sql } from 'kysely'

import { CALL_DAYS, dayOf } from '../../src/oauth/grants/grant-store.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { keeping } from './clean-up.ts'

export interface Filling {
  /** Expired rows of each kind, and a tenth as many that live; a multiple of ten. */
  readonly rows: number
  readonly nowMs: number
}

// biome-ignore lint/style/noProcessEnv: CLEAN_UP_ROWS=1000000 is for a person who has half an hour
const { CLEAN_UP_ROWS: wanted } = process.env

/** How many rows of each kind are many: ten times what a statement removes at most. */
export const manyRows = wanted === undefined ? 10_000 : Number(wanted)

const YEAR_MS = 365 * 86_400_000

/** The rows belong together as they are; to look each up would take longer than to write it. */
const unchecked = {
  sqlite: { begin: 'pragma foreign_keys = off', end: 'pragma foreign_keys = on' },
  postgres: {
    begin: 'set session_replication_role = replica',
    end: 'set session_replication_role = default',
  },
} as const

/**
 * Fills every table of which rows expire, in an empty database. Each grant has a scope and a day, and
 * each that lives has a family, and ten days and families that are over.
 */
export async function fillExpiring(database: Database, filling: Filling): Promise<void> {
  const { rows, nowMs } = filling
  const lastDay = dayOf(nowMs) - CALL_DAYS
  const auditMs = keeping.auditDays * 86_400_000
  const upTo = (last: number) =>
    `with recursive n (i) as (select cast(1 as bigint) union all select i + 1 from n where i < ${last})`
  // A prime spreads what was made one after the other, as random ids do.
  const id = (name: string) =>
    `'${name}-' || cast((i * 7919) % 1000003 as text) || '-' || cast(i as text)`
  const grant = `'person', 'client', 'Client', 'site', '${'{}'.padEnd(200)}'`
  const family = `'${'s'.repeat(22)}', '{"scope":"openid","bound":false}', 1, '${nowMs}', 0`
  const document = `'${'{}'.padEnd(400)}', 'fingerprint', 0`
  const trusting = unchecked[database.engine]
  const statements = [
    `insert into person (id, email, email_canonical, name, created_at)
      values ('person', 'a@b', 'a@b', 'Somebody', 0)`,
    ...[
      [rows, 'old', `${nowMs} - i`],
      [rows / 10, 'new', `${nowMs + YEAR_MS} + i`],
    ].flatMap(([count, name, expiry]) => [
      `${upTo(Number(count))}
        insert into oauth_state (model, id, payload, expires_at)
        select 'AccessToken', ${id(String(name))}, '${'{}'.padEnd(400)}', ${expiry} from n`,
      `${upTo(Number(count))}
        insert into oauth_grant
          (person_id, client_id, client_name, client_origin, allowed, id, granted_at, expires_at)
        select ${grant}, ${id(String(name))}, 0, ${expiry} from n`,
      `${upTo(Number(count))}
        insert into platform_callback (client_id, uri, registered_at, expires_at)
        select 'client', ${id(String(name))}, 0, ${expiry} from n`,
      `${upTo(Number(count))}
        insert into unused_client (client_id, network, registered_at, expires_at)
        select ${id(String(name))}, 'network', 0, ${expiry} from n`,
      `${upTo(Number(count))}
        insert into signed_out_session (digest, signed_out_at, kept_until)
        select ${id(String(name))}, 0, ${expiry} from n`,
      `${upTo(Number(count))}
        insert into sign_out_notice
          (client_id, person_id, reason, created_at, attempts, id, next_attempt_at)
        select 'client', 'person', 'the client is disabled', 0, 0, ${id(String(name))},
          ${expiry} - 86400000 from n`,
      `${upTo(Number(count))}
        insert into request_count (key, points, ends_at)
        select ${id(String(name))}, 1, ${expiry} from n`,
      `${upTo(Number(count))}
        insert into audit_event (action, subject_kind, subject_id, id, occurred_at)
        select 'site.update', 'site', 'site', ${id(String(name))}, ${expiry} - ${auditMs} from n`,
      `${upTo(Number(count))}
        insert into change_key (site_id, client_id, digest, made_id, key, expires_at)
        select 'site', 'client', 'digest', 'made', ${id(String(name))}, ${expiry} from n`,
    ]),
    ...[
      [rows, 'old', lastDay],
      [rows / 10, 'new', lastDay + 1],
    ].map(
      ([count, name, day]) => `${upTo(Number(count))}
        insert into site_refusal_day (site_id, error, refusals, day)
        select ${id(String(name))}, 'invalid_grant', 1, ${day} from n`,
    ),
    `insert into oauth_grant_scope select id, 'openid' from oauth_grant`,
    `insert into oauth_grant_day select id, ${dayOf(nowMs)}, 1 from oauth_grant`,
    `${upTo(10)}
      insert into oauth_grant_day
      select id, ${lastDay} + 1 - i, 1 from oauth_grant, n where id like 'new%'`,
    `insert into refresh_token_family
        (seed, token, generation, steps, started_at, id, grant_id, kept_until)
      select ${family}, 'last-' || id, id, ${nowMs + YEAR_MS} from oauth_grant where id like 'new%'`,
    `${upTo(10)}
      insert into refresh_token_family
        (seed, token, generation, steps, started_at, id, grant_id, kept_until)
      select ${family}, cast(i as text) || '-' || id, id, ${nowMs} - i
      from oauth_grant, n where id like 'new%'`,
    `${upTo(10)}
      insert into relying_party_session
        (client_id, person_id, started_at, family_id, grant_id, expires_at)
      select 'client', 'person', 0, cast(i as text) || '-' || id, id, ${nowMs} - i
      from oauth_grant, n where id like 'new%'`,
    `insert into relying_party_session
        (client_id, person_id, started_at, family_id, grant_id, expires_at)
      select 'client', 'person', 0, 'last-' || id, id, ${nowMs + YEAR_MS}
      from oauth_grant where id like 'new%'`,
    ...[
      [rows, 'old', 0, 'null'],
      [rows / 10, 'new', nowMs, 'null'],
      [rows / 10, 'reviewed', 0, "'approved'"],
    ].map(
      ([count, name, fetchedMs, review]) => `${upTo(Number(count))}
        insert into document_client
          (document, fingerprint, first_seen_at, client_id, fetched_at, fresh_until, review)
        select ${document}, ${id(String(name))}, ${fetchedMs} + i, 0, ${review} from n`,
    ),
  ]
  await database.kysely.connection().execute(async (connection) => {
    for (const statement of [trusting.begin, ...statements, trusting.end]) {
      await sql.raw(statement).execute(connection)
    }
  })
}

/** What is left of it once everything was removed. */
export function livingRows(rows: number): Record<string, number> {
  return {
    audit_event: rows / 10,
    site_refusal_day: rows / 10,
    change_key: rows / 10,
    platform_callback: rows / 10,
    unused_client: rows / 10,
    sign_out_notice: rows / 10,
    request_count: rows / 10,
    oauth_state: rows / 10,
    oauth_grant: rows / 10,
    oauth_grant_scope: rows / 10,
    oauth_grant_day: rows / 10,
    refresh_token_family: rows / 10,
    relying_party_session: rows / 10,
    document_client: rows / 5,
  }
}
