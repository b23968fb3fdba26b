/** The signing keys and their rotation, and everything that derives from the secret. */

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { Transaction } from 'kysely'
import type { JWK } from 'oidc-provider'

import { makeCursors } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { makeSecretRoot, readOrMakeSecret, type SecretRoot } from './secret-root.ts'

export interface KeySettings {
  /** Root secrets, the current one first; without any, one is made in `dataDir`. */
  readonly secrets: readonly string[] | undefined
  readonly dataDir: string
  readonly policy: KeyDependencies['policy']
}

/** Everything secret that the service has: its root secrets, and the keys that sign tokens. */
export type Keys = ReturnType<typeof openKeys>

/** The private keys of each use, the one that signs first. */
export type Rings = ReturnType<typeof ringsOf>

export function openKeys(
  { secrets, dataDir, policy }: KeySettings,
  { database, now }: Pick<KeyDependencies, 'database' | 'now'>,
) {
  const secretRoot = makeSecretRoot(secrets ?? [readOrMakeSecret(dataDir)])
  const common = { database, secretRoot, policy, now }
  const signing = {
    tokens: { ...common, use: 'tokens' },
    upstreams: { ...common, use: 'upstreams' },
  } as const satisfies Record<KeyUse, KeyDependencies>
  return {
    secretRoot,
    /** Signs the cursors of every list. */
    cursors: makeCursors(secretRoot.cursorKeys),
    signing,
    /**
     * Opens the rings that sign now; `reload` follows a rotation.
     *
     * @param forwards whether this process forwards requests and so needs a key for it; keys that
     *   another process made are published in any case
     */
    async openRings(forwards: boolean) {
      const readUpstreams = forwards ? loadKeyRing : readKeyRing
      const load = async () =>
        ringsOf(await loadKeyRing(signing.tokens), await readUpstreams(signing.upstreams))
      let rings = await load()
      return {
        current: () => rings,
        /** Resolves with whether any key changed. */
        async reload(): Promise<boolean> {
          const found = await load()
          if (found.version === rings.version) return false
          rings = found
          return true
        },
      }
    },
  }
}

function ringsOf(tokens: KeyRing, upstreams: KeyRing) {
  return {
    tokens: tokens.keys,
    upstreams: upstreams.keys,
    /** When the key that signs was made, in epoch milliseconds. */
    madeAt: { tokens: tokens.madeAt, upstreams: upstreams.madeAt },
    /** Changes when any of the keys does. */
    version: [tokens.version, upstreams.version].filter((part) => part !== '').join(' | '),
  }
}

/**
 * The ES256 signing keys. `next` is published and signs nothing yet, `current` signs, `retired` is
 * still published until the last id_token that it signed has expired. A key is therefore known to
 * every process and every relying party before its first use, and rotation needs no restart.
 */
export type KeyRing = Awaited<ReturnType<typeof readKeyRing>>

export interface KeyDependencies {
  /** What the keys sign; no key of one use is ever a key of the other. */
  readonly use: KeyUse
  readonly database: Database
  readonly secretRoot: SecretRoot
  readonly policy: {
    /** How long a key must have been published before it may sign. */
    readonly publishLeadSeconds: number
    /** How long a key stays published after it signed last. */
    readonly retiredKeepSeconds: number
  }
  readonly now: () => number
}

/** id_tokens of the engine, or what is forwarded to the platform's own API. */
export type KeyUse = 'tokens' | 'upstreams'

/** Where the keys of each use stand, and under which name they are sealed. */
const places = {
  tokens: { table: 'signing_key', label: 'signing key' },
  upstreams: { table: 'upstream_key', label: 'upstream key' },
} as const satisfies Record<KeyUse, object>

export type KeyRow = Awaited<ReturnType<typeof listKeys>>[number]

/** The ring as it stands in the database, made there when the database has none. */
export async function loadKeyRing(dependencies: KeyDependencies): Promise<KeyRing> {
  const found = await readKeyRing(dependencies)
  if (found.keys.length > 0) return found
  await makeFirstKeys(dependencies)
  return await readKeyRing(dependencies)
}

/** Every published key, without its private part. */
export async function listKeys(dependencies: KeyDependencies) {
  const rows = await selectRing(dependencies)
  return rows.map(({ kid, state, created_at }) => ({ kid, state, createdAt: created_at }))
}

export interface Rotating {
  readonly force?: boolean
  /** Writes into the same transaction which key signs from now on. */
  readonly record: (transaction: Transaction<Schema>, kid: string) => Promise<void>
}

/**
 * Lets the next key sign, retires the current one and publishes a new next one, in one transaction.
 *
 * @returns the kid that signs from now on
 * @throws when the next key has not been published for `publishLeadSeconds` yet, because a process
 *   or a relying party might not know it; `force` is for a key that has leaked
 */
export async function rotateKeys(
  dependencies: KeyDependencies,
  { force = false, record }: Rotating,
): Promise<string> {
  const { use, database, policy, now } = dependencies
  const { table } = places[use]
  const successor = await makeKey(dependencies)
  return await database.kysely.transaction().execute(async (transaction) => {
    const next = await transaction
      .selectFrom(table)
      .select(['kid', 'created_at'])
      .where('state', '=', 'next')
      .executeTakeFirstOrThrow()
    const waitMs = next.created_at + policy.publishLeadSeconds * 1000 - now()
    if (waitMs > 0 && !force) {
      throw new Error(
        `the next key was published less than ${policy.publishLeadSeconds} s ago; ` +
          `wait ${Math.ceil(waitMs / 1000)} s, or rotate with --force`,
      )
    }
    await transaction
      .updateTable(table)
      .set({ state: 'retired', retired_at: now() })
      .where('state', '=', 'current')
      .execute()
    await transaction
      .updateTable(table)
      .set({ state: 'current', current_at: now() })
      .where('kid', '=', next.kid)
      .execute()
    await transaction.insertInto(table).values(successor).execute()
    await transaction.deleteFrom(table).where('retired_at', '<', keptSince(dependencies)).execute()
    await record(transaction, next.kid)
    return next.kid
  })
}

/** The ring as it stands in the database, which may have none. */
export async function readKeyRing(dependencies: KeyDependencies) {
  const rows = await selectRing(dependencies)
  return {
    /** Private keys in the order that the engine wants: the one that signs first. */
    keys: rows.map(
      ({ kid, sealed_private }): JWK =>
        JSON.parse(dependencies.secretRoot.open(sealed_private, label(dependencies.use, kid))),
    ),
    /** When the key that signs was made, in epoch milliseconds; nothing without keys. */
    madeAt: rows[0]?.created_at,
    /** Changes when the ring does. */
    version: rows.map(({ kid, state }) => `${kid}:${state}`).join(' '),
  }
}

const signingOrder = { current: 0, next: 1, retired: 2 } as const

const keptSince = ({ policy, now }: KeyDependencies) => now() - policy.retiredKeepSeconds * 1000

async function selectRing(dependencies: KeyDependencies) {
  const rows = await dependencies.database.kysely
    .selectFrom(places[dependencies.use].table)
    .select(['kid', 'state', 'sealed_private', 'created_at'])
    .where((e) =>
      e.or([e('retired_at', 'is', null), e('retired_at', '>', keptSince(dependencies))]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('kid')
    .execute()
  return rows.sort((a, b) => signingOrder[a.state] - signingOrder[b.state])
}

/** Several processes may start on one empty database; the first to write decides, the others read. */
async function makeFirstKeys(dependencies: KeyDependencies): Promise<void> {
  const [current, next] = await Promise.all([makeKey(dependencies), makeKey(dependencies)])
  await dependencies.database.kysely
    .insertInto(places[dependencies.use].table)
    .values([{ ...current, state: 'current', current_at: current.created_at }, next])
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

async function makeKey({ use, secretRoot, now }: KeyDependencies) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const bare = await exportJWK(publicKey)
  // RFC 7638: the name of a key follows from the key, so that two processes never share one by chance.
  const kid = await calculateJwkThumbprint(bare)
  const known = { kid, alg: 'ES256', use: 'sig' }
  const secret = JSON.stringify({ ...(await exportJWK(privateKey)), ...known })
  return {
    kid,
    state: 'next' as const,
    public_jwk: JSON.stringify({ ...bare, ...known }),
    sealed_private: secretRoot.seal(secret, label(use, kid)),
    created_at: now(),
    current_at: null,
    retired_at: null,
  }
}

const label = (use: KeyUse, kid: string) => `${places[use].label} ${kid}`
