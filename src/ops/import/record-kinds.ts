import { z } from 'zod'

import { languages } from '../../../views/text.ts'
import { readPasswordHash } from '../../directory/people/password-formats.ts'
import { takenSlugs } from '../../platform/http/paths.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import { line, mailAddress, slug, trimmed, pageAddress as url } from '../../school/changes/input.ts'
import { application } from './application-kind.ts'
import { resolveTime } from './campus-time.ts'
import * as schemas from './field-schemas.ts'
import { kind, type RecordKind } from './record-rows.ts'

const { count, id, list, optional, time, word } = schemas

const language = z.enum(languages)

const offerFields = {
  site: id('sit'),
  slug,
  title: trimmed(200),
  summary: trimmed(2000),
  publishedAt: optional(time),
  createdAt: time,
}

const purchaseFields = {
  id: id('pur'),
  person: id('per'),
  order: optional(id('ord')),
  purchasedAt: time,
}

const announcementFields = {
  topic: word,
  title: trimmed(200),
  body: trimmed(4000),
  link: optional(url),
}

/** All kinds of records, parents before children. They include no grants, tokens, signing keys or audit events. */
export const kinds = {
  site: kind({
    table: 'site',
    schema: z.strictObject({
      id: id('sit'),
      slug: slug.refine((name) => !takenSlugs.has(name), 'must not be a reserved path'),
      name: trimmed(120),
      description: optional(trimmed(2000)),
      contactEmail: optional(mailAddress),
      address: optional(url),
      timeZone: optional(trimmed(60)),
      language: optional(trimmed(35)),
      languages: list(language, 6),
      createdAt: time,
      features: list(z.strictObject({ feature: word, enabledAt: time }), 20),
    }),
    json: ['languages'],
    inner: {
      parent: 'site_id',
      lists: [{ field: 'features', table: 'site_feature', key: ['site_id', 'feature'] }],
    },
  }),
  person: kind({
    table: 'person',
    schema: z.strictObject({
      id: id('per'),
      email: mailAddress,
      name: trimmed(120),
      picture: optional(url),
      /** When the platform verified the e-mail address. The import itself does not verify the address. */
      emailVerifiedAt: optional(time),
      preferredUsername: optional(trimmed(120)),
      locale: optional(schemas.languageTag),
      timeZone: optional(schemas.timeZone),
      updatedAt: optional(time),
      password: optional(z.string().min(8).max(128)),
      /** The password hash from the platform (password-formats.ts). It lets people keep their passwords. */
      passwordHash: optional(
        z.string().superRefine((hash, context) => {
          const read = readPasswordHash(hash)
          if (typeof read === 'string') context.addIssue(read)
        }),
      ),
      createdAt: time,
      disabledAt: optional(time),
      /** When the person deleted the account. Exported so that an import elsewhere does not recreate the person. */
      deletedAt: optional(time),
      /** Ends all sessions and grants that began at or before this time. Not part of exports. */
      accessEndedAt: optional(time),
      roles: list(
        z.strictObject({
          site: id('sit'),
          role: z.enum(['owner', 'admin', 'lecturer', 'student']),
          grantedAt: time,
        }),
        1000,
      ),
    }),
    inner: {
      parent: 'person_id',
      lists: [{ field: 'roles', table: 'site_role', key: ['person_id', 'site_id', 'role'] }],
    },
    unkept: ['password', 'accessEndedAt'],
    derived: {
      // Different spellings of an e-mail address belong to the same person.
      email_canonical: { fields: ['email'], make: ({ email }) => canonicalEmail(email) },
      imported_at: { fields: [], make: (_, { nowMs }) => nowMs },
      password_hash: {
        fields: ['password', 'passwordHash'],
        make: (person, writing) => writing.passwordHashes.get(person.id) ?? person.passwordHash,
      },
      imported_hash_digest: {
        fields: ['password', 'passwordHash'],
        make: (person, writing) => {
          const hash = writing.passwordHashes.get(person.id) ?? person.passwordHash
          return hash && sha256(hash)
        },
      },
    },
  }),
  course: kind({
    table: 'course',
    schema: z.strictObject({
      id: id('crs'),
      ...offerFields,
      archivedAt: optional(time),
      url: optional(url),
      imageUrl: optional(url),
      lecturers: list(id('per'), 50),
      sections: list(z.strictObject({ id: id('sec'), title: trimmed(200) }), 200),
      lectures: list(
        z.strictObject({
          id: id('lec'),
          section: optional(id('sec')),
          title: trimmed(200),
          durationSeconds: count(86_400),
        }),
        1000,
      ),
    }),
    inner: {
      parent: 'course_id',
      lists: [
        {
          field: 'sections',
          table: 'section',
          key: ['id'],
          position: true,
          entriesOf: ({ sections, createdAt }) =>
            sections.map((entry) => ({ ...entry, createdAt })),
        },
        { field: 'lectures', table: 'lecture', key: ['id'], position: true },
        { field: 'lecturers', table: 'course_lecturer', key: ['course_id', 'person_id'] },
      ],
    },
  }),
  file: kind({
    table: 'stored_file',
    schema: z.strictObject({
      id: id('fil'),
      site: id('sit'),
      name: trimmed(200),
      mediaType: trimmed(100),
      sizeBytes: count(Number.MAX_SAFE_INTEGER),
      sha256: z.string().regex(/^[\w-]{43,64}$/, 'must be a SHA-256 digest'),
      createdBy: optional(id('per')),
      createdAt: time,
    }),
  }),
  appearance: kind({
    table: 'site_appearance',
    schema: z.strictObject({
      site: id('sit'),
      displayName: optional(trimmed(120)),
      logoFileId: optional(id('fil')),
      accentColor: optional(schemas.color),
      backgroundColor: optional(schemas.color),
      signInWords: optional(trimmed(500)),
      consentWords: optional(trimmed(500)),
      texts: list(
        z.strictObject({
          language,
          displayName: optional(line(120)),
          signInWords: optional(trimmed(500)),
          consentWords: optional(trimmed(500)),
        }),
        6,
      ),
      updatedAt: time,
    }),
    key: ['site'],
    json: ['texts'],
  }),
  digitalProduct: kind({
    table: 'digital_product',
    schema: z.strictObject({
      id: id('dig'),
      ...offerFields,
      archivedAt: optional(time),
      fileName: trimmed(200),
      file: optional(id('fil')),
    }),
  }),
  consultingService: kind({
    table: 'consulting_service',
    schema: z.strictObject({ id: id('con'), ...offerFields, durationMinutes: count(1440) }),
  }),
  event: kind({
    table: 'event',
    schema: z.strictObject({
      id: id('evt'),
      ...offerFields,
      archivedAt: optional(time),
      location: optional(trimmed(200)),
      joinUrl: optional(url),
      startsAt: time,
      endsAt: time,
    }),
  }),
  order: kind({
    deletable: true,
    table: 'customer_order',
    schema: z.strictObject({
      id: id('ord'),
      site: id('sit'),
      person: id('per'),
      number: trimmed(60),
      couponCode: optional(trimmed(60)),
      invoiceNumber: optional(trimmed(60)),
      refundedAt: optional(time),
      totalCents: count(2_000_000_000),
      currency: z.string().regex(/^[A-Z]{3}$/, 'must be a currency code such as EUR'),
      placedAt: time,
    }),
    inOrder: ['placedAt', 'refundedAt'],
  }),
  coursePurchase: kind({
    deletable: true,
    table: 'course_purchase',
    schema: z.strictObject({
      ...purchaseFields,
      course: id('crs'),
      // Required, because null means lifetime access.
      expiresAt: time.nullable(),
    }),
    inOrder: ['purchasedAt', 'expiresAt'],
  }),
  digitalProductPurchase: kind({
    deletable: true,
    table: 'digital_product_purchase',
    schema: z.strictObject({ ...purchaseFields, digitalProduct: id('dig') }),
  }),
  consultingServicePurchase: kind({
    deletable: true,
    table: 'consulting_service_purchase',
    schema: z.strictObject({
      ...purchaseFields,
      consultingService: id('con'),
      scheduledAt: optional(time),
    }),
  }),
  eventRegistration: kind({
    deletable: true,
    table: 'event_registration',
    schema: z.strictObject({
      id: id('reg'),
      person: id('per'),
      event: id('evt'),
      order: optional(id('ord')),
      registeredAt: time,
      cancelledAt: optional(time),
    }),
    inOrder: ['registeredAt', 'cancelledAt'],
  }),
  watchPosition: kind({
    table: 'watch_position',
    schema: z.strictObject({
      person: id('per'),
      lecture: id('lec'),
      positionSeconds: count(86_400),
      watchedAt: time,
    }),
    key: ['person', 'lecture'],
  }),
  post: kind({
    deletable: true,
    table: 'post',
    schema: z.strictObject({
      id: id('pst'),
      site: id('sit'),
      ...announcementFields,
      createdBy: optional(id('per')),
      createdAt: time,
      updatedAt: time,
      publishedAt: optional(time),
    }),
    inOrder: ['createdAt', 'publishedAt'],
    derived: {
      // Mark the post as delivered, because its notifications are imported too.
      delivered_at: {
        fields: ['publishedAt'],
        make: ({ publishedAt }, { nowMs }) => publishedAt && resolveTime(publishedAt, nowMs),
      },
    },
  }),
  notification: kind({
    deletable: true,
    table: 'notification',
    schema: z.strictObject({
      id: id('not'),
      person: id('per'),
      site: id('sit'),
      post: optional(id('pst')),
      ...announcementFields,
      createdAt: time,
      readAt: optional(time),
    }),
    inOrder: ['createdAt', 'readAt'],
  }),
  notificationSubscription: kind({
    deletable: true,
    table: 'notification_subscription',
    schema: z.strictObject({
      id: id('sub'),
      person: id('per'),
      site: id('sit'),
      topic: word,
      channel: z.enum(['inbox', 'email']),
      enabledAt: optional(time),
    }),
  }),
  application,
}

export type KindName = keyof typeof kinds

export const kindNames = Object.keys(kinds) as KindName[]

export function kindOf(name: KindName): RecordKind {
  return kinds[name]
}

export function isKindName(name: unknown): name is KindName {
  return typeof name === 'string' && Object.hasOwn(kinds, name)
}
