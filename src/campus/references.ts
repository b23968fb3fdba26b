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
type Fields = Readonly<Partial<Record<string, unknown>>>
type Named = readonly [path: string, kind: keyof KnownIds, id: string | null]

type KnownIds = ReturnType<typeof knownIds>

function knownIds(campus: Campus) {
  const ids = (rows: readonly { id: string }[]) => new Set(rows.map((row) => row.id))
  return {
    site: ids(campus.sites),
    person: ids(campus.people),
    course: ids(campus.courses),
    lecture: ids(campus.courses.flatMap((course) => course.lectures)),
    digitalProduct: ids(campus.digitalProducts),
    consultingService: ids(campus.consultingServices),
    event: ids(campus.events),
    order: ids(campus.orders),
  }
}

function unknownNames(campus: Campus): string[] {
  const known = knownIds(campus)
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
      for (const field of fields) {
        const id = (row as Fields)[field]
        yield [`${name}[${at}].${field}`, field, typeof id === 'string' ? id : null]
      }
    }
  }
}

/** The fields that no two rows of a list share, beside their id. */
const uniqueFields = {
  sites: ['slug'],
  people: ['email'],
  courses: ['site', 'slug'],
  digitalProducts: ['site', 'slug'],
  consultingServices: ['site', 'slug'],
  events: ['site', 'slug'],
  orders: ['site', 'number'],
  coursePurchases: ['person', 'course'],
  digitalProductPurchases: ['person', 'digitalProduct'],
  eventRegistrations: ['person', 'event'],
  watchPositions: ['person', 'lecture'],
  notificationSubscriptions: ['person', 'site', 'topic', 'channel'],
} as const satisfies Partial<Record<keyof Campus, readonly string[]>>

function repeatedKeys(campus: Campus): string[] {
  const lectures = campus.courses.flatMap((course) => course.lectures)
  const keyOf = (row: Fields, fields: readonly string[]) =>
    fields.map((field) => spelledOnce(field, String(row[field]))).join(' ')
  return [
    ...entriesOf(campus).flatMap(([name, rows]) => repeated<Identified>(name, rows, identifier)),
    ...repeated('lectures', lectures, identifier),
    ...entriesOf(uniqueFields).flatMap(([name, fields]) =>
      repeated<Fields>(name, campus[name], (row) => keyOf(row, fields)),
    ),
    ...repeatedWithin(campus),
  ]
}

/** Two spellings of an e-mail address are one account. */
function spelledOnce(field: string, value: string): string {
  return field === 'email' ? canonicalEmail(value) : value
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

  return entriesOf(boughtFields).flatMap(([list, field]) =>
    campus[list].flatMap((row: Bought, at) => {
      const order = orders.get(row.order ?? '')
      const site = siteOf.get(row[field] ?? '')
      if (order === undefined || site === undefined) return []
      if (order.person === row.person && order.site === site) return []
      return `${list}[${at}].order: ${order.id} is another person's order, or of another site`
    }),
  )
}

/** In which field of which list a row names what was bought. */
const boughtFields = {
  coursePurchases: 'course',
  digitalProductPurchases: 'digitalProduct',
  consultingServicePurchases: 'consultingService',
  eventRegistrations: 'event',
} as const satisfies Partial<Record<keyof Campus, keyof KnownIds>>

type Bought = { readonly person: string; readonly order: string | null } & {
  readonly [Field in (typeof boughtFields)[keyof typeof boughtFields]]?: string
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
    campus[name].flatMap((row: Fields, at) => {
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
