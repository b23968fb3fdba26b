import { randomBytes } from 'node:crypto'

import { z } from 'zod'

import { isLoopbackRedirect } from '../../platform/http/redirect-uri.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { type Client, grantTypesServed, type LoopbackRegistration } from './client.ts'
import { countUnused, forgetUnused, type UnusedClientDependencies } from './unused-client-limit.ts'

export interface LoopbackClientDependencies extends UnusedClientDependencies {
  readonly records: Pick<StateAdapter, 'find' | 'upsert' | 'destroy'>
  readonly loopbackHosts: readonly string[]
  readonly registration: UnusedClientDependencies['registration'] & {
    /** How long a client is kept after its last use, once a person has consented. */
    readonly idleClientSeconds: number
  }
}

const ID_PREFIX = 'loopback_'
const DAY_MS = 86_400_000

/** Whether the client_id has the format of a loopback client. */
export function isLoopbackClientId(clientId: string): boolean {
  return /^loopback_[\w-]{22}$/.test(clientId)
}

const record = z.object({
  name: z.string().optional(),
  redirectUris: z.array(z.string()),
  postLogoutRedirectUris: z.array(z.string()),
  grantTypes: z.array(z.enum(grantTypesServed)),
  usedAtMs: z.number(),
  /** Whether no person has consented to this client yet. */
  unused: z.boolean(),
})

type LoopbackRecord = z.infer<typeof record>

/**
 * Manages clients that programs on a person's computer register for themselves. They are records in the state store,
 * which expire if they are not used (design 8). Any caller can register a client and start authorizations, so a client
 * counts as used only after a consent.
 */
export function makeLoopbackClients(dependencies: LoopbackClientDependencies) {
  const { records, loopbackHosts, registration: policy, now } = dependencies
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
      return clientOf(clientId, found, loopbackHosts)
    },
    /** Marks the client as used after a person has consented. */
    async use(clientId: string): Promise<void> {
      const found = await find(clientId)
      if (!found?.unused) return
      await keep(clientId, { ...found, unused: false, usedAtMs: now() })
      await forgetUnused(clientId, dependencies)
    },
    /** Registers a client. Deletes the oldest unused clients of the caller's network if it has too many. */
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

function clientOf(
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
