import type { AccessFacts, FindGrant } from '../grants/access.ts'
import type { Family } from '../grants/family-store.ts'
import { endOf, type RefreshTokenLifetimes } from './refresh-token-use.ts'
import { makeTokenValues, type TokenClaim, type TokenValues } from './token-values.ts'

/**
 * A token that was issued here: what it says, and what decides now whether it may be used. Both follow
 * from the row of its family and from its grant, which one query reads together. Nothing is written when
 * a token is issued, and revoking one ends its family.
 */
export interface IssuedToken extends AccessFacts {
  readonly family: Family
  readonly clientId: string
  readonly personId: string
  /** The site of its grant; undefined for a plain sign-in. */
  readonly siteId: string | undefined
  readonly scopes: readonly string[]
  /** In epoch seconds, like the end. */
  readonly issuedAt: number
  readonly expiresAt: number
}

/** An access token, in the form in which everything that takes one passes it on. */
export interface AccessToken extends IssuedToken {
  readonly kind: 'access'
  /** The origin that it is bound to (RFC 8707); undefined for a plain sign-in. */
  readonly audience: string | undefined
  /** The thumbprint of the key that it is bound to (RFC 9449 §6). */
  readonly jkt: string | undefined
}

export interface RefreshToken extends IssuedToken {
  readonly kind: 'refresh'
  /** How often its family had been refreshed when it was issued. */
  readonly generation: number
}

/**
 * Finds a token with one query, also one that may not be used any more; nothing for what was never issued.
 *
 * @param callerId the client that asks, whose version the same query reads
 */
export type FindToken<Token> = (value: string, callerId?: string) => Promise<Token | undefined>
export type FindAccessToken = FindToken<AccessToken>
export type FindRefreshToken = FindToken<RefreshToken>

export interface TokenPorts {
  /** Queries at every call, because a refresh looks again when another one was quicker. */
  readonly findGrant: FindGrant
  /** Keys that authenticate tokens, the current one first. */
  readonly keys: readonly Buffer[]
  readonly lifetimes: RefreshTokenLifetimes & { readonly accessTokenSeconds: number }
}

/** How tokens are written, and found again. */
export interface Tokens {
  readonly values: TokenValues
  readonly findAccessToken: FindAccessToken
  readonly findRefreshToken: FindRefreshToken
}

export function makeTokens({ findGrant, keys, lifetimes }: TokenPorts): Tokens {
  const values = makeTokenValues(keys)
  const readFamily = async (claim: TokenClaim, callerId: string | undefined) => {
    const facts = await findGrant({ familyId: claim.familyId, callerId })
    if (!facts?.family || !claim.isGenuine(facts.family)) return undefined
    const { clientId, personId, siteId } = facts.grant
    return { ...facts, family: facts.family, clientId, personId, siteId }
  }
  return {
    values,

    async findAccessToken(value, callerId) {
      const claim = values.readAccessToken(value)
      const found = claim && (await readFamily(claim, callerId))
      if (!found) return undefined
      const { token } = found.family
      const issuedAt = claim.issuedAtSeconds
      const { accessTokenSeconds, refreshRetrySeconds } = lifetimes
      // A refresh that is repeated announces the lifetime again, so its token lives that much longer.
      const extraSeconds = claim.generation === 0 ? 0 : refreshRetrySeconds
      return {
        kind: 'access',
        ...found,
        scopes: claim.scopesOf(token.scopes),
        issuedAt,
        expiresAt: issuedAt + accessTokenSeconds + extraSeconds,
        audience: token.audience,
        jkt: token.jkt,
      }
    },

    async findRefreshToken(value, callerId) {
      const claim = values.readRefreshToken(value)
      const found = claim && (await readFamily(claim, callerId))
      if (!found) return undefined
      const { steps, startedAt, token } = found.family
      return {
        kind: 'refresh',
        ...found,
        generation: claim.generation,
        scopes: token.scopes,
        issuedAt: Math.floor((steps.at(-1) ?? startedAt) / 1000),
        expiresAt: Math.floor(endOf(found.family, lifetimes) / 1000),
      }
    },
  }
}
