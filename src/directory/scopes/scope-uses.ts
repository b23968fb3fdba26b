import { findScope, type Scope } from './catalogue.ts'

/** A path of this deployment, and the operator scopes that its operations require. */
interface ScopedAddress {
  readonly address: string
  readonly scopes: Iterable<string>
}

export type ScopeUses = ReturnType<typeof makeScopeUses>

/** Creates the lookup of the paths at which an operator scope grants access. Calls `list` once, at the first lookup. */
export function makeScopeUses(list: () => readonly ScopedAddress[]) {
  let listed: { readonly address: string; readonly scopes: ReadonlySet<string> }[] | undefined
  const addressesOf = (name: string): readonly string[] => {
    listed ??= list().map(({ address, scopes }) => ({ address, scopes: new Set(scopes) }))
    return listed.filter(({ scopes }) => scopes.has(name)).map(({ address }) => address)
  }
  return {
    addressesOf,
    /** Whether a scope grants any access in this deployment. Identity and member scopes always do. */
    isUsed: (name: string) =>
      findScope(name)?.audience !== 'operator' || addressesOf(name).length > 0,
  }
}

/**
 * Describes what scopes allow an application to do, as the ends of "can see …" and "can change …". Keeps the order of
 * the names, omits unknown ones, and marks scopes that this deployment does not use.
 */
export function describeScopes(names: readonly string[], { isUsed }: Pick<ScopeUses, 'isUsed'>) {
  const known = names.flatMap((name) => findScope(name) ?? [])
  const sentences = (verb: string) =>
    known
      .filter((scope) => verbOf(scope) === verb)
      .map(({ name, sentence }) =>
        isUsed(name) ? sentence : `${sentence} (this service does not offer that yet)`,
      )
  return { canSee: sentences('see'), canChange: sentences('change') }
}

/** Describes one scope, as "can see …" or "can change …". */
export function describeScope(scope: Scope): string {
  return `can ${verbOf(scope)} ${scope.sentence}`
}

function verbOf({ access }: Scope): 'see' | 'change' {
  return access === 'write' ? 'change' : 'see'
}
