import type { DocumentTables } from './document-tables.ts'
import type { GrantTables } from './grant-tables.ts'
import type { OauthTables } from './oauth-tables.ts'

/**
 * The tables as TypeScript sees them: one interface per table, column names as in the database.
 * `migrations/*.sql` is the truth, and the store's tests compare the two. Every `*_at` is epoch
 * milliseconds.
 */

export type SiteRole = 'owner' | 'admin' | 'lecturer' | 'student'
export type NotificationChannel = 'inbox' | 'email'

interface PersonTable {
  id: string
  email: string
  email_canonical: string
  name: string
  picture: string | null
  password_hash: string | null
  disabled_at: number | null
  created_at: number
}

interface SiteTable {
  id: string
  slug: string
  name: string
  created_at: number
}

interface SiteRoleTable {
  person_id: string
  site_id: string
  role: SiteRole
  granted_at: number
}

interface SiteFeatureTable {
  site_id: string
  feature: string
  enabled_at: number
}

interface CourseTable {
  id: string
  site_id: string
  slug: string
  title: string
  summary: string
  published_at: number | null
  created_at: number
}

interface LectureTable {
  id: string
  course_id: string
  position: number
  title: string
  duration_seconds: number
}

interface CourseLecturerTable {
  course_id: string
  person_id: string
}

interface WatchPositionTable {
  person_id: string
  lecture_id: string
  position_seconds: number
  watched_at: number
}

interface DigitalProductTable {
  id: string
  site_id: string
  slug: string
  title: string
  summary: string
  file_name: string
  published_at: number | null
  created_at: number
}

interface ConsultingServiceTable {
  id: string
  site_id: string
  slug: string
  title: string
  summary: string
  duration_minutes: number
  published_at: number | null
  created_at: number
}

interface EventTable {
  id: string
  site_id: string
  slug: string
  title: string
  summary: string
  location: string | null
  starts_at: number
  ends_at: number
  published_at: number | null
  created_at: number
}

interface CustomerOrderTable {
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

interface CoursePurchaseTable {
  id: string
  person_id: string
  course_id: string
  order_id: string | null
  purchased_at: number
  expires_at: number | null
}

interface DigitalProductPurchaseTable {
  id: string
  person_id: string
  digital_product_id: string
  order_id: string | null
  purchased_at: number
}

interface ConsultingServicePurchaseTable {
  id: string
  person_id: string
  consulting_service_id: string
  order_id: string | null
  purchased_at: number
  scheduled_at: number | null
}

interface EventRegistrationTable {
  id: string
  person_id: string
  event_id: string
  order_id: string | null
  registered_at: number
  cancelled_at: number | null
}

interface NotificationTable {
  id: string
  person_id: string
  site_id: string
  topic: string
  title: string
  body: string
  link: string | null
  created_at: number
  read_at: number | null
}

interface NotificationSubscriptionTable {
  id: string
  person_id: string
  site_id: string
  topic: string
  channel: NotificationChannel
  enabled_at: number | null
}

interface AuditEventTable {
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
}

interface SettingTable {
  name: string
  value: string
  updated_at: number
}

/** Written by the migrator alone. */
interface SchemaMigrationTable {
  name: string
  digest: string
  applied_at: number
}

export interface Schema extends GrantTables, DocumentTables, OauthTables {
  person: PersonTable
  site: SiteTable
  site_role: SiteRoleTable
  site_feature: SiteFeatureTable
  course: CourseTable
  lecture: LectureTable
  course_lecturer: CourseLecturerTable
  watch_position: WatchPositionTable
  digital_product: DigitalProductTable
  consulting_service: ConsultingServiceTable
  event: EventTable
  customer_order: CustomerOrderTable
  course_purchase: CoursePurchaseTable
  digital_product_purchase: DigitalProductPurchaseTable
  consulting_service_purchase: ConsultingServicePurchaseTable
  event_registration: EventRegistrationTable
  notification: NotificationTable
  notification_subscription: NotificationSubscriptionTable
  audit_event: AuditEventTable
  setting: SettingTable
  schema_migration: SchemaMigrationTable
}
