/** A consent in the engine's format. It lists no rejected scopes, because people allow all requested scopes or none. */
export interface Allowed {
  readonly openid?:
    | { readonly scope?: string | undefined; readonly claims?: readonly string[] | undefined }
    | undefined
  readonly resources?: Readonly<Record<string, string>> | undefined
}

/** Merges the scopes and claims of two consents. */
export function allowedByEither(earlier: Allowed, later: Allowed): Allowed {
  const scopes = (...texts: readonly (string | undefined)[]) =>
    [...new Set(texts.join(' ').split(' ').filter(Boolean))].join(' ')
  const claims = [...(earlier.openid?.claims ?? []), ...(later.openid?.claims ?? [])]
  const resources = { ...earlier.resources, ...later.resources }
  return {
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

/** Returns the scopes that are granted for a resource; without `resource`, the OpenID Connect scopes. */
export function allowedScopes({ openid, resources }: Allowed, resource?: string): string[] {
  const granted = resource === undefined ? openid?.scope : resources?.[resource]
  return (granted ?? '').split(' ').filter(Boolean)
}
