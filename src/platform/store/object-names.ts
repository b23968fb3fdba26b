import { type Kysely, sql } from 'kysely'

import type { Schema } from './schema.ts'

const ofSite = 'site_id = (select id from own)'
const ofCourse = `course_id in (select id from course where ${ofSite})`
const enrolment = `(select e.id, p.name || ', ' || c.title as name, c.site_id from course_purchase e
  join person p on p.id = e.person_id join course c on c.id = e.course_id) as enrolment`
const registration = `(select r.id, p.name || ', ' || e.title as name, e.site_id from event_registration r
  join person p on p.id = r.person_id join event e on e.id = r.event_id) as registration`
const invitation = `(select id, email_canonical as name, site_id from one_time_link
  where kind = 'invitation') as invitation`

/** The kinds of named objects: the table, its id and name columns, and the condition for objects of a site. */
const named: readonly (readonly [table: string, id: string, name: string, scope: string])[] = [
  ...['course', 'digital_product', 'event', 'post'].map(
    (table) => [table, 'id', 'title', ofSite] as const,
  ),
  ...['lecture', 'section'].map((table) => [table, 'id', 'title', ofCourse] as const),
  ['person', 'id', 'name', `id in (select person_id from site_role where ${ofSite})`],
  ['oauth_application', 'client_id', 'name', ofSite],
  ['webhook_endpoint', 'id', 'url', ofSite],
  ...['stored_file', enrolment, registration, invitation].map(
    (table) => [table, 'id', 'name', ofSite] as const,
  ),
]

/** Finds the current names of objects by their ids. With `siteId`, finds only the site's objects and members. */
export async function findNames(kysely: Kysely<Schema>, ids: readonly string[], siteId?: string) {
  const wanted = [...new Set(ids)].map((id) => sql`(${id})`)
  if (wanted.length === 0) return new Map<string, string>()
  const each = named.map(([table, id, name, scope]) => {
    const ofWanted = `select ${id} as id, ${name} as name from ${table} where ${id} in (select id from wanted)`
    return sql.raw(siteId === undefined ? ofWanted : `${ofWanted} and ${scope}`)
  })
  const { rows } = await sql<{ id: string; name: string }>`
    with wanted (id) as (values ${sql.join(wanted)}), own (id) as (values (${siteId ?? ''}))
    ${sql.join(each, sql` union all `)}`.execute(kysely)
  return new Map(rows.map(({ id, name }) => [id, name]))
}
