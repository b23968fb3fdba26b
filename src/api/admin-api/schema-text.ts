import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expandPages, nounOf } from '../graphql/schema-text.ts'

const fileNames = [
  ...['schema', 'site', 'courses', 'students', 'people'],
  ...['commerce', 'events', 'posts', 'analytics', 'webhooks'],
] as const

const searched = '. Counting stops at 500 for a search'

const connections: Readonly<Record<string, string>> = {
  ...{ Course: '', AnalyticsCourse: '', DigitalProduct: '', StoredFile: '', Order: '', Post: '' },
  ...{ Event: '', EventRegistration: '', Invitation: '', Member: searched, Lecturer: searched },
  Student: `${searched}, and at 50000 for the students of a course`,
}

/** The kinds of items, by type name, with the values for the placeholders in item.graphql. */
const items = {
  Course: { example: 'slow-bread', firstSort: 'SLUG', kept: 'Enrolled students keep access.' },
  DigitalProduct: { example: 'bread-atlas', firstSort: 'SLUG', kept: 'Buyers keep access.' },
  Event: { example: 'night-baking', firstSort: 'START', kept: 'Registrations stay valid.' },
} as const

/** Fills in item.graphql for one kind of item. `Item` and `item` stand for the type name, such as `Course`. */
function itemText(template: string, type: keyof typeof items): string {
  const { example, kept, firstSort } = items[type]
  const noun = nounOf(type)
  const one = `${type === 'Event' ? 'an' : 'a'} ${noun}`
  const area = `${noun.replace(' ', '_')}s`
  const words: Readonly<Record<string, string>> = {
    ...{ one, noun, many: `${noun}s`, area, example, kept },
  }
  return template
    .replaceAll('FIRST_SORT', firstSort)
    .replaceAll('Item', type)
    .replaceAll('item', type.charAt(0).toLowerCase() + type.slice(1))
    .replace(/\{\{(\w+)\}\}/g, (_, name: string) => words[name] ?? '')
}

/**
 * Payloads with the object or list that a mutation changed. Columns: payload type, field and type of the object, area
 * of the read scope, and the kind of object that `id` identifies, if it differs from the field.
 */
const payloads: readonly (readonly [string, string, string, string, string?])[] = [
  ['CoursePayload', 'course', 'Course!', 'courses'],
  ['DigitalProductPayload', 'digitalProduct', 'DigitalProduct!', 'digital_products'],
  ['EventPayload', 'event', 'Event!', 'events'],
  ['UpdateSitePayload', 'site', 'Site!', 'school'],
  ['AppearancePayload', 'appearance', 'Appearance!', 'appearance', 'site'],
  ['SectionPayload', 'section', 'Section!', 'curriculum'],
  ['LecturePayload', 'lecture', 'Lecture!', 'curriculum'],
  ['EnrolStudentPayload', 'enrolment', 'Enrolment!', 'students'],
  ['EnrolmentPayload', 'enrolment', 'Enrolment!', 'students'],
  ['EventRegistrationPayload', 'registration', 'EventRegistration!', 'events'],
  ['PostPayload', 'post', 'Post!', 'posts'],
  ['WebhookPayload', 'endpoint', 'WebhookEndpoint!', 'school'],
  ['MemberRolesPayload', 'roles', '[HeldRole!]! @listSize(assumedSize: 2)', 'members', 'person'],
  [
    'CourseLecturersPayload',
    'lecturers',
    '[CourseLecturer!]! @listSize(assumedSize: 5)',
    'lecturers',
    'course',
  ],
]

/** The types in `payloads` that have `isNew`. */
const creations: ReadonlySet<string> = new Set([
  ...['CoursePayload', 'DigitalProductPayload', 'EventPayload', 'SectionPayload', 'LecturePayload'],
  ...['EnrolStudentPayload', 'PostPayload'],
])

function payloadText([payload, field, type, area, of]: (typeof payloads)[number]): string {
  const noun = nounOf(field)
  const isNew = `
  "True if this request created the ${noun}; false if it already existed."
  isNew: Boolean!
`
  return `
"The result of changing the ${noun}."
type ${payload} {
  "The identifier of the ${of ?? noun}."
  id: ID!
${creations.has(payload) ? isNew : ''}
  "The ${noun} after the change."
  ${field}: ${type} @needs(scopes: ["${area}:read"])
}
`
}

/** Matches each `Create…` input from which an `Update…` input is generated, with all fields optional. */
const updatable =
  /^(extend )?input Create(Course|DigitalProduct|Event|Post|WebhookEndpoint)Input \{\n([^}]*)\}/gm

/**
 * Inserts the repeated parts of the schema. Gives each mutation the `@needs` of its `type Mutation` block. Creates an
 * `Update…` input from each `Create…` input that matches `updatable`. Adds an idempotency key to each `Create…` input.
 */
function repeatParts(text: string): string {
  const updates = Array.from(text.matchAll(updatable), ([, extend, type = '', fields = '']) => {
    const noun = type === 'Post' ? 'announcement' : nounOf(type)
    const head = extend ?? `"Changes to the ${noun}."\n`
    const id = extend ? '' : `  "The identifier of the ${noun}."\n  id: ID!\n\n`
    return `\n${head}input Update${type}Input {\n${id}${fields.replace(/!$| = .*$/gm, '')}}\n`
  })
  return (text + updates.join(''))
    .replace(
      /^((?:extend )?type Mutation) (@needs.*) (\{[^}]*)/gm,
      (_, type: string, needs: string, block: string) =>
        `${type} ${block.replace(/Payload(?=$| @destructive$)/gm, `$& ${needs}`)}`,
    )
    .replace(/^input Create[^}]*/gm, `$&${idempotencyKey}`)
}

const idempotencyKey = `
  "A key chosen by the client. For seven days, a repeated key creates no second object while the first exists."
  idempotencyKey: String
`

/** The published schema with its descriptions. */
export const schemaText: string = expandPages(
  repeatParts(
    [
      ...(['Course', 'DigitalProduct', 'Event'] as const).map((type) =>
        itemText(readSchema('item'), type),
      ),
      ...fileNames.map(readSchema),
      ...payloads.map(payloadText),
    ].join('\n'),
  ),
  connections,
  { boundTo: 'this site', countDirectives: ' @cost(weight: 500)' },
)

function readSchema(name: string): string {
  return readFileSync(join(import.meta.dirname, `${name}.graphql`), 'utf8')
}

/** Returns all scopes in the `@needs` directives of the schema. Does not parse the schema, to keep start-up fast. */
export function scopesOfAdminApi(): ReadonlySet<string> {
  const lists = schemaText.matchAll(/@needs\(scopes: \[([^\]]*)\]\)/g)
  return new Set(Array.from(lists).flatMap(([, scopes = '']) => scopes.match(/[\w:]+/g) ?? []))
}
