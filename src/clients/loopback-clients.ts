import { randomBytes } from 'node:crypto'

import { z } from 'zod'

import type { StateAdapter } from '../store/oauth-state.ts'
import { type Client, grantTypesServed, type LoopbackRegistration } from './client.ts'
import { isLoopbackRedirect } from './redirect-uri.ts'

export type LoopbackClients = ReturnType<typeof makeLoopbackClients>

export interface LoopbackClientDependencies {
  /** The records of the model `Client`. */
  readonly records: Pick<StateAdapter, 'find' | 'upsert'>
  readonly loopbackHosts: readonly string[]
  /** After how long without use a client is forgotten. */
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
})

type LoopbackRecord = z.infer<typeof record>

/**
 * Self-registered clients on the person's own computer. They live in the state store, which forgets
 * them by itself when nobody used them for a while (design 8), in whatever kind of store it is.
 */
export function makeLoopbackClients(dependencies: LoopbackClientDependencies) {
  const { records, loopbackHosts, idleSeconds, now } = dependencies
  // The engine's type of a record lists its own models; ours goes into it as one member.
  const keep = async (clientId: string, kept: LoopbackRecord) =>
    await records.upsert(clientId, { extra: { ...kept } }, idleSeconds)

  return {
    /** Uses the client, so that it lives on; nothing when it is unknown or was forgotten. */
    async find(clientId: string) {
      const stored = await records.find(clientId)
      const parsed = record.safeParse(stored?.extra)
      if (!parsed.success) return undefined
      // A use a day moves the end on; a write at each use would buy nothing more.
      const usedAtMs = now()
      if (usedAtMs - parsed.data.usedAtMs > DAY_MS) {
        await keep(clientId, { ...parsed.data, usedAtMs })
      }
      return clientOf(clientId, parsed.data, loopbackHosts)
    },
    async register(registration: LoopbackRegistration) {
      const { name, redirectUris, postLogoutRedirectUris = [], grantTypes } = registration
      const clientId = ID_PREFIX + randomBytes(16).toString('base64url')
      await keep(clientId, {
        name,
        redirectUris: [...redirectUris],
        postLogoutRedirectUris: [...postLogoutRedirectUris],
        grantTypes: [...grantTypes],
        usedAtMs: now(),
      })
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
