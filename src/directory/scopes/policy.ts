import { catalogue, findScope, type Scope } from './catalogue.ts'

/**
 * Where a client comes from (design decision 2): created by an operator of a site, a vendor platform in
 * `config/integrations.json`, self-registered on a loopback address, or a Client ID Metadata Document.
 */
export type ClientOrigin = 'site' | 'integration' | 'loopback' | 'document'

export interface ScopeStatus {
  readonly origin: ClientOrigin
  /** The operator's choice for a site client; absent for other origins. */
  readonly chosen?: readonly string[]
  /** Whether a metadata-document client is approved for at least one site (design 31). */
  readonly reviewed?: boolean
}

/**
 * Decides which scopes a client may request, in catalogue order (specification, Authentication 6 and 8). They
 * become the client's own `scope`, so that the engine refuses other scopes with `invalid_scope` and never
 * drops one silently.
 */
export function decideScopes({ origin, chosen, reviewed }: ScopeStatus): string[] {
  return catalogue
    .filter((scope) => isOpen(scope, origin, reviewed === true))
    .filter((scope) => scope.access === 'identity' || !chosen || chosen.includes(scope.name))
    .map((scope) => scope.name)
}

function isOpen(scope: Scope, origin: ClientOrigin, reviewed: boolean): boolean {
  if (scope.audience === 'identity') return true
  // No client has both audiences: only operators create member clients, in the admin area, and these never get
  // operator scopes.
  if (scope.audience === 'member') return origin === 'site'
  if (origin === 'site') return false
  return origin !== 'document' || reviewed || scope.access === 'read'
}

/** Whether scopes allow changes to a site. */
export function needsToChange(scopes: Iterable<string>): boolean {
  return [...scopes].some((name) => {
    const scope = findScope(name)
    return scope?.audience === 'operator' && scope.access === 'write'
  })
}

/** Whether scopes require an operator of a site. */
export function needsOperator(scopes: Iterable<string>): boolean {
  return hasAudience(scopes, 'operator')
}

/** Whether scopes reach the member's own data, which requires `resource`. */
export function needsResource(scopes: Iterable<string>): boolean {
  return hasAudience(scopes, 'member')
}

function hasAudience(scopes: Iterable<string>, audience: Scope['audience']): boolean {
  return [...scopes].some((name) => findScope(name)?.audience === audience)
}
