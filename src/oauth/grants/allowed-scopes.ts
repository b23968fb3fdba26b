import { OPENID } from '../../directory/scopes/catalogue.ts'

/** A consent in the engine's format: OpenID Connect scopes and claims, resource scopes, and refusals. */
export interface Allowed {
  readonly openid?: { readonly scope?: string; readonly claims?: readonly string[] } | undefined
  readonly resources?: Readonly<Record<string, string>> | undefined
  readonly rejected?: Pick<Allowed, 'openid' | 'resources'> | undefined
}

/** Copies the consent from the engine's `Grant` object. */
export function allowedIn(record: object): Allowed {
  const { openid, resources, rejected } = record as Allowed
  return JSON.parse(JSON.stringify({ openid, resources, rejected }))
}

/** Merges the scopes and claims of two consents. Keeps the refusals of the later consent. */
export function allowedByEither(earlier: Allowed, later: Allowed): Allowed {
  const scopes = (...texts: readonly (string | undefined)[]) =>
    [...new Set(texts.join(' ').split(' ').filter(Boolean))].join(' ')
  const claims = [...(earlier.openid?.claims ?? []), ...(later.openid?.claims ?? [])]
  const resources = { ...earlier.resources, ...later.resources }
  return {
    ...later,
    openid: {
      scope: scopes(earlier.openid?.scope, later.openid?.scope),
      ...(claims.length > 0 && { claims: [...new Set(claims)] }),
    },
    resources: Object.fromEntries(
      Object.keys(resources).map((name) => [
        name,
        scopes(earlier.resources?.[name], later.resources?.[name]),
      ]),
    ),
  }
}

/** Returns the granted scopes that are not refused. Without `resource`, returns the OpenID Connect scopes. */
export function allowedScopes(
  { openid, resources, rejected }: Allowed,
  resource?: string,
): string[] {
  const scopes = (text = '') => text.split(' ').filter(Boolean)
  const given = scopes(resource === undefined ? openid?.scope : resources?.[resource])
  const refused = new Set(
    scopes(resource === undefined ? rejected?.openid?.scope : rejected?.resources?.[resource]),
  )
  // `openid` cannot be refused separately, because every sign-in requires it.
  return given.filter(
    (scope) => !refused.has(scope) || (resource === undefined && scope === OPENID),
  )
}
