/** The table of all scopes. `policy.ts` decides which client may request which scope. */

export type Audience = 'identity' | 'operator' | 'member'
export type ScopeAccess = 'identity' | 'read' | 'write'

export interface Scope {
  readonly name: string
  readonly audience: Audience
  readonly access: ScopeAccess
  /** The description in the specification, for discovery documents and docs. */
  readonly grants: string
  /** The end of the sentence "can see …" or "can change …" on the consent page. */
  readonly sentence: string
}

/** Scopes that the code refers to by name. */
export const OPENID = 'openid'
export const MEMBER_READ = 'account:read'
export const MEMBER_WRITE = 'account:write'

const accessOf = { rw: ['read', 'write'], r: ['read'], w: ['write'] } as const

export const catalogue: readonly Scope[] = [
  identity(OPENID, 'OpenID Connect authentication', 'who you are on this platform'),
  identity('profile', 'basic profile information', 'your name, picture and your roles at the site'),
  identity('email', 'e-mail address', 'your e-mail address'),
  ...area('courses', 'rw', 'the courses of the site and their descriptions'),
  ...area('students', 'rw', 'the students of the site and what they are enrolled in'),
  ...area('members', 'rw', 'the members of the site and their roles'),
  ...area('analytics', 'r', 'visitor and sales figures for the site'),
  ...area('curriculum', 'rw', 'sections and lectures of the courses'),
  ...area('orders', 'r', 'orders and payments of the site'),
  ...area('school', 'rw', 'the name and settings of the site'),
  ...area('appearance', 'rw', 'the design and navigation of the site'),
  ...area('events', 'rw', 'events and their registrations'),
  ...area('membership_plans', 'rw', 'membership plans and their prices'),
  ...area('coupons', 'rw', 'coupons and discounts'),
  ...area('posts', 'rw', 'blog posts and announcements'),
  ...area('subscriptions', 'rw', 'active subscriptions of students'),
  ...area('digital_products', 'rw', 'digital products and their files'),
  ...area('comments', 'r', 'comments that students wrote'),
  ...area('lecturers', 'rw', 'lecturers and their profiles'),
  ...area('storage', 'w', 'files in the storage of the site'),
  ...area('forms', 'r', 'forms and the responses to them'),
  ...area('pages', 'rw', 'pages of the site'),
  {
    name: MEMBER_READ,
    audience: 'member',
    access: 'read',
    grants: "the signed-in member's own data and notification reads",
    sentence: 'your courses, other purchases and notifications',
  },
  {
    name: MEMBER_WRITE,
    audience: 'member',
    access: 'write',
    grants: 'notification mutations',
    sentence: 'which notifications are read and which you receive',
  },
]

const byName = new Map(catalogue.map((scope) => [scope.name, scope]))

export function findScope(name: string): Scope | undefined {
  return byName.get(name)
}

/** Returns the operator scope for reading an area of a site. @throws Error if there is none */
export function readScope(area: string): string {
  return operatorScope(area, 'read')
}

/** Returns the operator scope for changing an area of a site. @throws Error if there is none */
export function writeScope(area: string): string {
  return operatorScope(area, 'write')
}

function operatorScope(area: string, access: ScopeAccess): string {
  const scope = byName.get(`${area}:${access}`)
  if (scope?.audience !== 'operator')
    throw new Error(`the scope catalogue does not contain ${area}:${access}`)
  return scope.name
}

/** Returns the names of all scopes, or of one audience's scopes, in catalogue order. */
export function scopeNames(audience?: Audience): string[] {
  return catalogue
    .filter((scope) => audience === undefined || scope.audience === audience)
    .map((scope) => scope.name)
}

function identity(name: string, grants: string, sentence: string): Scope {
  return { name, audience: 'identity', access: 'identity', grants, sentence }
}

function area(name: string, letters: keyof typeof accessOf, sentence: string): Scope[] {
  return accessOf[letters].map((access) => ({
    name: `${name}:${access}`,
    audience: 'operator',
    access,
    grants: name.replaceAll('_', ' '),
    sentence,
  }))
}
