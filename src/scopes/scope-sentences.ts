import { findScope, type Scope } from './catalogue.ts'

/**
 * What scopes let an application see and change, in words: ends of "can see …" and of "can change …",
 * in the order of the names.
 */
export function describeScopes(names: readonly string[]): {
  canSee: string[]
  canChange: string[]
} {
  const known = names.flatMap((name) => findScope(name) ?? [])
  const sentences = (verb: string) =>
    known.filter((scope) => verbOf(scope) === verb).map(({ sentence }) => sentence)
  return { canSee: sentences('see'), canChange: sentences('change') }
}

/** What one scope lets an application do: "can see …" or "can change …". */
export function describeScope(scope: Scope): string {
  return `can ${verbOf(scope)} ${scope.sentence}`
}

function verbOf({ access }: Scope): 'see' | 'change' {
  return access === 'write' ? 'change' : 'see'
}
