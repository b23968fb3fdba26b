/**
 * Resource indicators (RFC 8707). Every accepted spelling denotes one audience, {base_url}: the
 * origin with or without a slash, and the two protected resources on it, which clients name because
 * their metadata documents do (design 3 and 5).
 */
export interface Resources {
  /** The audience of every bound token. */
  readonly audience: string
  /** The audience that a `resource` parameter denotes, or nothing when it is not of this origin. */
  canonical(resource: string): string | undefined
}

export function makeResources(baseUrl: string, protectedPaths: readonly string[]): Resources {
  const accepted = new Set([baseUrl, ...protectedPaths.map((path) => baseUrl + path)])
  return {
    audience: baseUrl,
    canonical(resource) {
      const url = URL.parse(resource)
      // RFC 8707 §2: an absolute URI without a fragment. Nothing else may be hidden in it either.
      if (!url || url.username || url.password || url.search || url.hash) return undefined
      if (/[?#@\\\s]/.test(resource) || resource.includes('/.')) return undefined
      const spelled = url.origin + url.pathname.replace(/\/$/, '')
      return accepted.has(spelled) ? baseUrl : undefined
    },
  }
}
