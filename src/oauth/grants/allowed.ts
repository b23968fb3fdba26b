import { OPENID } from '../../directory/scopes/catalogue.ts'

/** What the engine keeps of a grant: scopes by resource, claims, and what was refused. */
export interface Allowed {
  readonly openid?: { readonly scope?: string; readonly claims?: readonly string[] } | undefined
  readonly resources?: Readonly<Record<string, string>> | undefined
  readonly rejected?: Pick<Allowed, 'openid' | 'resources'> | undefined
}

/** The part of the engine's record of a grant that is kept. */
export function allowedIn(record: object): Allowed {
  const { openid, resources, rejected } = record as Allowed
  return JSON.parse(JSON.stringify({ openid, resources, rejected }))
}

/** What two consents allow together. What was refused is what the later one says. */
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

/** The scopes that a person allowed for a resource, or without one: what was refused later is not. */
export function allowedScopes(
  { openid, resources, rejected }: Allowed,
  resource?: string,
): string[] {
  const scopes = (text = '') => text.split(' ').filter(Boolean)
  const given = scopes(resource === undefined ? openid?.scope : resources?.[resource])
  const refused = new Set(
    scopes(resource === undefined ? rejected?.openid?.scope : rejected?.resources?.[resource]),
  )
  // Without `openid` there would be no sign-in to speak of, so that it cannot be refused by itself.
  return given.filter(
    (scope) => !refused.has(scope) || (resource === undefined && scope === OPENID),
  )
}
