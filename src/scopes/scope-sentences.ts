import { catalogue } from './catalogue.ts'

/** What scopes mean in words: ends of "can see …" and of "can change …", in the catalogue's order. */
export function describeScopes(scopes: readonly string[]): {
  canSee: string[]
  canChange: string[]
} {
  const known = catalogue.filter(({ name }) => scopes.includes(name))
  const sentences = (write: boolean) =>
    known.filter(({ access }) => (access === 'write') === write).map(({ sentence }) => sentence)
  return { canSee: sentences(false), canChange: sentences(true) }
}
