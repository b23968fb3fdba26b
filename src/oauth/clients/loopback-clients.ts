import { createHmac, randomBytes } from 'node:crypto'

import { z } from 'zod'

import { isLoopbackRedirect } from '../../platform/http/redirect-uri.ts'
import { networkOf } from '../../platform/limits/client-network.ts'
import type { Database } from '../../platform/store/database.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { type Client, grantTypesServed, type LoopbackRegistration } from './client.ts'

export type LoopbackClients = ReturnType<typeof makeLoopbackClients>

export interface LoopbackClientDependencies {
  /** The records of the model `Client`. */
  readonly records: Pick<StateAdapter, 'find' | 'upsert' | 'destroy'>
  readonly database: Database
  /** Key of the digests of networks, so that a reader of the database learns no address. */
  readonly networkKey: Buffer
  readonly loopbackHosts: readonly string[]
  readonly registration: {
    /** After how long a client is forgotten with which no person allowed anything. */
    readonly unusedClientSeconds: number
    readonly unusedClientsPerNetworkMax: number
    /** After how long without use any other is. */
    readonly idleClientSeconds: number
  }
  readonly now: () => number
}

const ID_PREFIX = 'loopback_'
const DAY_MS = 86_400_000

/** Whether an id can be that of a loopback client. */
export function isLoopbackClientId(clientId: string): boolean {
  return /^loopback_[\w-]{22}$/.test(clientId)
}

const record = z.object({
  name: z.string().optional(),
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  grantTypes: z.array(z.enum(grantTypesServed)),
  usedAtMs: z.number(),
  /** Until a person allows something with the client. */
  unused: z.boolean(),
})

type LoopbackRecord = z.infer<typeof record>

/**
 * Self-registered clients on the person's own computer. They live in the state store, which forgets
 * clients that are not used for a while (design 8), in every kind of store. Any caller can register one
 * and begin to ask with it: its first use is when a person allows something.
 */
export function makeLoopbackClients(dependencies: LoopbackClientDependencies) {
  const { records, loopbackHosts, registration: policy, now } = dependencies
  const find = async (clientId: string) =>
    record.safeParse((await records.find(clientId))?.extra).data
  // The engine's type of a record lists its own models; ours goes into it as one member.
  const keep = async (clientId: string, kept: LoopbackRecord) => {
    const ttlSeconds = kept.unused ? policy.unusedClientSeconds : policy.idleClientSeconds
    await records.upsert(clientId, { extra: { ...kept } }, ttlSeconds)
  }

  return {
    /** Prolongs the life of a client that was used before; undefined for an unknown or forgotten one. */
    async find(clientId: string) {
      const found = await find(clientId)
      if (!found) return undefined
      // One write a day is enough.
      const usedAtMs = now()
      if (!found.unused && usedAtMs - found.usedAtMs > DAY_MS) {
        await keep(clientId, { ...found, usedAtMs })
      }
      return clientOf(clientId, found, loopbackHosts)
    },
    /** A person allowed something with the client. */
    async use(clientId: string): Promise<void> {
      const found = await find(clientId)
      if (!found?.unused) return
      await keep(clientId, { ...found, unused: false, usedAtMs: now() })
      await dependencies.database.kysely
        .deleteFrom('unused_client')
        .where('client_id', '=', clientId)
        .execute()
    },
    /** @param address where it came from, whose network may have a limited number of unused ones */
    async register(registration: LoopbackRegistration, address: string) {
      const { name, redirectUris, postLogoutRedirectUris = [], grantTypes } = registration
      const clientId = ID_PREFIX + randomBytes(16).toString('base64url')
      await keep(clientId, {
        name,
        redirectUris: [...redirectUris],
        postLogoutRedirectUris: [...postLogoutRedirectUris],
        grantTypes: [...grantTypes],
        usedAtMs: now(),
        unused: true,
      })
      const displaced = await countUnused(clientId, address, dependencies)
      await Promise.all(displaced.map(async (id) => await records.destroy(id)))
      return { clientId, issuedAtSeconds: Math.floor(now() / 1000) }
    },
  }
}

/**
 * Counts an unused client for the network of an address, which bounds what any caller can store
 * (design 8). The oldest give way, because a client that a person waits for is seconds old, and a refusal
 * would let one caller keep all others of a network from registering.
 *
 * @returns the ids of the clients that give way
 */
async function countUnused(
  clientId: string,
  address: string,
  { database: { kysely }, networkKey, registration, now }: LoopbackClientDependencies,
): Promise<readonly string[]> {
  const { unusedClientSeconds, unusedClientsPerNetworkMax: max } = registration
  const digest = createHmac('sha256', networkKey).update(networkOf(address)).digest('base64url')
  const network = digest.slice(0, 22)
  const registeredAt = now()
  await kysely
    .insertInto('unused_client')
    .values({
      client_id: clientId,
      network,
      registered_at: registeredAt,
      expires_at: registeredAt + unusedClientSeconds * 1000,
    })
    .execute()
  const displaced = await kysely
    .selectFrom('unused_client')
    .select('client_id')
    .where('network', '=', network)
    .orderBy('registered_at', 'desc')
    .orderBy('client_id')
    .offset(max)
    .limit(max)
    .execute()
  const ids = displaced.map((row) => row.client_id)
  if (ids.length === 0) return []
  await kysely.deleteFrom('unused_client').where('client_id', 'in', ids).execute()
  return ids
}

function clientOf(
  clientId: string,
  { name, redirectUris, postLogoutRedirectUris, grantTypes }: LoopbackRecord,
  loopbackHosts: readonly string[],
): Client | undefined {
  // Switching localhost off also applies to clients that are registered already.
  const isAdmitted = (uri: string) => isLoopbackRedirect(uri, loopbackHosts)
  const admitted = redirectUris.filter(isAdmitted)
  if (admitted.length === 0) return undefined
  return {
    clientId,
    origin: 'loopback',
    name: name ?? 'Unnamed program',
    redirectUris: admitted,
    postLogoutRedirectUris: postLogoutRedirectUris.filter(isAdmitted),
    authMethod: 'none',
    // Only a native client may vary the port of a loopback address (RFC 8252 §7.3).
    applicationType: 'native',
    grantTypes,
    state: 'active',
  }
}
