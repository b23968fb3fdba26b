import { randomBytes } from 'node:crypto'

import { z } from 'zod'

import { isLoopbackRedirect } from '../../platform/http/redirect-uri.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { type Client, grantTypesServed, type LoopbackRegistration } from './client.ts'
import type { UnusedClients } from './unused-clients.ts'

export type LoopbackClients = ReturnType<typeof makeLoopbackClients>

export interface LoopbackClientDependencies {
  /** The records of the model `Client`. */
  readonly records: Pick<StateAdapter, 'find' | 'upsert' | 'destroy'>
  readonly unused: UnusedClients
  readonly loopbackHosts: readonly string[]
  /** After how long a client is forgotten with which nobody allowed anything. */
  readonly unusedSeconds: number
  /** After how long without use any other is. */
  readonly idleSeconds: number
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
  postLogoutRedirectUris: z.array(z.string()).default([]),
  grantTypes: z.array(z.enum(grantTypesServed)),
  usedAtMs: z.number(),
  /** Nobody allowed anything yet; a record of an older version does not say. */
  unused: z.literal(true).optional(),
})

type LoopbackRecord = z.infer<typeof record>

/**
 * Self-registered clients on the person's own computer. They live in the state store, which forgets
 * them by itself when nobody used them for a while (design 8), in whatever kind of store it is. Anybody can
 * make one, and begin to ask with it: what counts as its first use is that a person allowed something.
 */
export function makeLoopbackClients(dependencies: LoopbackClientDependencies) {
  const { records, unused, loopbackHosts, unusedSeconds, idleSeconds, now } = dependencies
  // The engine's type of a record lists its own models; ours goes into it as one member.
  const keep = async (clientId: string, kept: LoopbackRecord) =>
    await records.upsert(
      clientId,
      { extra: { ...kept } },
      kept.unused ? unusedSeconds : idleSeconds,
    )

  return {
    /** Uses a client that was used before, so that it lives on; nothing when it is unknown or was forgotten. */
    async find(clientId: string) {
      const stored = await records.find(clientId)
      const parsed = record.safeParse(stored?.extra)
      if (!parsed.success) return undefined
      // A use a day moves the end on; a write at each use would buy nothing more.
      const usedAtMs = now()
      if (!parsed.data.unused && usedAtMs - parsed.data.usedAtMs > DAY_MS) {
        await keep(clientId, { ...parsed.data, usedAtMs })
      }
      return clientOf(clientId, parsed.data, loopbackHosts)
    },
    /** A person allowed something with the client. */
    async use(clientId: string): Promise<void> {
      const { extra } = (await records.find(clientId)) ?? {}
      const parsed = record.safeParse(extra)
      if (!parsed.data?.unused) return
      const { unused: _first, ...kept } = parsed.data
      await keep(clientId, { ...kept, usedAtMs: now() })
      await unused.remove(clientId)
    },
    /** @param address where it came from, whose network may have so many unused ones */
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
      const giveWay = await unused.add(clientId, address)
      await Promise.all(giveWay.map(async (id) => await records.destroy(id)))
      return { clientId, issuedAtSeconds: Math.floor(now() / 1000) }
    },
  }
}

function clientOf(
  clientId: string,
  { name, redirectUris, postLogoutRedirectUris, grantTypes }: LoopbackRecord,
  loopbackHosts: readonly string[],
): Client | undefined {
  // An operator who switches localhost off means the clients that are registered already, too.
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
