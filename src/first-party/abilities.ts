import { findScope } from '../scopes/catalogue.ts'

/** What scopes mean in words: ends of "can see …" and of "can change …". */
export function abilitiesOf(scopes: readonly string[]): { canSee: string[]; canChange: string[] } {
  const sentences = (write: boolean) =>
    scopes
      .flatMap((name) => findScope(name) ?? [])
      .filter(({ access }) => (access === 'write') === write)
      .map(({ sentence }) => sentence)
  return { canSee: sentences(false), canChange: sentences(true) }
}
