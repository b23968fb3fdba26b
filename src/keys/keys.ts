import { type Cursors, makeCursors } from '../store/cursor.ts'
import type { Database } from '../store/database.ts'
import { makeSecretRoot, readOrMakeSecret, type SecretRoot } from './secret-root.ts'
import { type KeyDependencies, type KeyRing, loadKeyRing } from './signing-keys.ts'

export interface KeySettings {
  /** Root secrets, the current one first; without any, one is made in `dataDir`. */
  readonly secrets: readonly string[] | undefined
  readonly dataDir: string
  readonly policy: KeyDependencies['policy']
  readonly database: Database
  readonly now: () => number
}

/** Everything secret that the service has: its root secrets, and the keys that sign tokens. */
export interface Keys {
  readonly secretRoot: SecretRoot
  /** Signs the cursors of every list. */
  readonly cursors: Cursors
  readonly signing: KeyDependencies
  loadRing(): Promise<KeyRing>
}

export function openKeys({ secrets, dataDir, policy, database, now }: KeySettings): Keys {
  const secretRoot = makeSecretRoot(secrets ?? [readOrMakeSecret(dataDir)])
  const signing = { database, secretRoot, policy, now }
  const cursors = makeCursors(secretRoot.cursorKeys)
  return { secretRoot, cursors, signing, loadRing: () => loadKeyRing(signing) }
}
