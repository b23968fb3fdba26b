import type { DocumentTables } from './document-tables.ts'
import type { GrantTables } from './grant-tables.ts'
import type { OauthTables } from './oauth-tables.ts'
import type { OperatedTables } from './operated-tables.ts'

/**
 * The tables as TypeScript sees them, with names and columns as in the database.
 * `migrations/*.sql` is the truth, and the store's tests compare the two. Every `*_at` is epoch
 * milliseconds.
 */

export type SiteRole = 'owner' | 'admin' | 'lecturer' | 'student'
export type NotificationChannel = 'inbox' | 'email'

/** What a person can buy, or register for, at a site. */
interface CatalogueItem {
  id: string
  site_id: string
  slug: string
  title: string
  summary: string
  published_at: number | null
  created_at: number
}

/** That a person did so; the order holds what no surface may show. */
interface Purchase {
  id: string
  person_id: string
  order_id: string | null
}

export interface Schema extends GrantTables, DocumentTables, OauthTables, OperatedTables {
  person: {
    id: string
    email: string
    email_canonical: string
    name: string
    picture: string | null
    /** Since when the address is known to be the person's. */
    email_verified_at: number | null
    preferred_username: string | null
    locale: string | null
    time_zone: string | null
    /** When the platform last changed the person's data. */
    updated_at: number | null
    password_hash: string | null
    disabled_at: number | null
    created_at: number
  }
  site: {
    id: string
    slug: string
    name: string
    description: string | null
    contact_email: string | null
    address: string | null
    time_zone: string | null
    language: string | null
    created_at: number
  }
  site_role: {
    person_id: string
    site_id: string
    role: SiteRole
    granted_at: number
  }
  site_feature: {
    site_id: string
    feature: string
    enabled_at: number
  }
  course: CatalogueItem & {
    archived_at: number | null
    url: string | null
    image_url: string | null
  }
  lecture: {
    id: string
    course_id: string
    section_id: string | null
    position: number
    title: string
    duration_seconds: number
  }
  course_lecturer: {
    course_id: string
    person_id: string
  }
  watch_position: {
    person_id: string
    lecture_id: string
    position_seconds: number
    watched_at: number
  }
  digital_product: CatalogueItem & {
    archived_at: number | null
    file_name: string
    file_id: string | null
  }
  consulting_service: CatalogueItem & { duration_minutes: number }
  event: CatalogueItem & {
    archived_at: number | null
    location: string | null
    join_url: string | null
    starts_at: number
    ends_at: number
  }
  customer_order: {
    id: string
    site_id: string
    person_id: string
    number: string
    coupon_code: string | null
    invoice_number: string | null
    refunded_at: number | null
    total_cents: number
    currency: string
    placed_at: number
  }
  course_purchase: Purchase & {
    course_id: string
    purchased_at: number
    expires_at: number | null
  }
  digital_product_purchase: Purchase & {
    digital_product_id: string
    purchased_at: number
  }
  consulting_service_purchase: Purchase & {
    consulting_service_id: string
    purchased_at: number
    scheduled_at: number | null
  }
  event_registration: Purchase & {
    event_id: string
    registered_at: number
    cancelled_at: number | null
  }
  notification: {
    id: string
    person_id: string
    site_id: string
    post_id: string | null
    topic: string
    title: string
    body: string
    link: string | null
    created_at: number
    read_at: number | null
  }
  notification_subscription: {
    id: string
    person_id: string
    site_id: string
    topic: string
    channel: NotificationChannel
    enabled_at: number | null
  }
  audit_event: {
    id: string
    occurred_at: number
    actor_person_id: string | null
    action: string
    subject_kind: string
    subject_id: string
    site_id: string | null
    before: string | null
    after: string | null
    request_id: string | null
    /** Whom it is about, where that is not who did it. */
    person_id: string | null
    client_id: string | null
    address: string | null
    reason: string | null
    /** How many of the same one row stands for; nothing is one. */
    times: number | null
    streamed_at: number | null
  }
  site_refusal_day: {
    site_id: string
    day: number
    error: string
    refusals: number
  }
  setting: {
    name: string
    value: string
    updated_at: number
  }
  /** Written by the migrator alone. */
  schema_migration: {
    name: string
    digest: string
    applied_at: number
    /** `expand` or `contract` (`migration-effect.ts`). */
    effect: string | null
  }
}
