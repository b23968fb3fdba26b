import { canonicalEmail } from '../../directory/people/email-address.ts'
import type { Campus } from './shape.ts'
import { isAfter } from './time.ts'

/**
 * What one row of a campus may not decide alone: that the names in it lead to another row, that
 * nothing is there twice, that an order belongs to whoever bought, and that time runs forward.
 */

/** Every broken reference of a campus as "path: what is wrong". */
export function referenceProblems(campus: Campus): string[] {
  const lists = [...listsOf(campus)]
  // One set is enough, because each kind of row has a prefix of its own.
  const ids = new Set(lists.flatMap(({ rows }) => rows.map((row) => row['id'])))
  const foreignOrder = foreignOrders(campus)
  return [
    ...lists.flatMap((list) => [
      ...unknownNames(list, ids),
      ...repeated(list, ['id']),
      ...repeated(list, ['clientId']),
      ...repeated(list, list.rule.unique ?? []),
      ...wrongOrderOfTimes(list),
      ...eachRow(list, foreignOrder),
    ]),
    ...positionsBeyondTheEnd(campus),
    ...idsOfTwoKinds(campus),
  ]
}

type Row = Readonly<Partial<Record<string, unknown>>>

/** Fields that hold the id of another row. */
export const references = [
  'site',
  'person',
  'course',
  'section',
  'lecture',
  'file',
  'digitalProduct',
  'consultingService',
  'event',
  'order',
  'post',
] as const

interface Rule<Field extends string = string> {
  /** Fields that no two rows have the same in, beside their id. */
  readonly unique?: readonly Field[]
  /** Two times of which the first comes first. */
  readonly inOrder?: readonly [first: Field, second: Field]
}

interface List {
  readonly path: string
  readonly rows: readonly Row[]
  readonly rule: Rule
  /** The fields that name another row, when they are not the usual ones. */
  readonly names?: readonly string[]
}

const offer: Rule<'site' | 'slug'> = { unique: ['site', 'slug'] }

export const rules: { readonly [Path in keyof Campus]: Rule<keyof Campus[Path][number] & string> } =
  {
    sites: { unique: ['slug'] },
    people: { unique: ['email'], inOrder: ['createdAt', 'disabledAt'] },
    courses: offer,
    files: {},
    appearances: { unique: ['site'] },
    digitalProducts: offer,
    consultingServices: offer,
    events: offer,
    orders: { unique: ['site', 'number'], inOrder: ['placedAt', 'refundedAt'] },
    coursePurchases: { unique: ['person', 'course'], inOrder: ['purchasedAt', 'expiresAt'] },
    digitalProductPurchases: { unique: ['person', 'digitalProduct'] },
    consultingServicePurchases: {},
    eventRegistrations: { unique: ['person', 'event'], inOrder: ['registeredAt', 'cancelledAt'] },
    watchPositions: { unique: ['person', 'lecture'] },
    posts: { inOrder: ['createdAt', 'publishedAt'] },
    notifications: { inOrder: ['createdAt', 'readAt'] },
    notificationSubscriptions: { unique: ['person', 'site', 'topic', 'channel'] },
    applications: {},
  }

/** The field in which a row of a list of plain texts has its text. */
const TEXT = ''

/** The lists of a campus, and those within its rows. */
function* listsOf(campus: Campus): Generator<List> {
  for (const path of Object.keys(rules) as (keyof Campus)[]) {
    yield { path, rows: campus[path], rule: rules[path] }
  }
  const texts = (path: string, list: readonly string[]): List => ({
    path,
    rows: list.map((text) => ({ [TEXT]: text })),
    rule: { unique: [TEXT] },
  })
  yield { path: 'sections', rows: campus.courses.flatMap(({ sections }) => sections), rule: {} }
  yield { path: 'lectures', rows: campus.courses.flatMap(({ lectures }) => lectures), rule: {} }
  for (const [at, { features }] of campus.sites.entries()) {
    yield { path: `sites[${at}].features`, rows: features, rule: { unique: ['feature'] } }
  }
  for (const [at, { roles }] of campus.people.entries()) {
    yield { path: `people[${at}].roles`, rows: roles, rule: { unique: ['site', 'role'] } }
  }
  for (const [at, { lecturers }] of campus.courses.entries()) {
    yield { ...texts(`courses[${at}].lecturers`, lecturers), names: [TEXT] }
  }
  for (const [at, application] of campus.applications.entries()) {
    for (const field of ['redirectUris', 'postLogoutRedirectUris', 'scopes'] as const) {
      yield texts(`applications[${at}].${field}`, application[field])
    }
  }
}

/** Asks each row what is wrong with it, and says where it stands. */
function eachRow({ path, rows }: List, ask: (row: Row) => string | undefined): string[] {
  return rows.flatMap((row, at) => {
    const problem = ask(row)
    return problem === undefined ? [] : `${path}[${at}]${problem}`
  })
}

function unknownNames({ names, ...list }: List, ids: ReadonlySet<unknown>): string[] {
  return (names ?? namesIn(list.rows[0] ?? {})).flatMap((field) => {
    const kind = field === 'createdBy' || field === TEXT ? 'person' : field
    const place = field === TEXT ? '' : `.${field}`
    return eachRow(list, ({ [field]: id }) =>
      id === null || ids.has(id) ? undefined : `${place}: no ${kind} has the id ${id}`,
    )
  })
}

/** The order that paid for a row is told last, after what was bought. */
function namesIn(row: Row): string[] {
  const names: readonly string[] = [...references, 'createdBy']
  const found = Object.keys(row).filter((field) => names.includes(field))
  return found.sort((one, other) => Number(one === 'order') - Number(other === 'order'))
}

function repeated(list: List, fields: readonly string[]): string[] {
  const seen = new Set<string>()
  return eachRow(list, (row) => {
    const values = fields.map((field) => row[field])
    if (values.length === 0 || values.includes(undefined)) return undefined
    const key = values.map((value, at) => spelledOnce(fields[at], String(value))).join(' ')
    if (seen.has(key)) return `: ${key} is there twice`
    seen.add(key)
    return undefined
  })
}

/** Two spellings of an e-mail address are one person. */
function spelledOnce(field: string | undefined, value: string): string {
  return field === 'email' ? canonicalEmail(value) : value
}

function wrongOrderOfTimes(list: List): string[] {
  const [first = '', second = ''] = list.rule.inOrder ?? []
  return eachRow(list, ({ [first]: from, [second]: to }) =>
    typeof from === 'string' && typeof to === 'string' && isAfter(from, to)
      ? `.${second}: "${to}" is before ${first}, "${from}"`
      : undefined,
  )
}

/** A purchase that named another person's order would show one member's record to the other. */
function foreignOrders(campus: Campus): (row: Row) => string | undefined {
  const orders = new Map<unknown, Campus['orders'][number]>(campus.orders.map((o) => [o.id, o]))
  const { courses, digitalProducts, consultingServices, events } = campus
  const offers = [...courses, ...digitalProducts, ...consultingServices, ...events]
  const siteOf = new Map<unknown, string>(offers.map(({ id, site }) => [id, site]))
  return (row) => {
    const order = orders.get(row['order'])
    const bought = row['course'] ?? row['digitalProduct'] ?? row['consultingService']
    const site = siteOf.get(bought ?? row['event'])
    if (order === undefined || site === undefined) return undefined
    if (order.person === row['person'] && order.site === site) return undefined
    return `.order: ${order.id} is another person's order, or of another site`
  }
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

/** Purchases have one prefix, and an id says what it is of wherever a client asks for it alone. */
function idsOfTwoKinds(campus: Campus): string[] {
  const seen = new Set<string>()
  const lists = [
    'coursePurchases',
    'digitalProductPurchases',
    'consultingServicePurchases',
  ] as const
  return lists.flatMap((path) => {
    const before = new Set(seen)
    for (const { id } of campus[path]) seen.add(id)
    return campus[path].flatMap(({ id }, at) =>
      before.has(id) ? [`${path}[${at}].id: ${id} is there as a purchase of another kind`] : [],
    )
  })
}
