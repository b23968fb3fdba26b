import { createHmac, randomBytes } from 'node:crypto'

import { z } from 'zod'

import type { ServicePolicy } from '../../config/config.ts'
import { isLoopbackRedirect } from '../../platform/http/redirect-uri.ts'
import { networkOf } from '../../platform/limits/client-network.ts'
import type { Platform } from '../../platform/platform.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { type Client, grantTypesServed } from './client.ts'

interface LoopbackClientDependencies
  extends Pick<Platform, 'database' | 'now'>,
    Pick<ServicePolicy, 'loopbackHosts' | 'registration'> {
  readonly records: Pick<StateAdapter, 'find' | 'upsert' | 'destroy'>
  /** The key for the digests of networks. IP addresses are not stored. */
  readonly networkKey: Buffer
}

const ID_PREFIX = 'loopback_'
const DAY_MS = 86_400_000

/** Whether the client_id has the format of a loopback client. */
export function isLoopbackClientId(clientId: string): boolean {
  return /^loopback_[\w-]{22}$/.test(clientId)
}

const texts = z.array(z.string()).readonly()

const record = z.object({
  name: z.string().optional(),
  redirectUris: texts,
  postLogoutRedirectUris: texts.default([]),
  grantTypes: z.array(z.enum(grantTypesServed)).readonly(),
  usedAtMs: z.number(),
  /** Whether no person has consented to this client yet. */
  unused: z.boolean(),
})

type LoopbackRecord = z.infer<typeof record>

/** The metadata that a loopback client chose at its registration. */
export type LoopbackRegistration = Omit<z.input<typeof record>, 'usedAtMs' | 'unused'>

/**
 * Manages clients that register themselves: programs on a person's computer. They are records in the state store, which
 * expire if they are not used (design 8). Any caller can register a client and start authorizations, so a client counts
 * as used only once a person has consented.
 */
export function makeLoopbackClients(dependencies: LoopbackClientDependencies) {
  const { database, records, loopbackHosts, registration: policy, now } = dependencies
  const find = async (clientId: string) =>
    record.safeParse((await records.find(clientId))?.extra).data
  // The engine's record type has no fields for our data, so the whole record is stored in `extra`.
  const keep = async (clientId: string, kept: LoopbackRecord) => {
    const ttlSeconds = kept.unused ? policy.unusedClientSeconds : policy.idleClientSeconds
    await records.upsert(clientId, { extra: { ...kept } }, ttlSeconds)
  }

  return {
    /** Finds a client, and extends its lifetime if it has been used. */
    async find(clientId: string) {
      const found = await find(clientId)
      if (!found) return undefined
      // Write at most once a day.
      const usedAtMs = now()
      if (!found.unused && usedAtMs - found.usedAtMs > DAY_MS) {
        await keep(clientId, { ...found, usedAtMs })
      }
      return loopbackClient(clientId, found, loopbackHosts)
    },
    /** Marks the client as used after a person has consented. */
    async use(clientId: string): Promise<void> {
      const found = await find(clientId)
      if (!found?.unused) return
      await keep(clientId, { ...found, unused: false, usedAtMs: now() })
      await database.kysely.deleteFrom('unused_client').where('client_id', '=', clientId).execute()
    },
    /** Registers a client. Deletes the oldest unused clients of the caller's network if the network has too many. */
    async register(registration: LoopbackRegistration, address: string) {
      const clientId = ID_PREFIX + randomBytes(16).toString('base64url')
      await keep(clientId, record.parse({ ...registration, usedAtMs: now(), unused: true }))
      const displaced = await countUnused(clientId, address, dependencies)
      await Promise.all(displaced.map(async (id) => await records.destroy(id)))
      return { clientId, issuedAtSeconds: Math.floor(now() / 1000) }
    },
  }
}

/**
 * Counts an unused client against the limit of the caller's network (design 8). If there are too many, returns the ids
 * of the oldest clients, to be deleted. Rejecting new clients instead would let one caller block its whole network.
 */
async function countUnused(
  clientId: string,
  address: string,
  { database: { kysely }, networkKey, registration, now }: LoopbackClientDependencies,
): Promise<readonly string[]> {
  const { unusedClientSeconds, unusedClientsPerNetworkMax: max } = registration
  const digest = createHmac('sha256', networkKey).update(networkOf(address)).digest('base64url')
  const network = digest.slice(0, 22)
  const registered_at = now()
  const expires_at = registered_at + unusedClientSeconds * 1000
  await kysely
    .insertInto('unused_client')
    .values({ client_id: clientId, network, registered_at, expires_at })
    .execute()
  const tooMany = kysely
    .selectFrom('unused_client')
    .select('client_id')
    .where('network', '=', network)
    .orderBy('registered_at', 'desc')
    .orderBy('client_id')
    .offset(max)
    .limit(max)
  const deletion = kysely.deleteFrom('unused_client').where('client_id', 'in', tooMany)
  const displaced = await deletion.returning('client_id').execute()
  return displaced.map((row) => row.client_id)
}

function loopbackClient(
  clientId: string,
  { name, redirectUris, postLogoutRedirectUris, grantTypes }: LoopbackRecord,
  loopbackHosts: readonly string[],
): Client | undefined {
  // Check the hosts at each use, because disabling localhost must also affect existing clients.
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
    // Only native clients may vary the port of a loopback URI (RFC 8252 §7.3).
    applicationType: 'native',
    grantTypes,
    state: 'active',
  }
}
