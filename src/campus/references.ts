import { canonicalEmail } from '../people/email-address.ts'
import type { Campus } from './shape.ts'
import { isAfter } from './time.ts'

/**
 * What one row of a campus may not decide alone: that the names in it lead to another row, that
 * nothing is there twice, that an order belongs to whoever bought, and that time runs forward.
 */

/** Every broken reference of a campus as "path: what is wrong", in the order of the campus. */
export function referenceProblems(campus: Campus): string[] {
  return [
    ...unknownNames(campus),
    ...repeatedKeys(campus),
    ...foreignOrders(campus),
    ...wrongOrderOfTimes(campus),
    ...positionsBeyondTheEnd(campus),
  ]
}

type Identified = { readonly id?: string; readonly clientId?: string; readonly person?: string }
type Offer = { readonly site: string; readonly slug: string }
type Named = readonly [path: string, kind: keyof KnownIds, id: string | null]

interface KnownIds {
  readonly site: ReadonlySet<string>
  readonly person: ReadonlySet<string>
  readonly course: ReadonlySet<string>
  readonly lecture: ReadonlySet<string>
  readonly digitalProduct: ReadonlySet<string>
  readonly consultingService: ReadonlySet<string>
  readonly event: ReadonlySet<string>
  readonly order: ReadonlySet<string>
}

function unknownNames(campus: Campus): string[] {
  const ids = (rows: readonly { id: string }[]) => new Set(rows.map((row) => row.id))
  const known: KnownIds = {
    site: ids(campus.sites),
    person: ids(campus.people),
    course: ids(campus.courses),
    lecture: ids(campus.courses.flatMap((course) => course.lectures)),
    digitalProduct: ids(campus.digitalProducts),
    consultingService: ids(campus.consultingServices),
    event: ids(campus.events),
    order: ids(campus.orders),
  }
  return [...nestedNames(campus), ...rowNames(campus)]
    .filter(([, kind, id]) => id !== null && !known[kind].has(id))
    .map(([path, kind, id]) => `${path}: no ${kind} has the id ${id}`)
}

function* nestedNames({ people, courses, applications }: Campus): Generator<Named> {
  for (const [at, person] of people.entries()) {
    for (const [index, role] of person.roles.entries()) {
      yield [`people[${at}].roles[${index}].site`, 'site', role.site]
    }
  }
  for (const [at, course] of courses.entries()) {
    for (const [index, lecturer] of course.lecturers.entries()) {
      yield [`courses[${at}].lecturers[${index}]`, 'person', lecturer]
    }
  }
  for (const [at, application] of applications.entries()) {
    yield [`applications[${at}].createdBy`, 'person', application.createdBy]
  }
}

/** In which field of which list a row names a row of another kind; the field is called like it. */
const namingFields = {
  courses: ['site'],
  digitalProducts: ['site'],
  consultingServices: ['site'],
  events: ['site'],
  orders: ['site', 'person'],
  coursePurchases: ['person', 'course', 'order'],
  digitalProductPurchases: ['person', 'digitalProduct', 'order'],
  consultingServicePurchases: ['person', 'consultingService', 'order'],
  eventRegistrations: ['person', 'event', 'order'],
  watchPositions: ['person', 'lecture'],
  notifications: ['person', 'site'],
  notificationSubscriptions: ['person', 'site'],
  applications: ['site'],
} as const satisfies Partial<Record<keyof Campus, readonly (keyof KnownIds)[]>>

function* rowNames(campus: Campus): Generator<Named> {
  for (const [name, fields] of entriesOf(namingFields)) {
    for (const [at, row] of campus[name].entries()) {
      const values: Partial<Record<keyof KnownIds, unknown>> = row
      for (const field of fields) {
        const id = values[field]
        yield [`${name}[${at}].${field}`, field, typeof id === 'string' ? id : null]
      }
    }
  }
}

function repeatedKeys(campus: Campus): string[] {
  const lectures = campus.courses.flatMap((course) => course.lectures)
  const offers = [
    ['courses', campus.courses],
    ['digitalProducts', campus.digitalProducts],
    ['consultingServices', campus.consultingServices],
    ['events', campus.events],
  ] as const
  const subscription = (row: Campus['notificationSubscriptions'][number]) =>
    `${row.person} ${row.site} ${row.topic} ${row.channel}`

  return [
    ...entriesOf(campus).flatMap(([name, rows]) => repeated<Identified>(name, rows, identifier)),
    ...repeated('lectures', lectures, identifier),
    ...repeated('sites', campus.sites, (row) => row.slug),
    ...repeated('people', campus.people, (row) => canonicalEmail(row.email)),
    ...offers.flatMap(([name, rows]) =>
      repeated<Offer>(name, rows, (row) => `${row.site} ${row.slug}`),
    ),
    ...repeated('orders', campus.orders, (row) => `${row.site} ${row.number}`),
    ...repeated('coursePurchases', campus.coursePurchases, (row) => `${row.person} ${row.course}`),
    ...repeated(
      'digitalProductPurchases',
      campus.digitalProductPurchases,
      (row) => `${row.person} ${row.digitalProduct}`,
    ),
    ...repeated('eventRegistrations', campus.eventRegistrations, (r) => `${r.person} ${r.event}`),
    ...repeated('watchPositions', campus.watchPositions, (row) => `${row.person} ${row.lecture}`),
    ...repeated('notificationSubscriptions', campus.notificationSubscriptions, subscription),
    ...repeatedWithin(campus),
  ]
}

function repeatedWithin({ sites, people, courses, applications }: Campus): string[] {
  const self = (value: string) => value
  return [
    ...sites.flatMap((row, at) =>
      repeated(`sites[${at}].features`, row.features, (f) => f.feature),
    ),
    ...people.flatMap((row, at) =>
      repeated(`people[${at}].roles`, row.roles, ({ site, role }) => `${site} ${role}`),
    ),
    ...courses.flatMap((row, at) => repeated(`courses[${at}].lecturers`, row.lecturers, self)),
    ...applications.flatMap((row, at) =>
      (['redirectUris', 'postLogoutRedirectUris', 'scopes'] as const).flatMap((field) =>
        repeated(`applications[${at}].${field}`, row[field], self),
      ),
    ),
  ]
}

/** A watch position has no name of its own. */
function identifier(row: Identified): string | undefined {
  return row.id ?? row.clientId
}

function repeated<T>(
  name: string,
  rows: readonly T[],
  keyOf: (row: T) => string | undefined,
): string[] {
  const seen = new Set<string>()
  return rows.flatMap((row, at) => {
    const key = keyOf(row)
    if (key === undefined) return []
    if (seen.has(key)) return [`${name}[${at}]: ${key} is there twice`]
    seen.add(key)
    return []
  })
}

/** A purchase that named another person's order would show one member's record to the other. */
function foreignOrders(campus: Campus): string[] {
  const orders = new Map(campus.orders.map((order) => [order.id, order]))
  const offers = [
    ...campus.courses,
    ...campus.digitalProducts,
    ...campus.consultingServices,
    ...campus.events,
  ]
  const siteOf = new Map(offers.map((offer) => [offer.id, offer.site]))

  return boughtRows(campus).flatMap(({ path, person, order: orderId, offer }) => {
    const order = orderId === null ? undefined : orders.get(orderId)
    const site = siteOf.get(offer)
    if (order === undefined || site === undefined) return []
    if (order.person === person && order.site === site) return []
    return [`${path}.order: ${order.id} is another person's order, or of another site`]
  })
}

function boughtRows(campus: Campus) {
  const rows = <T extends { person: string; order: string | null }>(
    name: string,
    list: readonly T[],
    offerOf: (row: T) => string,
  ) => list.map((row, at) => ({ ...row, path: `${name}[${at}]`, offer: offerOf(row) }))
  return [
    ...rows('coursePurchases', campus.coursePurchases, (row) => row.course),
    ...rows('digitalProductPurchases', campus.digitalProductPurchases, (r) => r.digitalProduct),
    ...rows(
      'consultingServicePurchases',
      campus.consultingServicePurchases,
      (row) => row.consultingService,
    ),
    ...rows('eventRegistrations', campus.eventRegistrations, (row) => row.event),
  ]
}

/** Which of two times of a row comes first. */
const timesInOrder = [
  ['people', 'createdAt', 'disabledAt'],
  ['orders', 'placedAt', 'refundedAt'],
  ['coursePurchases', 'purchasedAt', 'expiresAt'],
  ['eventRegistrations', 'registeredAt', 'cancelledAt'],
  ['notifications', 'createdAt', 'readAt'],
] as const

function wrongOrderOfTimes(campus: Campus): string[] {
  return timesInOrder.flatMap(([name, first, second]) =>
    campus[name].flatMap((row: Partial<Record<string, unknown>>, at) => {
      const [from, to] = [row[first], row[second]]
      if (typeof from !== 'string' || typeof to !== 'string' || !isAfter(from, to)) return []
      return [`${name}[${at}].${second}: "${to}" is before ${first}, "${from}"`]
    }),
  )
}

function positionsBeyondTheEnd({ courses, watchPositions }: Campus): string[] {
  const lectures = courses.flatMap((course) => course.lectures)
  const durations = new Map(lectures.map((lecture) => [lecture.id, lecture.durationSeconds]))
  return watchPositions.flatMap(({ lecture, positionSeconds }, at) => {
    const end = durations.get(lecture)
    if (end === undefined || positionSeconds <= end) return []
    return [`watchPositions[${at}].positionSeconds: ${lecture} ends after ${end} seconds`]
  })
}

function entriesOf<T extends object>(table: T): [keyof T & string, T[keyof T & string]][] {
  return Object.entries(table) as [keyof T & string, T[keyof T & string]][]
}
