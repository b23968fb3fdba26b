import { z } from 'zod'

import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { takenSlugs } from '../../platform/http/paths.ts'
import { mayReturnTo } from '../../platform/http/redirect-uri.ts'
import { furtherFields, hasKeys } from './application-fields.ts'
import { clientId, color, count, id, list, optional, slug, text, time, url, word } from './forms.ts'
import { person } from './person-shape.ts'

/**
 * The shape of a campus: sites, people and everything that they made and bought, as data. It is
 * what `config/demo` holds and what an operator imports. It owns forms and limits; whether the
 * names in it lead anywhere is `references.ts`, and what becomes of it is `load.ts`.
 *
 * Every time is one of `time.ts`. Every kind of row has an id with its own prefix, and rows
 * name one another by these ids.
 */

const site = z.strictObject({
  id: id('sit'),
  slug: slug.refine((name) => !takenSlugs.has(name), 'is taken by an address of the service'),
  name: text(120),
  description: optional(text(2000)),
  contactEmail: optional(z.email().max(254)),
  address: optional(url),
  timeZone: optional(text(60)),
  language: optional(text(35)),
  createdAt: time,
  features: list(z.strictObject({ feature: word, enabledAt: time }), 20),
})

/** What everything that a site offers has in common. */
const offer = {
  site: id('sit'),
  slug,
  title: text(200),
  summary: text(2000),
  publishedAt: optional(time),
  createdAt: time,
}

const section = z.strictObject({ id: id('sec'), title: text(200) })

const lecture = z.strictObject({
  id: id('lec'),
  section: optional(id('sec')),
  title: text(200),
  durationSeconds: count(86_400),
})

const course = z.strictObject({
  id: id('crs'),
  ...offer,
  archivedAt: optional(time),
  url: optional(url),
  imageUrl: optional(url),
  lecturers: list(id('per'), 50),
  sections: list(section, 200),
  lectures: list(lecture, 1000),
})

const storedFile = z.strictObject({
  id: id('fil'),
  site: id('sit'),
  name: text(200),
  mediaType: text(100),
  sizeBytes: count(Number.MAX_SAFE_INTEGER),
  sha256: z.string().regex(/^[\w-]{43,64}$/, 'must be a digest'),
  createdBy: optional(id('per')),
  createdAt: time,
})

const appearance = z.strictObject({
  site: id('sit'),
  displayName: optional(text(120)),
  logoFileId: optional(id('fil')),
  accentColor: optional(color),
  backgroundColor: optional(color),
  signInWords: optional(text(500)),
  consentWords: optional(text(500)),
  updatedAt: time,
})

const digitalProduct = z.strictObject({
  id: id('dig'),
  ...offer,
  archivedAt: optional(time),
  fileName: text(200),
  file: optional(id('fil')),
})

const consultingService = z.strictObject({
  id: id('con'),
  ...offer,
  durationMinutes: count(1440),
})

const event = z
  .strictObject({
    id: id('evt'),
    ...offer,
    archivedAt: optional(time),
    location: optional(text(200)),
    joinUrl: optional(url),
    startsAt: time,
    durationMinutes: optional(count(44_640)),
    endsAt: optional(time),
  })
  .refine(({ durationMinutes, endsAt }) => (durationMinutes === null) !== (endsAt === null), {
    path: ['endsAt'],
    message: 'or durationMinutes is needed, and only one of them',
  })

const order = z.strictObject({
  id: id('ord'),
  site: id('sit'),
  person: id('per'),
  number: text(60),
  couponCode: optional(text(60)),
  invoiceNumber: optional(text(60)),
  refundedAt: optional(time),
  totalCents: count(2_000_000_000),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency like EUR'),
  placedAt: time,
})

const bought = { id: id('pur'), person: id('per'), order: optional(id('ord')), purchasedAt: time }

const coursePurchase = z.strictObject({
  ...bought,
  course: id('crs'),
  // Access for a lifetime is said as null, never by leaving the field out.
  expiresAt: time.nullable(),
})

const digitalProductPurchase = z.strictObject({ ...bought, digitalProduct: id('dig') })

const consultingServicePurchase = z.strictObject({
  ...bought,
  consultingService: id('con'),
  scheduledAt: optional(time),
})

const eventRegistration = z.strictObject({
  id: id('reg'),
  person: id('per'),
  event: id('evt'),
  order: optional(id('ord')),
  registeredAt: time,
  cancelledAt: optional(time),
})

const watchPosition = z.strictObject({
  person: id('per'),
  lecture: id('lec'),
  positionSeconds: count(86_400),
  watchedAt: time,
})

const post = z.strictObject({
  id: id('pst'),
  site: id('sit'),
  topic: word,
  title: text(200),
  body: text(4000),
  link: optional(url),
  createdBy: optional(id('per')),
  createdAt: time,
  updatedAt: time,
  publishedAt: optional(time),
})

const notification = z.strictObject({
  id: id('not'),
  person: id('per'),
  site: id('sit'),
  post: optional(id('pst')),
  topic: word,
  title: text(200),
  body: text(4000),
  link: optional(url),
  createdAt: time,
  readAt: optional(time),
})

const notificationSubscription = z.strictObject({
  id: id('sub'),
  person: id('per'),
  site: id('sit'),
  topic: word,
  channel: z.enum(['inbox', 'email']),
  enabledAt: optional(time),
})

const secretDigest = z.strictObject({
  id: text(120),
  digest: text(120),
  hint: text(20),
  createdAt: time,
  expiresAt: optional(time),
})

const application = z
  .strictObject({
    clientId,
    kind: z.enum(['site', 'resource_server']),
    site: optional(id('sit')),
    name: text(120),
    authMethod: z.enum(['none', 'client_secret_post', 'private_key_jwt']),
    applicationType: z.enum(['web', 'native']),
    /** The id of the assistant for which an operator made it (config/assistants.json). */
    assistant: optional(
      z
        .string()
        .max(60)
        .regex(/^[a-z][a-z0-9-]*$/),
    ),
    ...furtherFields,
    redirectUris: list(z.string().max(2000), 20),
    postLogoutRedirectUris: list(z.string().max(2000), 20),
    scopes: list(z.enum(scopeNames('member')), 10),
    // 256 random bits are 43 characters; anything shorter would be guessable behind a plain digest.
    secret: optional(
      z.string().regex(/^[A-Za-z0-9_-]{43,128}$/, 'must be 43 to 128 of A-Za-z0-9_-'),
    ),
    /** As an export writes them. */
    secrets: list(secretDigest, 2),
    createdBy: optional(id('per')),
    createdAt: time,
  })
  .superRefine((row, context) => {
    const must = (holds: boolean, field: keyof typeof row, message: string) => {
      if (!holds) context.addIssue({ code: 'custom', path: [field], message })
    }
    const { redirectUris, scopes, secret, secrets } = row
    const isSite = row.kind === 'site'
    const isConfidential = row.authMethod === 'client_secret_post'
    // A resource server may be of one site, whose tokens it is told of, or of the whole deployment.
    must(!isSite || row.site !== null, 'site', 'belongs to kind "site"')
    must(isSite === redirectUris.length > 0, 'redirectUris', 'belong to kind "site", only there')
    must(isSite === scopes.length > 0, 'scopes', 'belong to kind "site", and only there')
    must(isSite || row.authMethod !== 'none', 'authMethod', 'of a resource server is not none')
    must(hasKeys(row), 'jwks', 'or jwksUri belongs to private_key_jwt, one of them and only there')
    must(
      isConfidential === (secret !== null || secrets.length > 0),
      'secret',
      'belongs to client_secret_post, only there',
    )
    for (const field of ['redirectUris', 'postLogoutRedirectUris'] as const) {
      for (const uri of row[field]) must(mayReturnTo(uri, row.applicationType), field, refusal(uri))
    }
  })

/** Every list of a campus, parents before their children; one that is absent is empty. */
export const lists = {
  sites: list(site, 1000),
  people: list(person, 100_000),
  courses: list(course, 10_000),
  files: list(storedFile, 100_000),
  appearances: list(appearance, 1000),
  digitalProducts: list(digitalProduct, 10_000),
  consultingServices: list(consultingService, 10_000),
  events: list(event, 10_000),
  orders: list(order, 500_000),
  coursePurchases: list(coursePurchase, 500_000),
  digitalProductPurchases: list(digitalProductPurchase, 500_000),
  consultingServicePurchases: list(consultingServicePurchase, 500_000),
  eventRegistrations: list(eventRegistration, 500_000),
  watchPositions: list(watchPosition, 500_000),
  posts: list(post, 100_000),
  notifications: list(notification, 500_000),
  notificationSubscriptions: list(notificationSubscription, 500_000),
  applications: list(application, 1000),
}

export const campus = z.strictObject(lists)

export type Campus = z.infer<typeof campus>

function refusal(uri: string): string {
  return `${JSON.stringify(uri)} must be https, http to a loopback address, or of a native application a scheme of its own, without a fragment`
}
