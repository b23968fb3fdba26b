import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { AREA_SEPARATOR, paths } from '../../platform/http/paths.ts'
import { findScope, type Scope, scopeNames } from './catalogue.ts'

/** A path of this deployment, and the operator scopes that its operations require. */
interface ScopedAddress {
  readonly address: string
  readonly scopes: Iterable<string>
}

export type ScopeUses = ReturnType<typeof makeScopeUses>

/** Creates the functions that look up where operator scopes grant access. Calls `list` once, at the first lookup. */
export function makeScopeUses(list: () => readonly ScopedAddress[]) {
  let listed: readonly ScopedAddress[] | undefined
  const addressesOf = (name: string): readonly string[] => {
    listed ??= list()
    return listed.filter(({ scopes }) => [...scopes].includes(name)).map(({ address }) => address)
  }
  return {
    addressesOf,
    /** Returns the areas that programs can change through the Admin API, in alphabetical order. */
    changeableAreas: () =>
      scopeNames('operator')
        .filter((name) => findScope(name)?.access === 'write')
        .filter((name) => addressesOf(name).includes(paths.adminGraphql))
        .map((name) => name.slice(0, name.indexOf(':')))
        .sort(),
    /** Whether a scope grants any access in this deployment. Identity and member scopes always do. */
    isUsed: (name: string) =>
      findScope(name)?.audience !== 'operator' || addressesOf(name).length > 0,
  }
}

/**
 * Parses the areas in the path of a tool endpoint, such as `courses.students` (design 38). Areas must be in
 * alphabetical order without repetitions, so each set of areas has one canonical path.
 */
export function readChangeAreas(
  text: string,
  changeable: readonly string[],
): { readonly areas: readonly string[] } | { readonly problem: string } {
  const areas = text.split(AREA_SEPARATOR)
  const known = changeable.filter((area) => areas.includes(area))
  if (text !== '' && known.join(AREA_SEPARATOR) === text) return { areas }
  const isUnknown = areas.some((area) => !changeable.includes(area))
  return {
    problem: isUnknown
      ? `the path must name areas from this list, separated by dots: ${changeable.join(', ')}`
      : `the areas in the path must be in alphabetical order, each once: ${known.join(AREA_SEPARATOR)}`,
  }
}

/**
 * Describes what these scopes let an application do, as the ends of "can see …" and "can change …". Keeps the order,
 * omits unknown names, and marks scopes that this deployment does not use.
 */
export function describeScopes(names: readonly string[], { isUsed }: Pick<ScopeUses, 'isUsed'>) {
  const known = names.flatMap((name) => findScope(name) ?? [])
  const sentences = (verb: string) =>
    known
      .filter((scope) => verbOf(scope) === verb)
      .map(({ name, sentence }) => ({
        name,
        text: isUsed(name) ? sentence : text('scope.unused', { scope: sentence }),
      }))
  return { canSee: sentences('see'), canChange: sentences('change') }
}

/** Describes one scope, as "can see …" or "can change …". */
export function describeScope(scope: Scope): Html {
  return text(`scope.${verbOf(scope)}`, { scope: scope.sentence })
}

function verbOf({ access }: Scope): 'see' | 'change' {
  return access === 'write' ? 'change' : 'see'
}
