import { type Adapter, type AdapterPayload, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { EngineClient } from '../clients/client-metadata.ts'
import type { FamilyStore } from '../grants/family-store.ts'
import type { Exchange } from '../token/authorization-code.ts'
import type { FindAccessToken, FindRefreshToken, IssuedToken } from '../token/tokens.ts'

/**
 * Codes and tokens as the engine is shown them: it exchanges codes, and revokes tokens. Here its records end
 * and our own types begin.
 */
export interface TokenAdapterDependencies {
  readonly findAccessToken: FindAccessToken
  readonly findRefreshToken: FindRefreshToken
  readonly exchange: Exchange
  readonly families: Pick<FamilyStore, 'end'>
  readonly now: () => number
}

/** Who may revoke a token (RFC 7009 §2.1; design 14): the client that it was issued to, and no other. */
export function mayRevokeToken(
  _ctx: KoaContextWithOIDC,
  client: EngineClient,
  { clientId }: { readonly clientId?: string | undefined },
): boolean {
  return clientId === client.clientId
}

export function codeAdapter(
  records: StateAdapter,
  { exchange }: TokenAdapterDependencies,
): Pick<Adapter, 'find' | 'consume'> {
  return {
    async find(value) {
      const { ctx } = Provider
      if (ctx?.oidc?.route !== 'token') return await records.find(value)
      const presented = await exchange.presentCode(ctx)
      if (!presented) return undefined
      const { code, usedAt } = presented
      return { ...code.record, ...(usedAt !== undefined && { consumed: inSeconds(usedAt) }) }
    },
    async consume() {
      const { ctx } = Provider
      if (ctx) await exchange.mustBeUnused(ctx)
    },
  }
}

export function accessTokenAdapter({
  findAccessToken,
  exchange,
  families,
  now,
}: TokenAdapterDependencies): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(value) {
      const token = await findAccessToken(value)
      return token && token.expiresAt * 1000 > now() ? recordOf(value, token) : undefined
    },
    // The value that the engine made is given to nobody (oauth/token/authorization-code.ts).
    async upsert(_value, { scope = '', jkt }) {
      const { ctx } = Provider
      if (!ctx) throw new Error('an access token is issued in a request only')
      await exchange.complete(ctx, {
        scopes: scope.split(' '),
        jkt: typeof jkt === 'string' ? jkt : undefined,
      })
    },
    // Its client revokes it, and with it what came of the same exchange (RFC 7009 §2.1).
    async destroy(value) {
      const token = await findAccessToken(value)
      if (token) await families.end(token.family.id, now())
    },
  }
}

export function refreshTokenAdapter({
  findRefreshToken,
}: TokenAdapterDependencies): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(value) {
      const token = await findRefreshToken(value)
      return token && recordOf(value, token)
    },
    // The one that the engine makes of a code is given to nobody (oauth/token/authorization-code.ts).
    upsert: async () => {},
    // Its grant ends with it, and so does the family.
    destroy: async () => {},
  }
}

function recordOf(
  value: string,
  token: IssuedToken & { readonly kind: 'access' | 'refresh' },
): AdapterPayload {
  return {
    kind: token.kind === 'access' ? 'AccessToken' : 'RefreshToken',
    jti: value,
    accountId: token.personId,
    clientId: token.clientId,
    grantId: token.grant.id,
    scope: token.scopes.join(' '),
    iat: token.issuedAt,
    exp: token.expiresAt,
  }
}

function inSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
