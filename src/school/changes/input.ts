import { z } from 'zod'

import { isVisible } from '../../platform/store/entered-text.ts'
import { isMailAddress } from '../../platform/store/mail-address.ts'
import { badInput } from './refusals.ts'

/** Schemas for the values that operators enter, with their limits. */

/** Creates the schema for a trimmed text with at least one visible character. */
export function trimmed(lengthMax: number) {
  return withoutNul(z.string().trim().max(lengthMax).refine(isVisible, 'must not be empty'))
}

/** Rejects NUL, because PostgreSQL cannot store it. */
function withoutNul(schema: z.ZodString | z.ZodURL) {
  return schema.refine((value) => !value.includes('\0'), 'must not contain a NUL character')
}

/** Control characters, line separators, and bidirectional formatting characters, which can disguise a name. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

/** Creates the schema for a single line of text, such as a name. */
export function line(lengthMax: number) {
  return trimmed(lengthMax).refine(
    (value) => !HIDDEN.test(value),
    'must be one line, without control characters',
  )
}

/** The schema for a name under which a file is saved. */
export const fileName = trimmed(200).refine(
  (value) => !/^\.|[/\\]/.test(value) && !HIDDEN.test(value),
  'must be a file name without slashes, control characters or a leading dot',
)

export const pageAddress = withoutNul(
  z
    .url({ protocol: /^https?$/, error: 'must be a URL like https://school.example/page' })
    .max(2000),
)

/** The schema for an e-mail address whose domain has a dot. */
export const mailAddress = z.stringFormat(
  'email',
  (value) => isMailAddress(value) && /@.+\../.test(value),
  'must be an e-mail address',
)

export const idempotencyKey = trimmed(100).nullish()

export const NAME_LENGTH_MAX = 120
export const title = line(200)
export const summary = trimmed(2000)

export const slug = z
  .string()
  .max(80)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be a slug of a–z, 0–9 and hyphens, like slow-bread')

/** The schema for the fields that courses, digital products and events share. */
export const itemFields = z.strictObject({ slug, title, summary })

/** Parses an input. @throws ChangeRefused, which names the first invalid field */
export function readInput<Type extends z.ZodType>(schema: Type, input: unknown): z.output<Type> {
  const read = schema.safeParse(input, { error: describeIssue })
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw badInput(issue?.path.join('.') || 'input', issue?.message ?? 'is invalid')
}

/** Describes a problem for which the schemas have no message. */
export function describeIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is missing'
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`
    case 'too_small':
    case 'too_big': {
      const limit =
        issue.code === 'too_big' ? `at most ${issue.maximum}` : `at least ${issue.minimum}`
      const unit = { string: 'characters', array: 'entries' }[String(issue.origin)]
      if (unit !== undefined && limit === 'at least 1') return 'must not be empty'
      return unit === undefined ? `must be ${limit}` : `must have ${limit} ${unit}`
    }
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.join(', ')}`
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`
    default:
      return issue.code === 'invalid_format' ? `must be a valid ${issue.format}` : 'is invalid'
  }
}

type Given<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

/** Drops the fields that are undefined, because a change must not write them. */
export function given<Values extends object>(values: Values): Given<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>
}
