import { z } from 'zod'

import { problemOfPasswordHash } from '../../directory/people/password-hash.ts'
import { id, languageTag, list, optional, text, time, timeZone, url } from './forms.ts'

const role = z.strictObject({
  site: id('sit'),
  role: z.enum(['owner', 'admin', 'lecturer', 'student']),
  grantedAt: time,
})

/** A person with their roles, as data. */
export const person = z.strictObject({
  id: id('per'),
  email: z.email().max(254),
  name: text(120),
  picture: optional(url),
  /** Since when the address is known to be the person's; nobody is asked here. */
  emailVerifiedAt: optional(time),
  preferredUsername: optional(text(120)),
  locale: optional(languageTag),
  timeZone: optional(timeZone),
  /** When the platform last changed something of this. */
  updatedAt: optional(time),
  password: optional(z.string().min(8).max(128)),
  /** As an export writes it, so that nobody needs a new one after a move. */
  passwordHash: optional(
    z.string().superRefine((hash, context) => {
      const problem = problemOfPasswordHash(hash)
      if (problem !== undefined) context.addIssue(problem)
    }),
  ),
  createdAt: time,
  disabledAt: optional(time),
  /** All access to the account that began until then ends; an export has none. */
  accessEndedAt: optional(time),
  roles: list(role, 1000),
})
