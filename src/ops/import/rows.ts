import type { InsertObject } from 'kysely'

import { canonicalEmail } from '../../directory/people/email-address.ts'
import { digestSecret, hintOf } from '../../oauth/clients/secret.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { references } from './references.ts'
import type { Campus } from './shape.ts'
import { resolveTime } from './time.ts'

interface Loading {
  readonly nowMs: number
  /** The password hash of a person's id; who has no password has none. */
  readonly passwordHashes: ReadonlyMap<string, string>
}

export type CampusRows = ReturnType<typeof campusRows>

/** What the schema takes, so that neither a column that is missing nor a misspelled table gets by. */
type TableRows = { readonly [Table in keyof Schema]?: readonly InsertObject<Schema, Table>[] }

/** The rows that a campus becomes when it is loaded, by table, parents before their children. */
export function campusRows(campus: Campus, { nowMs, passwordHashes }: Loading) {
  const columns = columnsAt(nowMs)
  return {
    site: campus.sites.map(columns),
    site_feature: campus.sites.flatMap(({ id, features }) =>
      features.map((feature) => columns({ site: id, ...feature })),
    ),
    person: campus.people.map(({ password, passwordHash, accessEndedAt, ...person }) => ({
      ...columns(person),
      email_canonical: canonicalEmail(person.email),
      password_hash: passwordHashes.get(person.id) ?? passwordHash,
    })),
    site_role: campus.people.flatMap(({ id, roles }) =>
      roles.map((role) => columns({ person: id, ...role })),
    ),
    course: campus.courses.map(columns),
    section: campus.courses.flatMap(({ id, sections, createdAt }) =>
      sections.map((section, index) => ({
        ...columns({ ...section, createdAt }),
        course_id: id,
        position: index + 1,
      })),
    ),
    lecture: campus.courses.flatMap(({ id, lectures }) =>
      lectures.map((lecture, index) => ({
        ...columns(lecture),
        course_id: id,
        position: index + 1,
      })),
    ),
    course_lecturer: campus.courses.flatMap(({ id, lecturers }) =>
      lecturers.map((lecturer) => ({ course_id: id, person_id: lecturer })),
    ),
    watch_position: campus.watchPositions.map(columns),
    stored_file: campus.files.map(columns),
    site_appearance: campus.appearances.map(columns),
    digital_product: campus.digitalProducts.map(columns),
    consulting_service: campus.consultingServices.map(columns),
    event: campus.events.map(({ durationMinutes, endsAt, ...event }) => {
      const row = columns(event)
      const { ends_at } = columns({ endsAt })
      return { ...row, ends_at: ends_at ?? row.starts_at + (durationMinutes ?? 0) * 60_000 }
    }),
    customer_order: campus.orders.map(columns),
    course_purchase: campus.coursePurchases.map(columns),
    digital_product_purchase: campus.digitalProductPurchases.map(columns),
    consulting_service_purchase: campus.consultingServicePurchases.map(columns),
    event_registration: campus.eventRegistrations.map(columns),
    post: campus.posts.map((post) => {
      const row = columns(post)
      // What was published is in the inboxes, which are imported too.
      return { ...row, delivered_at: row.published_at }
    }),
    notification: campus.notifications.map(columns),
    notification_subscription: campus.notificationSubscriptions.map(columns),
    ...applicationRows(campus, columns),
  } satisfies TableRows
}

function applicationRows({ applications }: Campus, columns: ReturnType<typeof columnsAt>) {
  return {
    oauth_application: applications.map(({ secret, secrets, ...row }) => ({
      ...columns(row),
      disabled_at: null,
      deleted_at: null,
    })),
    oauth_application_redirect_uri: applications.flatMap((row) =>
      row.redirectUris.map((uri, position) => ({ client_id: row.clientId, uri, position })),
    ),
    oauth_application_post_logout_uri: applications.flatMap((row) =>
      row.postLogoutRedirectUris.map((uri) => ({ client_id: row.clientId, uri })),
    ),
    oauth_application_scope: applications.flatMap((row) =>
      row.scopes.map((scope) => ({ client_id: row.clientId, scope })),
    ),
    client_secret: applications.flatMap(({ clientId, secret, secrets, createdAt }) => {
      const kept = secrets.map((row) => columns({ clientId, ...row }))
      if (secret === null) return kept
      const made = { id: `sec_${clientId}`, ...columns({ clientId, createdAt }), expires_at: null }
      return [...kept, { ...made, digest: digestSecret(secret), hint: hintOf(secret) }]
    }),
  }
}

type Column<Field extends string> = Field extends (typeof references)[number]
  ? `${Snake<Field>}_id`
  : Snake<Field>

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''

/** A list is no column: its entries are rows of their own. */
type Columns<Row> = {
  [Field in keyof Row & string as Row[Field] extends readonly unknown[]
    ? never
    : Column<Field>]: Field extends `${string}At` ? number | Extract<Row[Field], null> : Row[Field]
}

/**
 * The columns that the fields of a row become when the campus is loaded at `nowMs`: `fileName` is
 * `file_name`, `site` is `site_id` like all that names another row, and what ends in `At` is a time,
 * kept in milliseconds.
 */
function columnsAt(nowMs: number) {
  return <Row extends object>(row: Row): Columns<Row> => {
    const fields = Object.entries(row).filter(([, value]) => !Array.isArray(value))
    const columns = fields.map(([field, value]) => [
      columnOf(field),
      field.endsWith('At') && value !== null ? resolveTime(value, nowMs) : value,
    ])
    return Object.fromEntries(columns)
  }
}

/** The column that a field of a row becomes. */
export function columnOf(field: string): string {
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return references.some((name) => name === field) ? `${column}_id` : column
}
