/** The table of all scopes. `policy.ts` decides which client may request which scope. */

import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'

export type Audience = 'identity' | 'operator' | 'member'
export type ScopeAccess = 'identity' | 'read' | 'write'

export interface Scope {
  readonly name: string
  readonly audience: Audience
  readonly access: ScopeAccess
  /** The description in the specification, for discovery documents and docs. */
  readonly grants: string
  /** The end of the sentence "can see …" or "can change …" on pages, such as the consent page. */
  readonly sentence: Html
}

/** Scopes that the code refers to by name. */
export const OPENID = 'openid'
export const MEMBER_READ = 'account:read'
export const MEMBER_WRITE = 'account:write'

const accessOf = { rw: ['read', 'write'], r: ['read'], w: ['write'] } as const

export const catalogue: readonly Scope[] = [
  identity(OPENID, 'OpenID Connect authentication', text('scope.openid')),
  identity('profile', 'basic profile information', text('scope.profile')),
  identity('email', 'e-mail address', text('scope.email')),
  ...area('courses', 'rw', text('scope.courses')),
  ...area('students', 'rw', text('scope.students')),
  ...area('members', 'rw', text('scope.members')),
  ...area('analytics', 'r', text('scope.analytics')),
  ...area('curriculum', 'rw', text('scope.curriculum')),
  ...area('orders', 'r', text('scope.orders')),
  ...area('school', 'rw', text('scope.school')),
  ...area('appearance', 'rw', text('scope.appearance')),
  ...area('events', 'rw', text('scope.events')),
  ...area('membership_plans', 'rw', text('scope.membership_plans')),
  ...area('coupons', 'rw', text('scope.coupons')),
  ...area('posts', 'rw', text('scope.posts')),
  ...area('subscriptions', 'rw', text('scope.subscriptions')),
  ...area('digital_products', 'rw', text('scope.digital_products')),
  ...area('comments', 'r', text('scope.comments')),
  ...area('lecturers', 'rw', text('scope.lecturers')),
  ...area('storage', 'w', text('scope.storage')),
  ...area('forms', 'r', text('scope.forms')),
  ...area('pages', 'rw', text('scope.pages')),
  {
    name: MEMBER_READ,
    audience: 'member',
    access: 'read',
    grants: "the signed-in member's own data and notification reads",
    sentence: text('scope.accountRead'),
  },
  {
    name: MEMBER_WRITE,
    audience: 'member',
    access: 'write',
    grants: 'notification mutations',
    sentence: text('scope.accountWrite'),
  },
]

const byName = new Map(catalogue.map((scope) => [scope.name, scope]))

export function findScope(name: string): Scope | undefined {
  return byName.get(name)
}

const operatorScope = (access: ScopeAccess) => (area: string) => {
  const scope = byName.get(`${area}:${access}`)
  if (scope?.audience === 'operator') return scope.name
  throw new Error(`the scope catalogue does not contain ${area}:${access}`)
}

/** Returns the operator scope for reading an area of a site. @throws Error if there is none */
export const readScope = operatorScope('read')

/** Returns the operator scope for changing an area of a site. @throws Error if there is none */
export const writeScope = operatorScope('write')

/** Returns the names of all scopes, or of one audience's scopes, in catalogue order. */
export function scopeNames(audience?: Audience): string[] {
  return catalogue
    .filter((scope) => audience === undefined || scope.audience === audience)
    .map((scope) => scope.name)
}

function identity(name: string, grants: string, sentence: Html): Scope {
  return { name, audience: 'identity', access: 'identity', grants, sentence }
}

function area(name: string, letters: keyof typeof accessOf, sentence: Html): Scope[] {
  return accessOf[letters].map((access) => ({
    name: `${name}:${access}`,
    audience: 'operator',
    access,
    grants: name.replaceAll('_', ' '),
    sentence,
  }))
}
