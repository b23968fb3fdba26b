import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider'

import { sha256 } from '../store/digest.ts'
import type { StateAdapter, StateStore } from '../store/oauth-state.ts'
import type { Resources } from './resource-indicators.ts'

/** A model of our own: marks of revoked access tokens, under the digest of the token. */
const MARKS = 'RevokedAccessToken'

/** How long an access token is remembered after its end. */
const ENDED_KEPT_SECONDS = 600

export type AccessTokens = ReturnType<typeof makeAccessTokens>

/**
 * What becomes of tokens: the exchange of a code, refresh, claims, revocation and introspection are a
 * file each in this folder, and here is the access token. Its records stay for a while after their
 * end, and a revoked one leaves a mark. To the caller all tokens that are worth nothing are alike;
 * whoever reads the log wants to know whether a client kept using a token that had expired, one that
 * was revoked, or one that this service never issued.
 */
export function makeAccessTokens(state: StateStore) {
  const records = state.adapterFor('AccessToken')
  const marks = state.adapterFor(MARKS)
  return {
    /** The record of a token, also after its end. One round trip. */
    find: (token: string) => records.find(token),
    /** Why the store does not know a token. One round trip, made for refused tokens only. */
    async whyUnknown(token: string): Promise<string> {
      return (await marks.find(sha256(token)))
        ? 'the token was revoked'
        : 'the token is unknown: never issued, or ended with its grant or long ago'
    },
  }
}

/** Whether a token is past its end, by the machine's clock, by which the engine has set it. */
export function isPastEnd({ exp }: AdapterPayload): boolean {
  return Number(exp) * 1000 <= Date.now()
}

/** Access tokens as the engine is shown them. */
export function accessTokenAdapter(
  records: StateAdapter,
  state: StateStore,
  resources: Resources,
): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(id) {
      const stored = await records.find(id)
      // At its own endpoints the engine would take it for 15 seconds more, as a tolerance of clocks.
      if (!stored || (Provider.ctx?.oidc !== undefined && isPastEnd(stored))) return undefined
      return forUserinfo(stored, resources)
    },
    upsert: (id, payload, ttlSeconds) =>
      records.upsert(id, payload, ttlSeconds && ttlSeconds + ENDED_KEPT_SECONDS),
    async destroy(id) {
      const mark = state.adapterFor(MARKS).upsert(sha256(id), {}, ENDED_KEPT_SECONDS)
      await Promise.all([records.destroy(id), mark])
    },
  }
}

/**
 * UserInfo accepts the origin-bound token (design 4). The engine refuses any token with an audience
 * there, so that it is shown one without; the stored token keeps its own.
 */
function forUserinfo(stored: AdapterPayload, { audience }: Resources): AdapterPayload {
  if (Provider.ctx?.oidc?.route !== 'userinfo' || stored.aud !== audience) return stored
  const { aud: _audience, ...unbound } = stored
  return unbound
}
