import type { Adapter, AdapterPayload } from 'oidc-provider'

import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { AccessFacts, FindGrant } from '../grants/access.ts'
import type { Family, FamilyStore } from '../grants/family-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { AccessTokenClaim, TokenValues } from './token-values.ts'

/** What an access token says, in the words of an engine's record. */
export interface AccessTokenRecord extends AdapterPayload {
  readonly accountId: string
  readonly clientId: string
  readonly grantId: string
  readonly scope: string
  readonly exp: number
  readonly iat: number
  /** The family that it is of; none is of one from the version before. */
  readonly family?: string
  /** The thumbprint of the key that it works together with (RFC 9449 §6). */
  readonly jkt?: string
}

/** An access token with everything that is known of it. */
export interface FoundAccessToken {
  readonly record: AdapterPayload
  /** Of its grant and its family, and of the client that asks. */
  readonly facts: AccessFacts | undefined
}

/**
 * What becomes of tokens: the exchange of a code, refresh, claims, revocation and introspection are a
 * file each in this folder, and here is the access token. It follows from the row of its family, which
 * the one query about its grant brings along, so that nothing is written when one is issued, and that
 * a token was revoked is the end of its family.
 */
export interface AccessTokens {
  /** One query, also for what turns out to be nobody's; nothing for that. */
  find(token: string, callerId?: string): Promise<FoundAccessToken | undefined>
}

export interface AccessTokenDependencies {
  readonly values: TokenValues
  readonly findGrant: FindGrant
  /** Where the version before kept its access tokens, the last of which ended an hour after it. */
  readonly former: Pick<StateAdapter, 'find'>
  readonly accessTokenSeconds: number
  /** So much longer lives what came of a refresh, since a repeated one says the lifetime anew. */
  readonly refreshRetrySeconds: number
}

export function makeAccessTokens(dependencies: AccessTokenDependencies): AccessTokens {
  const { values, findGrant, former } = dependencies
  return {
    async find(token, callerId) {
      const claim = values.readAccessToken(token)
      if (!claim) {
        // Theirs had no dot, so that a refresh token is not looked up as one.
        if (token.includes('.')) return undefined
        const record = await former.find(token)
        return record && { record, facts: await findGrant({ grantId: record.grantId, callerId }) }
      }
      const facts = await findGrant({ familyId: claim.familyId, callerId })
      if (!facts?.family || !claim.isGenuine(facts.family)) return undefined
      return {
        record: recordOf(token, { claim, facts, family: facts.family }, dependencies),
        facts,
      }
    },
  }
}

function recordOf(
  jti: string,
  {
    claim,
    facts: { grant },
    family: { id, token },
  }: { readonly claim: AccessTokenClaim; readonly facts: AccessFacts; readonly family: Family },
  { accessTokenSeconds, refreshRetrySeconds }: AccessTokenDependencies,
): AccessTokenRecord {
  const iat = claim.issuedAtSeconds
  return {
    ...{ kind: 'AccessToken', jti, iat },
    exp: iat + accessTokenSeconds + (claim.generation === 0 ? 0 : refreshRetrySeconds),
    ...{ accountId: grant.personId, clientId: grant.clientId, grantId: grant.id, family: id },
    scope: claim.scopesOf(token.scopes).join(' '),
    sid: token.sid,
    sessionUid: token.sessionUid,
    ...(token.jkt !== undefined && { jkt: token.jkt }),
    ...(token.audience === undefined ? { claims: token.claims } : { aud: token.audience }),
  }
}

/** Whether a token is past its end. */
export function isPastEnd({ exp }: AdapterPayload, nowMs: number): boolean {
  return Number(exp) * 1000 <= nowMs
}

export interface AccessTokenAdapterDependencies {
  readonly accessTokens: AccessTokens
  readonly families: Pick<FamilyStore, 'end'>
  readonly grants: Pick<GrantStore, 'end'>
  /** Begins the family of a code with its access token, which uses the code up. */
  readonly completeExchange: (payload: AdapterPayload) => Promise<void>
  readonly now: () => number
}

/** Access tokens as the engine is shown them, which revokes them and issues the first of a family. */
export function accessTokenAdapter(
  records: Pick<StateAdapter, 'destroy'>,
  { accessTokens, families, grants, completeExchange, now }: AccessTokenAdapterDependencies,
): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(token) {
      const { record } = (await accessTokens.find(token)) ?? {}
      return record && !isPastEnd(record, now()) ? record : undefined
    },
    // The value that the engine made is given to nobody (authorization-code.ts).
    upsert: async (_id, payload) => await completeExchange(payload),
    // Its client revokes it, and with it what came of the same exchange (RFC 7009 §2.1).
    async destroy(token) {
      const { record } = (await accessTokens.find(token)) ?? {}
      const family = record?.['family']
      if (typeof family === 'string') return await families.end(family, now())
      // One of the version before is of no family, so that its whole grant goes.
      await records.destroy(token)
      if (record?.grantId) await grants.end({ id: record.grantId }, 'the client revoked it')
    },
  }
}
