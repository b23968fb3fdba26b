import { catalogue, findScope, type Scope } from './catalogue.ts'

/**
 * The origin of a client (design 2). `site`: created by an operator for members. `operator`: created by an owner to act
 * for that owner. `integration`: listed in `config/integrations.json`. `loopback`: self-registered with a loopback
 * callback. `document`: described by a Client ID Metadata Document.
 */
export type ClientOrigin = 'site' | 'operator' | 'integration' | 'loopback' | 'document'

export interface ScopeStatus {
  readonly origin: ClientOrigin
  /** The scopes that were chosen for a site's application (origin `site` or `operator`); absent for other clients. */
  readonly chosen?: readonly string[]
  /** Whether the metadata document is approved for at least one site (design 31). */
  readonly reviewed?: boolean
}

/**
 * Returns the scopes that a client may request, in catalogue order (specification, Authentication 6 and 8). These
 * become the client's own `scope`, so the engine rejects all other scopes with `invalid_scope` instead of dropping them
 * silently.
 */
export function decideScopes({ origin, chosen, reviewed }: ScopeStatus): string[] {
  return catalogue
    .filter((scope) => isOpen(scope, origin, reviewed === true))
    .filter((scope) => scope.access === 'identity' || !chosen || chosen.includes(scope.name))
    .map((scope) => scope.name)
}

function isOpen(scope: Scope, origin: ClientOrigin, reviewed: boolean): boolean {
  if (scope.audience === 'identity') return true
  // No client gets both member and operator scopes: only the origin `site` gets member scopes.
  if (scope.audience === 'member') return origin === 'site'
  if (origin === 'site') return false
  return origin !== 'document' || reviewed || scope.access === 'read'
}

/** Whether any of the scopes allows changes to a site. */
export function needsToChange(scopes: Iterable<string>): boolean {
  return [...scopes].some((name) => {
    const scope = findScope(name)
    return scope?.audience === 'operator' && scope.access === 'write'
  })
}

const haveAudience = (audience: Scope['audience']) => (scopes: Iterable<string>) =>
  [...scopes].some((name) => findScope(name)?.audience === audience)

/** Whether any of the scopes requires the person to operate a site. */
export const needsOperator = haveAudience('operator')

/** Whether any of the scopes requires the parameter `resource`, as all member scopes do. */
export const needsResource = haveAudience('member')
