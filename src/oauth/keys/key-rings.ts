/** Stores and rotates the signing keys. */

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { Transaction } from 'kysely'
import type { JWK } from 'oidc-provider'

import type { Config, ServicePolicy } from '../../config/config.ts'
import { makeCursors } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { makeSecretRoot, readOrMakeSecret, type SecretRoot } from './secret-root.ts'

export type Keys = ReturnType<typeof openKeys>

/** The two key rings: one for tokens, and one for requests to upstreams. */
export type Rings = ReturnType<typeof ringsOf>

/** Opens the keys. Without configured root secrets, reads the root secret from `dataDir`, or creates it there. */
export function openKeys(
  { secrets, dataDir, service }: Config,
  { database, now }: Pick<KeyDependencies, 'database' | 'now'>,
) {
  const secretRoot = makeSecretRoot(secrets ?? [readOrMakeSecret(dataDir)])
  const policy = service.keys
  const keysFor = (use: KeyUse): KeyDependencies => ({ use, database, secretRoot, policy, now })
  const signing = { tokens: keysFor('tokens'), upstreams: keysFor('upstreams') }
  return {
    secretRoot,
    cursors: makeCursors(secretRoot.cursorKeys),
    signing,
    /**
     * Loads the key rings. `reload` loads them again after a rotation.
     *
     * @param forwards whether this process forwards requests. If so, missing `upstreams` keys are created.
     */
    async openRings(forwards: boolean) {
      const readUpstreams = forwards ? loadKeyRing : readKeyRing
      const load = async () =>
        ringsOf(await loadKeyRing(signing.tokens), await readUpstreams(signing.upstreams))
      let rings = await load()
      return {
        current: () => rings,
        /** Reloads the key rings. @returns whether a key or its state has changed */
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
    /** When the signing key of each ring was created, in epoch milliseconds. */
    madeAt: { tokens: tokens.madeAt, upstreams: upstreams.madeAt },
    version: [tokens.version, upstreams.version].filter((part) => part !== '').join(' | '),
  }
}

/**
 * The ES256 signing keys for one purpose (`KeyUse`). The `current` key signs tokens. The `next` key is published, too,
 * so that processes and verifiers load it before it is used, unless a rotation is forced. A `retired` key stays
 * published until everything that it signed has expired. Rotation needs no restart.
 */
export type KeyRing = Awaited<ReturnType<typeof readKeyRing>>

export interface KeyDependencies {
  readonly use: KeyUse
  readonly database: Database
  readonly secretRoot: SecretRoot
  readonly policy: ServicePolicy['keys']
  readonly now: () => number
}

/** `tokens`: for id_tokens and logout tokens. `upstreams`: for requests forwarded to the platform's own API. */
export type KeyUse = 'tokens' | 'upstreams'

/** The table for each `KeyUse`, and the label for sealing its keys. */
const places = {
  tokens: { table: 'signing_key', label: 'signing key' },
  upstreams: { table: 'upstream_key', label: 'upstream key' },
} as const satisfies Record<KeyUse, object>

export type KeyRow = Awaited<ReturnType<typeof listKeys>>[number]

/** Reads the key ring from the database. Creates it if it does not exist. */
export async function loadKeyRing(dependencies: KeyDependencies): Promise<KeyRing> {
  const found = await readKeyRing(dependencies)
  if (found.keys.length > 0) return found
  const [current, next] = await Promise.all([makeKey(dependencies), makeKey(dependencies)])
  await dependencies.database.kysely
    .insertInto(places[dependencies.use].table)
    .values([{ ...current, state: 'current' }, next])
    // If several processes create the first keys at the same time, the first write wins.
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return await readKeyRing(dependencies)
}

/** Lists the published keys: id, state and creation time. */
export async function listKeys(dependencies: KeyDependencies) {
  const rows = await selectRing(dependencies)
  return rows.map(({ kid, state, created_at }) => ({ kid, state, createdAt: created_at }))
}

/**
 * Rotates the keys in one transaction. The next key starts to sign, the current one retires, a new next key is
 * published, and old retired keys are deleted.
 *
 * @param record records the new signing key, in the same transaction
 * @returns the kid of the new signing key
 * @throws if the next key was published less than `publishLeadSeconds` ago, because a process or a verifier might not
 *   know it yet. `force` skips this check, for use after a key has leaked.
 */
export async function rotateKeys(
  dependencies: KeyDependencies,
  force: boolean,
  record: (transaction: Transaction<Schema>, kid: string) => Promise<void>,
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
    const update = transaction.updateTable(table)
    const retired = { state: 'retired', retired_at: now() } as const
    await update.set(retired).where('state', '=', 'current').execute()
    await update.set({ state: 'current' }).where('kid', '=', next.kid).execute()
    await transaction.insertInto(table).values(successor).execute()
    await transaction.deleteFrom(table).where('retired_at', '<', keptSince(dependencies)).execute()
    await record(transaction, next.kid)
    return next.kid
  })
}

/** Reads the key ring from the database. The ring is empty if it has not been created. */
export async function readKeyRing(dependencies: KeyDependencies) {
  const rows = await selectRing(dependencies)
  return {
    /** Private keys, the signing key first, as the engine requires. */
    keys: rows.map(
      ({ kid, sealed_private }): JWK =>
        JSON.parse(dependencies.secretRoot.open(sealed_private, label(dependencies.use, kid))),
    ),
    /** When the signing key was created, in epoch milliseconds; undefined without keys. */
    madeAt: rows[0]?.created_at,
    /** A text that changes whenever a key or its state changes. */
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

async function makeKey({ use, secretRoot, now }: KeyDependencies) {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  // The kid is derived from the key (RFC 7638), so it is unique.
  const kid = await calculateJwkThumbprint(publicKey)
  const secret = JSON.stringify({ ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' })
  return {
    kid,
    state: 'next' as const,
    sealed_private: secretRoot.seal(secret, label(use, kid)),
    created_at: now(),
    retired_at: null,
  }
}

const label = (use: KeyUse, kid: string) => `${places[use].label} ${kid}`
