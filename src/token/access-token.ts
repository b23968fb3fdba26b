import type { Adapter, AdapterPayload } from 'oidc-provider'

import type { FamilyStore } from '../grants/family-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { sha256 } from '../store/digest.ts'
import type { StateAdapter, StateStore } from '../store/oauth-state.ts'

/** A model of our own: marks of revoked access tokens, under the digest of the token. */
const MARKS = 'RevokedAccessToken'

/** How long an access token is remembered after its end. */
const ENDED_KEPT_SECONDS = 600

export type AccessTokens = ReturnType<typeof makeAccessTokens>

/**
 * What becomes of tokens: the exchange of a code, refresh, claims and revocation are a file
 * each in this folder, and here is the access token. Its records stay for a while after their
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
    /** Writes a token once; a second write of the same one, by a retry, changes nothing. */
    write: async (token: string, payload: AdapterPayload) =>
      await records.upsert(token, payload, keptSeconds(payload)),
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

/** As long as a token lives, and a while longer. */
function keptSeconds({ exp }: AdapterPayload): number {
  return Number(exp) - Math.floor(Date.now() / 1000) + ENDED_KEPT_SECONDS
}

export interface AccessTokenDependencies {
  readonly state: StateStore
  readonly families: Pick<FamilyStore, 'end'>
  readonly grants: Pick<GrantStore, 'end'>
  /** Writes the access token of a code and begins its family, which uses the code up. */
  readonly completeExchange: (token: string, payload: AdapterPayload) => Promise<void>
  readonly now: () => number
}

/** Access tokens as the engine writes and removes them. */
export function accessTokenAdapter(
  records: StateAdapter,
  { state, families, grants, completeExchange, now }: AccessTokenDependencies,
): Pick<Adapter, 'upsert' | 'destroy'> {
  return {
    upsert: async (id, payload) => await completeExchange(id, payload),
    // Its client revokes it, and with it what came of the same exchange (RFC 7009 §2.1).
    async destroy(id) {
      const { family, grantId } = (await records.find(id)) ?? {}
      const mark = state.adapterFor(MARKS).upsert(sha256(id), {}, ENDED_KEPT_SECONDS)
      await Promise.all([
        mark,
        records.destroy(id),
        // One of the version before is of no family, and all of its grant goes.
        typeof family === 'string'
          ? families.end(family, now())
          : grantId && grants.end({ id: grantId }, 'the client revoked it'),
      ])
    },
  }
}
