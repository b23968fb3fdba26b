import { findScope } from '../../directory/scopes/catalogue.ts'
import { forwardAuthFor } from '../../platform/http/paths.ts'

/** The scopes that a proxy demands, every one of them; or what is wrong with what it sent. */
export type WantedScopes =
  | { readonly scopes: readonly string[] }
  /** In words that whoever configured the proxy reads. */
  | { readonly problem: string }

/** What of a request names scopes. */
export interface ScopeSources {
  readonly path: string
  readonly query: string
  /** The headers `X-Forward-Auth-Scope`. */
  readonly headers: readonly string[]
}

/**
 * Reads the scopes that a proxy names, in the query or in the header; both count. Below the address
 * the path and the query are those of the guarded request, so that its caller writes them, and the
 * header alone is read. A caller who sends the header makes it harder for themselves only.
 */
export function readWantedScopes({ path, query, headers }: ScopeSources): WantedScopes {
  const parameters = new URLSearchParams(path.startsWith(forwardAuthFor) ? '' : query)
  const named = [...parameters.getAll('scope'), ...headers]
  const scopes = [...new Set(named.flatMap((text) => text.split(' ')).filter(Boolean))]
  // What was sent is not repeated: a sentence of ours goes to a log and to a page.
  const unknown = scopes.filter((scope) => !findScope(scope))
  if (unknown.length > 0) {
    const commas = unknown.some((scope) => scope.includes(','))
      ? '; scopes are separated by spaces and not by commas'
      : ''
    return {
      problem: `a scope that the proxy names is not in the catalogue: see scopes_supported${commas}`,
    }
  }
  return { scopes }
}
