import type { CampusRows } from './rows.ts'
import type { Campus } from './shape.ts'

type Table = keyof CampusRows & string

/** A list within a record, whose entries are rows of their own. */
export interface InnerList {
  readonly field: string
  readonly table: Table
  /** The column that names the record. */
  readonly parent: string
  readonly key: readonly string[]
  /** The number of an entry among the others, where their order means something. */
  readonly position?: 'position'
}

/** One kind of record: a line of an import, and the rows that it is in the database. */
export interface Kind {
  readonly list: keyof Campus
  readonly table: Table
  readonly key: readonly string[]
  readonly inner?: readonly InnerList[]
  /** Whether a line may say that it is gone. What people and sites are made of only ends otherwise. */
  readonly deletable?: true
}

const byId = ['id'] as const
const bought = (list: keyof Campus, table: Table): Kind => ({
  ...{ list, table, key: byId, deletable: true },
})

/**
 * Every kind of record, parents before their children: what a platform keeps and Gatehouse serves.
 * Grants, tokens, signing keys and the audit trail are no data of a platform; a backup has them.
 */
export const kinds = {
  site: {
    ...{ list: 'sites', table: 'site', key: byId },
    inner: [
      { field: 'features', table: 'site_feature', parent: 'site_id', key: ['site_id', 'feature'] },
    ],
  },
  person: {
    ...{ list: 'people', table: 'person', key: byId },
    inner: [
      {
        ...{ field: 'roles', table: 'site_role', parent: 'person_id' },
        key: ['person_id', 'site_id', 'role'],
      },
    ],
  },
  course: {
    ...{ list: 'courses', table: 'course', key: byId },
    inner: [
      {
        ...{ field: 'sections', table: 'section', parent: 'course_id', key: byId },
        position: 'position',
      },
      {
        ...{ field: 'lectures', table: 'lecture', parent: 'course_id', key: byId },
        position: 'position',
      },
      {
        ...{ field: 'lecturers', table: 'course_lecturer', parent: 'course_id' },
        key: ['course_id', 'person_id'],
      },
    ],
  },
  file: { list: 'files', table: 'stored_file', key: byId },
  appearance: { list: 'appearances', table: 'site_appearance', key: ['site_id'] },
  digitalProduct: { list: 'digitalProducts', table: 'digital_product', key: byId },
  consultingService: { list: 'consultingServices', table: 'consulting_service', key: byId },
  event: { list: 'events', table: 'event', key: byId },
  order: { list: 'orders', table: 'customer_order', key: byId, deletable: true },
  coursePurchase: bought('coursePurchases', 'course_purchase'),
  digitalProductPurchase: bought('digitalProductPurchases', 'digital_product_purchase'),
  consultingServicePurchase: bought('consultingServicePurchases', 'consulting_service_purchase'),
  eventRegistration: bought('eventRegistrations', 'event_registration'),
  watchPosition: {
    ...{ list: 'watchPositions', table: 'watch_position', key: ['person_id', 'lecture_id'] },
  },
  post: bought('posts', 'post'),
  notification: bought('notifications', 'notification'),
  notificationSubscription: bought('notificationSubscriptions', 'notification_subscription'),
  application: {
    ...{ list: 'applications', table: 'oauth_application', key: ['client_id'] },
    inner: [
      {
        ...{ field: 'redirectUris', table: 'oauth_application_redirect_uri' },
        ...{ parent: 'client_id', key: ['client_id', 'uri'], position: 'position' },
      },
      {
        ...{ field: 'postLogoutRedirectUris', table: 'oauth_application_post_logout_uri' },
        ...{ parent: 'client_id', key: ['client_id', 'uri'] },
      },
      {
        ...{ field: 'scopes', table: 'oauth_application_scope' },
        ...{ parent: 'client_id', key: ['client_id', 'scope'] },
      },
      {
        ...{ field: 'secrets', table: 'client_secret' },
        ...{ parent: 'client_id', key: byId },
      },
    ],
  },
} as const satisfies Record<string, Kind>

export type KindName = keyof typeof kinds

export const kindNames = Object.keys(kinds) as KindName[]

/** A kind, with all that it may have; `kinds` says what each of them has. */
export function kindOf(name: KindName): Kind {
  return kinds[name]
}

export function isKindName(name: unknown): name is KindName {
  return typeof name === 'string' && Object.hasOwn(kinds, name)
}
