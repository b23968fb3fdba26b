import type { Adapter, AdapterPayload } from 'oidc-provider'

import {
  endOf,
  type FindRefreshToken,
  type FoundRefreshToken,
  type Judging,
  judgeGeneration,
  type RefreshTokenLifetimes,
} from './refresh-token-use.ts'

/**
 * A refresh token in the shape of an engine's record, made from the row of its family: for
 * introspection and revocation, which both show it as used once it was replaced.
 */
export function recordOf(
  value: string,
  { facts, former, generation }: FoundRefreshToken,
  judging: Judging,
): AdapterPayload | undefined {
  const family = former
    ? { ...former, steps: [former.issuedAt], generation: 0, ended: false, id: '', seed: '' }
    : facts?.family
  if (!facts || !family?.token.refreshes) return undefined
  const { grant } = facts
  const used = former?.answered || judgeGeneration(family, generation, judging).kind !== 'good'
  const issuedAt = family.steps.at(-1) ?? family.startedAt
  return {
    kind: 'RefreshToken',
    jti: value,
    accountId: grant.personId,
    clientId: grant.clientId,
    grantId: grant.id,
    scope: family.token.scopes.join(' '),
    sid: family.token.sid,
    iat: Math.floor(issuedAt / 1000),
    iiat: Math.floor(family.startedAt / 1000),
    exp: Math.floor(endOf(family, judging.lifetimes) / 1000),
    ...(used && { consumed: Math.floor(judging.nowMs / 1000) }),
  }
}

/** Refresh tokens as the engine is shown them. */
export function refreshTokenAdapter(
  findRefreshToken: FindRefreshToken,
  lifetimes: RefreshTokenLifetimes,
  now: () => number,
): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(value) {
      const found = await findRefreshToken(value)
      return found && recordOf(value, found, { lifetimes, nowMs: now() })
    },
    // The one that the engine makes of a code is given to nobody (authorization-code.ts).
    upsert: async () => {},
    // Its grant ends with it, and so does the family.
    destroy: async () => {},
  }
}
