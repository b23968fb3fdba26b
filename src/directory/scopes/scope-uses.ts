import { findScope, type Scope } from './catalogue.ts'

/** An address of this deployment, and the scopes of operators that open something there. */
interface Opening {
  readonly address: string
  readonly scopes: Iterable<string>
}

export type ScopeUses = ReturnType<typeof makeScopeUses>

/**
 * What the scopes of operators open in this deployment.
 *
 * @param list is called once, with the first question
 */
export function makeScopeUses(list: () => readonly Opening[]) {
  let known: Map<string, string[]> | undefined
  /** Where a scope of operators opens something, if anywhere. */
  const addressesOf = (scope: string): readonly string[] => {
    known ??= addressesByScope(list())
    return known.get(scope) ?? []
  }
  return {
    addressesOf,
    /** Whether a scope opens anything. Those of identity and of members always do. */
    opensAnything: (scope: string) =>
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
  { opensAnything }: Pick<ScopeUses, 'opensAnything'>,
) {
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
