// The types of the tables. The files in `migrations` document the tables, and test/store/database.test.ts compares them
// with these types. Every `*_at` is in epoch milliseconds.

import type { Generated } from 'kysely'

import type { Created, OAuthTables } from './oauth-tables.ts'

/** Which changes by clients need an approval at a site (design 37). */
export type ApprovalCover = 'every' | 'destructive' | 'never'

export type SiteRole = 'owner' | 'admin' | 'lecturer' | 'student'
export type NotificationChannel = 'inbox' | 'email'
/** The kinds of messages in the outbox. */
export type MessageKind = 'mail' | 'webhook' | 'sign_out_notice'
export type OneTimeLinkKind =
  | 'recovery'
  | 'second_factor'
  | 'invitation'
  | 'address'
  | 'deletion'
  | 'upload'

interface CatalogueItem {
  id: string
  site_id: string
  slug: string
  title: string
  summary: string
  published_at: number | null
  created_at: number
}

interface Archivable {
  archived_at: number | null
  first_published_at: number | null
}

interface Purchase {
  id: string
  person_id: string
  order_id: string | null
}

export interface Schema extends OAuthTables {
  person: Created & {
    email: string
    email_canonical: string
    name: string
    picture: string | null
    email_verified_at: number | null
    preferred_username: string | null
    locale: string | null
    time_zone: string | null
    updated_at: number | null
    password_hash: string | null
    imported_hash_digest: string | null
    random_order: Generated<number>
    disabled_at: number | null
    imported_at: number | null
    signed_out_at: number | null
    deletion_due_at: number | null
    deleted_at: number | null
  }
  one_time_link: Created & {
    kind: OneTimeLinkKind
    email: string
    email_canonical: string
    person_id: string | null
    site_id: string | null
    data: string | null
    browser_digest: string | null
    code_attempts: Generated<number>
    expires_at: number
  }
  browser_session: {
    id: string
    person_id: string
    started_at: number
    authenticated_at: number
    acr: string
    provider_id: string | null
    site_id: string | null
    seen_at: number
    expires_at: number
    device: string
    network: string | null
  }
  passkey: Created & {
    person_id: string
    public_key: string
    counter: number
    name: string
    last_used_at: number | null
    last_challenge: string | null
    backed_up_at: number | null
    cloned_at: number | null
  }
  totp: {
    person_id: string
    sealed_secret: string
    confirmed_at: number
    last_step: number
    no_reset_before: number | null
  }
  recovery_code: { person_id: string; digest: string; created_at: number }
  linked_identity: {
    provider_id: string
    issuer: string
    subject: string
    person_id: string
    linked_at: number
    last_used_at: number
  }
  signed_out_session: { digest: string; signed_out_at: number; kept_until: number }
  platform_reviewer: { person_id: string; granted_at: number }
  site: Created & {
    slug: string
    name: string
    description: string | null
    contact_email: string | null
    address: string | null
    time_zone: string | null
    language: string | null
    languages: Generated<string>
  }
  site_role: { person_id: string; site_id: string; role: SiteRole; granted_at: number }
  identity_provider: Created & {
    site_id: string
    name: string
    issuer: string
    client_id: string
    sealed_secret: string
    role: 'student' | 'lecturer'
    /** The names that the provider uses for the claims about a person, as JSON. */
    claims: string
    domains: Generated<string>
  }
  site_feature: { site_id: string; feature: string; enabled_at: number }
  site_assurance: { site_id: string; areas: string; max_age_seconds: number | null }
  site_approval: {
    site_id: string
    covers: ApprovalCover
    integrations_exempt_since: number | null
  }
  pending_change: {
    id: string
    site_id: string
    person_id: string
    client_id: string
    operation: string
    arguments: string
    digest: string
    expires_at: number
    approved_at: number | null
  }
  section: Created & { course_id: string; position: number; title: string }
  stored_file: Created & {
    site_id: string
    name: string
    media_type: string
    size_bytes: number
    sha256: string
    created_by: string | null
  }
  site_appearance: {
    site_id: string
    display_name: string | null
    logo_file_id: string | null
    accent_color: string | null
    background_color: string | null
    sign_in_words: string | null
    consent_words: string | null
    texts: Generated<string>
    updated_at: number
  }
  post: Created & {
    site_id: string
    topic: string
    title: string
    body: string
    link: string | null
    created_by: string | null
    updated_at: number
    published_at: number | null
    delivered_to: string | null
    delivered_at: number | null
    removed_at: number | null
  }
  change_key: {
    site_id: string
    client_id: string
    key: string
    digest: string
    made_id: string
    expires_at: number
  }
  course: CatalogueItem & Archivable & { url: string | null; image_url: string | null }
  lecture: {
    id: string
    course_id: string
    section_id: string | null
    position: number
    title: string
    duration_seconds: number
  }
  course_lecturer: { course_id: string; person_id: string }
  watch_position: {
    person_id: string
    lecture_id: string
    position_seconds: number
    watched_at: number
  }
  digital_product: CatalogueItem & Archivable & { file_name: string; file_id: string | null }
  consulting_service: CatalogueItem & { duration_minutes: number }
  event: CatalogueItem &
    Archivable & {
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
  course_purchase: Purchase & { course_id: string; purchased_at: number; expires_at: number | null }
  digital_product_purchase: Purchase & { digital_product_id: string; purchased_at: number }
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
  notification: Created & {
    person_id: string
    site_id: string
    post_id: string | null
    topic: string
    title: string
    body: string
    link: string | null
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
    event_type: string | null
    subject_kind: string
    subject_id: string
    site_id: string | null
    before: string | null
    after: string | null
    request_id: string | null
    person_id: string | null
    client_id: string | null
    address: string | null
    reason: string | null
    times: number | null
    streamed_at: number | null
  }
  site_refusal_day: { site_id: string; day: number; error: string; refusals: number }
  person_word: { word: string; person_id: string; words: string }
  request_count: { key: string; points: number; ends_at: number }
  setting: { name: string; value: string; updated_at: number }
  schema_migration: { name: string; digest: string; applied_at: number; effect: string }
}
