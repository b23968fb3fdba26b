import { findScope, type Scope } from './catalogue.ts'

/** An address of this deployment, and the operator scopes that some operation there requires. */
interface ScopedAddress {
  readonly address: string
  readonly scopes: Iterable<string>
}

export type ScopeUses = ReturnType<typeof makeScopeUses>

/**
 * Tells at which addresses of this deployment an operator scope is of use.
 *
 * @param list is called once, at the first question
 */
export function makeScopeUses(list: () => readonly ScopedAddress[]) {
  let listed: { readonly address: string; readonly scopes: ReadonlySet<string> }[] | undefined
  const addressesOf = (name: string): readonly string[] => {
    listed ??= list().map(({ address, scopes }) => ({ address, scopes: new Set(scopes) }))
    return listed.filter(({ scopes }) => scopes.has(name)).map(({ address }) => address)
  }
  return {
    addressesOf,
    /** Scopes of identity and of members are always in use. */
    isUsed: (name: string) =>
      findScope(name)?.audience !== 'operator' || addressesOf(name).length > 0,
  }
}

/**
 * Describes what scopes let an application see and change: the rest of "can see …" and "can change …", in the
 * order of the names. Marks scopes that are of no use in this deployment.
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

/** Describes one scope: "can see …" or "can change …". */
export function describeScope(scope: Scope): string {
  return `can ${verbOf(scope)} ${scope.sentence}`
}

function verbOf({ access }: Scope): 'see' | 'change' {
  return access === 'write' ? 'change' : 'see'
}
