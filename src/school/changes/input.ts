import { z } from 'zod'

import { badInput } from './refusals.ts'

/** The forms of values that people and programs give for what a site has, each with its limit. */

/** A text without spaces around it. PostgreSQL keeps no NUL. */
export function text(lengthMax: number) {
  return z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(lengthMax, `must have at most ${lengthMax} characters`)
    .refine((value) => !value.includes('\0'), 'must not hold a NUL')
}

/** Signs that turn the direction of a text, or that no reader sees: a name with them shows as another. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

/** A text of one line, such as a name or a title. */
export function line(lengthMax: number) {
  return text(lengthMax).refine(
    (value) => !HIDDEN.test(value),
    'must be one line, without control characters',
  )
}

/** The name under which a file is saved. */
export const fileName = text(200).refine(
  (value) => !/^\.|[/\\]/.test(value) && !HIDDEN.test(value),
  'must be a plain file name: no slash, no control character, no dot at its beginning',
)

/** The short name of something in addresses. */
export const slug = z
  .string()
  .max(80, 'must have at most 80 characters')
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be a slug like slow-bread')

/** The address of a page. */
export const pageAddress = z
  .url({ protocol: /^https?$/, error: 'must be an address like https://school.example/page' })
  .max(2000, 'must have at most 2000 characters')

/** What a client repeats a creation with. */
export const idempotencyKey = text(100).nullish()

/** As long as titles, summaries and names may be, in characters. */
export const TITLE_LENGTH_MAX = 200
export const SUMMARY_LENGTH_MAX = 2000
export const NAME_LENGTH_MAX = 120

/**
 * The values of an input, each in its form.
 *
 * @throws ChangeRefused that names the first field which is not
 */
export function readInput<Form extends z.ZodType>(form: Form, input: unknown): z.output<Form> {
  const read = form.safeParse(input)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw badInput(issue?.path.join('.') ?? 'input', issue?.message ?? 'is wrong')
}

/** The fields that have a value. */
export type Given<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> }

/** Only what was given: a field that is left out of an input stays as it is. */
export function given<Values extends object>(values: Values): Given<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Given<Values>
}
