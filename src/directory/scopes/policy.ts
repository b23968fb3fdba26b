import { catalogue, findScope, type Scope } from './catalogue.ts'

/**
 * How a client came to be known (design decision 2): created by an operator of a site, a vendor
 * platform of `config/integrations.json`, self-registered on a loopback address, or described by a
 * Client ID Metadata Document.
 */
export type ClientOrigin = 'site' | 'integration' | 'loopback' | 'document'

export interface ScopeStatus {
  readonly origin: ClientOrigin
  /** What the operator chose for a site client; absent for every other origin. */
  readonly chosen?: readonly string[]
  /** Whether a metadata-document client was reviewed, for one site at least (design 31). */
  readonly reviewed?: boolean
}

/**
 * The scopes that a client may request, in the order of the catalogue (specification,
 * Authentication 6 and 8). The answer becomes the client's own `scope`, so that the engine itself
 * refuses a request for more with `invalid_scope` and never drops an account or write scope silently.
 */
export function decideScopes({ origin, chosen, reviewed }: ScopeStatus): string[] {
  return catalogue
    .filter((scope) => isOpen(scope, origin, reviewed === true))
    .filter((scope) => scope.access === 'identity' || !chosen || chosen.includes(scope.name))
    .map((scope) => scope.name)
}

function isOpen(scope: Scope, origin: ClientOrigin, reviewed: boolean): boolean {
  if (scope.audience === 'identity') return true
  // The two audiences never meet in one client: a member client is created by an operator in the
  // admin area and nowhere else, and reaches no operator scope.
  if (scope.audience === 'member') return origin === 'site'
  if (origin === 'site') return false
  return origin !== 'document' || reviewed || scope.access === 'read'
}

/** Whether a set of scopes changes what a site has. */
export function needsToChange(scopes: Iterable<string>): boolean {
  return [...scopes].some((name) => {
    const scope = findScope(name)
    return scope?.audience === 'operator' && scope.access === 'write'
  })
}

/** Whether a set of scopes makes the person act as an operator of a site. */
export function needsOperator(scopes: Iterable<string>): boolean {
  return hasAudience(scopes, 'operator')
}

/** Whether a set of scopes reaches the member's own data, for which `resource` is required. */
export function needsResource(scopes: Iterable<string>): boolean {
  return hasAudience(scopes, 'member')
}

function hasAudience(scopes: Iterable<string>, audience: Scope['audience']): boolean {
  return [...scopes].some((name) => findScope(name)?.audience === audience)
}
