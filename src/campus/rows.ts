import { digestSecret, hintOf } from '../clients/secret.ts'
import { canonicalEmail } from '../people/email-address.ts'
import type { Campus } from './shape.ts'
import { resolveTime } from './time.ts'

interface Loading {
  readonly nowMs: number
  /** The password hash of a person's id; who has no password has none. */
  readonly passwordHashes: ReadonlyMap<string, string>
}

export type CampusRows = ReturnType<typeof campusRows>

/** The rows that a campus becomes when it is loaded, by table, parents before their children. */
export function campusRows(campus: Campus, loading: Loading) {
  const time = (text: string) => resolveTime(text, loading.nowMs)
  return {
    ...peopleRows(campus, time, loading.passwordHashes),
    ...courseRows(campus, time),
    ...offerRows(campus, time),
    ...purchaseRows(campus, time),
    ...inboxRows(campus, time),
    ...applicationRows(campus, time),
  }
}

/** The epoch milliseconds of a time of the campus. */
type Time = (text: string) => number

function orNull(time: Time, text: string | null): number | null {
  return text === null ? null : time(text)
}

function peopleRows(campus: Campus, time: Time, passwordHashes: Loading['passwordHashes']) {
  return {
    site: campus.sites.map((site) => ({
      id: site.id,
      slug: site.slug,
      name: site.name,
      created_at: time(site.createdAt),
    })),
    site_feature: campus.sites.flatMap((site) =>
      site.features.map(({ feature, enabledAt }) => ({
        site_id: site.id,
        feature,
        enabled_at: time(enabledAt),
      })),
    ),
    person: campus.people.map((person) => ({
      id: person.id,
      email: person.email,
      email_canonical: canonicalEmail(person.email),
      name: person.name,
      picture: person.picture,
      password_hash: passwordHashes.get(person.id) ?? null,
      disabled_at: orNull(time, person.disabledAt),
      created_at: time(person.createdAt),
    })),
    site_role: campus.people.flatMap((person) =>
      person.roles.map(({ site, role, grantedAt }) => ({
        person_id: person.id,
        site_id: site,
        role,
        granted_at: time(grantedAt),
      })),
    ),
  }
}

function courseRows({ courses, watchPositions }: Campus, time: Time) {
  return {
    course: courses.map((course) => offerRow(course, time)),
    lecture: courses.flatMap((course) =>
      course.lectures.map((lecture, index) => ({
        id: lecture.id,
        course_id: course.id,
        position: index + 1,
        title: lecture.title,
        duration_seconds: lecture.durationSeconds,
      })),
    ),
    course_lecturer: courses.flatMap((course) =>
      course.lecturers.map((lecturer) => ({ course_id: course.id, person_id: lecturer })),
    ),
    watch_position: watchPositions.map((row) => ({
      person_id: row.person,
      lecture_id: row.lecture,
      position_seconds: row.positionSeconds,
      watched_at: time(row.watchedAt),
    })),
  }
}

function offerRows({ digitalProducts, consultingServices, events }: Campus, time: Time) {
  return {
    digital_product: digitalProducts.map((product) => ({
      ...offerRow(product, time),
      file_name: product.fileName,
    })),
    consulting_service: consultingServices.map((service) => ({
      ...offerRow(service, time),
      duration_minutes: service.durationMinutes,
    })),
    event: events.map((event) => ({
      ...offerRow(event, time),
      location: event.location,
      starts_at: time(event.startsAt),
      ends_at: time(event.startsAt) + event.durationMinutes * 60_000,
    })),
  }
}

/** The columns that everything on offer shares. */
function offerRow(
  offer: Pick<
    Campus['courses'][number],
    'id' | 'site' | 'slug' | 'title' | 'summary' | 'publishedAt' | 'createdAt'
  >,
  time: Time,
) {
  return {
    id: offer.id,
    site_id: offer.site,
    slug: offer.slug,
    title: offer.title,
    summary: offer.summary,
    published_at: orNull(time, offer.publishedAt),
    created_at: time(offer.createdAt),
  }
}

function purchaseRows(campus: Campus, time: Time) {
  return {
    customer_order: campus.orders.map((order) => ({
      id: order.id,
      site_id: order.site,
      person_id: order.person,
      number: order.number,
      coupon_code: order.couponCode,
      invoice_number: order.invoiceNumber,
      refunded_at: orNull(time, order.refundedAt),
      total_cents: order.totalCents,
      currency: order.currency,
      placed_at: time(order.placedAt),
    })),
    course_purchase: campus.coursePurchases.map((row) => ({
      ...boughtRow(row, time),
      course_id: row.course,
      expires_at: orNull(time, row.expiresAt),
    })),
    digital_product_purchase: campus.digitalProductPurchases.map((row) => ({
      ...boughtRow(row, time),
      digital_product_id: row.digitalProduct,
    })),
    consulting_service_purchase: campus.consultingServicePurchases.map((row) => ({
      ...boughtRow(row, time),
      consulting_service_id: row.consultingService,
      scheduled_at: orNull(time, row.scheduledAt),
    })),
    event_registration: campus.eventRegistrations.map((row) => ({
      id: row.id,
      person_id: row.person,
      event_id: row.event,
      order_id: row.order,
      registered_at: time(row.registeredAt),
      cancelled_at: orNull(time, row.cancelledAt),
    })),
  }
}

function boughtRow(
  row: Pick<Campus['coursePurchases'][number], 'id' | 'person' | 'order' | 'purchasedAt'>,
  time: Time,
) {
  return {
    id: row.id,
    person_id: row.person,
    order_id: row.order,
    purchased_at: time(row.purchasedAt),
  }
}

function inboxRows({ notifications, notificationSubscriptions }: Campus, time: Time) {
  return {
    notification: notifications.map((row) => ({
      id: row.id,
      person_id: row.person,
      site_id: row.site,
      topic: row.topic,
      title: row.title,
      body: row.body,
      link: row.link,
      created_at: time(row.createdAt),
      read_at: orNull(time, row.readAt),
    })),
    notification_subscription: notificationSubscriptions.map((row) => ({
      id: row.id,
      person_id: row.person,
      site_id: row.site,
      topic: row.topic,
      channel: row.channel,
      enabled_at: orNull(time, row.enabledAt),
    })),
  }
}

function applicationRows({ applications }: Campus, time: Time) {
  return {
    oauth_application: applications.map((row) => ({
      client_id: row.clientId,
      kind: row.kind,
      site_id: row.site,
      name: row.name,
      auth_method: row.authMethod,
      application_type: row.applicationType,
      created_by: row.createdBy,
      created_at: time(row.createdAt),
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
    client_secret: applications.flatMap((row) =>
      row.secret === null ? [] : [secretRow(row.clientId, row.secret, time(row.createdAt))],
    ),
  }
}

function secretRow(clientId: string, secret: string, createdAtMs: number) {
  return {
    id: `sec_${clientId}`,
    client_id: clientId,
    digest: digestSecret(secret),
    hint: hintOf(secret),
    created_at: createdAtMs,
    expires_at: null,
  }
}
