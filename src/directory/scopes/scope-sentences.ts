import { findScope, type Scope } from './catalogue.ts'
import type { OpenedScopes } from './opened.ts'

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
