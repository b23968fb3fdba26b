import { findScope } from './catalogue.ts'

/** An address of this deployment, and the scopes of operators that open something there. */
export interface Opening {
  readonly address: string
  readonly scopes: Iterable<string>
}

/** What the scopes of operators open in this deployment. */
export interface OpenedScopes {
  /** Where a scope of operators opens something, if anywhere. */
  addressesOf(scope: string): readonly string[]
  /** Whether a scope opens anything. Those of identity and of members always do. */
  opensAnything(scope: string): boolean
}

/** @param list is asked at the first question, and once */
export function makeOpenedScopes(list: () => readonly Opening[]): OpenedScopes {
  let known: Map<string, string[]> | undefined
  const addressesOf = (scope: string) => {
    known ??= addressesByScope(list())
    return known.get(scope) ?? []
  }
  return {
    addressesOf,
    opensAnything: (scope) =>
      findScope(scope)?.audience !== 'operator' || addressesOf(scope).length > 0,
  }
}

function addressesByScope(openings: readonly Opening[]): Map<string, string[]> {
  const known = new Map<string, string[]>()
  for (const { address, scopes } of openings) {
    for (const scope of scopes) known.set(scope, [...(known.get(scope) ?? []), address])
  }
  return known
}
