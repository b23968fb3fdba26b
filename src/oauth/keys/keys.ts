import type { JWK } from 'oidc-provider'

import { type Cursors, makeCursors } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import { makeSecretRoot, readOrMakeSecret, type SecretRoot } from './secret-root.ts'
import { type KeyDependencies, type KeyUse, loadKeyRing, readKeyRing } from './signing-keys.ts'

export interface KeySettings {
  /** Root secrets, the current one first; without any, one is made in `dataDir`. */
  readonly secrets: readonly string[] | undefined
  readonly dataDir: string
  readonly policy: KeyDependencies['policy']
  readonly database: Database
  readonly now: () => number
}

/** The keys that sign now. They follow a rotation by being loaded again. */
export interface Rings {
  /** Private keys for the engine, the one that signs first. */
  readonly tokens: readonly JWK[]
  /** Private keys for what is forwarded, the one that signs first; none where nothing is forwarded. */
  readonly upstreams: readonly JWK[]
  /** When the key that signs first was made, in epoch milliseconds. */
  readonly madeAt: { readonly [Use in KeyUse]: number | undefined }
  /** Changes when any of them does. */
  readonly version: string
}

/** Everything secret that the service has: its root secrets, and the keys that sign tokens. */
export interface Keys {
  readonly secretRoot: SecretRoot
  /** Signs the cursors of every list. */
  readonly cursors: Cursors
  readonly signing: Readonly<Record<KeyUse, KeyDependencies>>
  /**
   * @param forwards whether this process forwards anything, and so needs a key for it; those that
   *   another process made are published in any case
   */
  loadRings(forwards: boolean): Promise<Rings>
}

export function openKeys({ secrets, dataDir, policy, database, now }: KeySettings): Keys {
  const secretRoot = makeSecretRoot(secrets ?? [readOrMakeSecret(dataDir)])
  const common = { database, secretRoot, policy, now }
  const signing = {
    tokens: { ...common, use: 'tokens' },
    upstreams: { ...common, use: 'upstreams' },
  } as const
  const cursors = makeCursors(secretRoot.cursorKeys)
  return {
    secretRoot,
    cursors,
    signing,
    async loadRings(forwards) {
      const tokens = await loadKeyRing(signing.tokens)
      const upstreams = await (forwards ? loadKeyRing : readKeyRing)(signing.upstreams)
      const version = [tokens.version, upstreams.version].filter((part) => part !== '').join(' | ')
      const madeAt = { tokens: tokens.madeAt, upstreams: upstreams.madeAt }
      return { tokens: tokens.keys, upstreams: upstreams.keys, madeAt, version }
    },
  }
}
