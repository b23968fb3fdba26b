import type { ClientView } from '../../../views/client-view.ts'

const kinds: ReadonlyMap<string, ClientView['kind']> = new Map([
  ['integration', 'vendor'],
  ['site', 'operator-created'],
  ['loopback', 'loopback'],
])

/** What a connected client is called, by its origin at the time when it was connected. */
export function kindOfOrigin(origin: string): ClientView['kind'] {
  // Of what is not known otherwise nothing was checked.
  return kinds.get(origin) ?? 'self-declared'
}
