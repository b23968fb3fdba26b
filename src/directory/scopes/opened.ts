import { findScope, type Scope } from './catalogue.ts'

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

/**
 * What scopes let an application see and change, in words: ends of "can see …" and of "can change …",
 * in the order of the names. A person who allows what opens nothing in this deployment is told so.
 */
export function describeScopes(
  names: readonly string[],
  { opensAnything }: Pick<OpenedScopes, 'opensAnything'>,
): {
  canSee: string[]
  canChange: string[]
} {
  const known = names.flatMap((name) => findScope(name) ?? [])
  const sentences = (verb: string) =>
    known
      .filter((scope) => verbOf(scope) === verb)
      .map(({ name, sentence }) =>
        opensAnything(name) ? sentence : `${sentence} (${NOTHING_YET})`,
      )
  return { canSee: sentences('see'), canChange: sentences('change') }
}

const NOTHING_YET = 'this service does not offer that yet'

/** What one scope lets an application do: "can see …" or "can change …". */
export function describeScope(scope: Scope): string {
  return `can ${verbOf(scope)} ${scope.sentence}`
}

function verbOf({ access }: Scope): 'see' | 'change' {
  return access === 'write' ? 'change' : 'see'
}
