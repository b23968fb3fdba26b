import type { AssuranceDemand } from '../../directory/scopes/sensitive-operations.ts'
import type { FindGrant } from '../grants/judge-access.ts'
import { expiryOf, type Lifetimes } from './refresh-token-use.ts'
import { makeTokenValues, type TokenClaim } from './token-values.ts'

/** An access token with all facts that decide whether it may be used. */
export interface AccessToken extends Found<'findAccessToken'> {
  /** The site's requirements for sensitive operations, if the sign-in does not meet them. */
  readonly unmetDemand?: AssuranceDemand | undefined
}

/** A refresh token with all facts that decide whether it may be used. */
export type RefreshToken = Found<'findRefreshToken'>

type Found<Finder extends 'findAccessToken' | 'findRefreshToken'> = NonNullable<
  Awaited<ReturnType<Tokens[Finder]>>
>

/**
 * Finds a token with one query, even if it has expired or was revoked. Returns undefined if it is not genuine, or if
 * its family has been deleted.
 *
 * @param callerId the client that sent the request; its version is read with the same query
 */
export type FindToken<Token> = (value: string, callerId?: string) => Promise<Token | undefined>

interface TokenPorts {
  /** Reads the grant of a token. Not memoized, because a refresh reads its family again after a concurrent change. */
  readonly findGrant: FindGrant
  /** Keys that authenticate tokens, the current one first. */
  readonly keys: readonly Buffer[]
  readonly lifetimes: Lifetimes
}

export type Tokens = ReturnType<typeof makeTokens>

/**
 * Creates the functions that write tokens and find them by their value. Tokens are not stored. The family id in a token
 * leads to its grant and all other facts.
 */
export function makeTokens({ findGrant, keys, lifetimes }: TokenPorts) {
  const values = makeTokenValues(keys)
  const readFamily = async (claim: TokenClaim, callerId: string | undefined) => {
    const facts = await findGrant({ familyId: claim.familyId, callerId })
    if (!facts?.family || !claim.isGenuine(facts.family)) return undefined
    const { clientId, personId, siteId } = facts.grant
    return { ...facts, family: facts.family, clientId, personId, siteId }
  }
  return {
    values,

    async findAccessToken(value: string, callerId?: string) {
      const claim = values.readAccessToken(value)
      const found = claim && (await readFamily(claim, callerId))
      if (!found) return undefined
      const { token } = found.family
      const issuedAt = claim.issuedAtSeconds
      const { accessTokenSeconds, refreshRetrySeconds } = lifetimes
      // A retry returns the same token with the full `expires_in`, so tokens of later generations live longer.
      const extraSeconds = claim.generation === 0 ? 0 : refreshRetrySeconds
      return {
        kind: 'access' as const,
        ...found,
        scopes: claim.scopesOf(token.scopes),
        /** In epoch seconds, as is `expiresAt`. */
        issuedAt,
        expiresAt: issuedAt + accessTokenSeconds + extraSeconds,
        /** The resource that the token is for (RFC 8707); undefined for a sign-in without a resource. */
        audience: token.audience,
        /** The thumbprint of the key that the token is bound to (RFC 9449 §6). */
        jkt: token.jkt,
      }
    },

    async findRefreshToken(value: string, callerId?: string) {
      const claim = values.readRefreshToken(value)
      const found = claim && (await readFamily(claim, callerId))
      if (!found) return undefined
      const { steps, startedAt, token } = found.family
      return {
        kind: 'refresh' as const,
        ...found,
        /** How many times the family's refresh token had been replaced when this token was issued. */
        generation: claim.generation,
        scopes: token.scopes,
        /** The start or last refresh of the family, in epoch seconds. */
        issuedAt: Math.floor((steps.at(-1) ?? startedAt) / 1000),
        expiresAt: Math.floor(expiryOf(found, lifetimes) / 1000),
      }
    },
  }
}
