import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  errors,
  Provider,
} from 'oidc-provider'

import { callerOf } from '../../platform/http/request-log.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { factsOfClient } from '../clients/client-metadata.ts'
import type { AccessToken, RefreshToken } from '../token/tokens.ts'
import { clientFinder, PUSHED_REQUEST } from './engine-clients.ts'
import type { EngineDependencies } from './engine-dependencies.ts'

/**
 * Creates the engine's storage adapter with our rules. Clients come from find-client.ts. Grants and tokens come from
 * the database. All other models are records of the state store.
 */
export function engineAdapter(dependencies: EngineDependencies): AdapterFactory {
  return (model) => {
    const records = dependencies.platform.state.adapterFor(model)
    return {
      ...records,
      // No-op: tokens have no records, and code records may remain. Both are invalid once their grant or family ends.
      revokeByGrantId: async () => {},
      // There are no user codes, because the device flow is off.
      findByUserCode: async () => undefined,
      consume: async () => {
        throw new Error(`records of the model ${model} cannot be consumed`)
      },
      ...rules[model]?.(dependencies, records),
    }
  }
}

type Rules = (dependencies: EngineDependencies, records: StateAdapter) => Partial<Adapter>

/** The adapter methods that override those of the state store, grouped by model. */
const rules: Readonly<Record<string, Rules>> = {
  Client: (dependencies) => ({ find: clientFinder(dependencies) }),
  Grant: grantAdapter,
  AccessToken: accessTokenAdapter,
  AuthorizationCode: codeAdapter,
  [PUSHED_REQUEST]: pushedRequestAdapter,
  Session: sessionAdapter,
  Interaction: interactionAdapter,
  RefreshToken: refreshTokenAdapter,
}

/**
 * Builds the engine's Grant model from the row of a grant (oauth/grants/grant-store.ts). The engine can end a grant, but
 * never writes one. Our own code saves the grant with its site, which the engine does not know.
 */
function grantAdapter({ grants: { findGrant, store } }: EngineDependencies): Partial<Adapter> {
  return {
    async find(id) {
      const grant = (await findGrant({ grantId: id }))?.grant
      // An authorization must not reuse an ended grant. But a token request reads it, to log why it ended.
      if (!grant || (grant.endedBecause !== undefined && asksPerson())) return undefined
      return {
        ...(grant.allowed as AdapterPayload),
        kind: 'Grant',
        jti: grant.id,
        accountId: grant.personId,
        clientId: grant.clientId,
        iat: Math.floor(grant.grantedAt / 1000),
        exp: Math.floor(grant.expiresAt / 1000),
      }
    },
    async destroy(id) {
      const { ctx } = Provider
      // The engine destroys a grant when a client revokes its refresh token or replays a code.
      const isRevoked = ctx?.oidc?.route === 'revocation'
      const reason = isRevoked ? 'the client revoked it' : 'a code was used twice'
      await store.end(id, reason, ctx && callerOf(ctx))
    },
  }
}

/** Whether the current request is part of an authorization in a browser. Interaction pages have no engine route. */
function asksPerson(): boolean {
  const route = Provider.ctx?.oidc.route
  return route === undefined || route === 'authorization' || route === 'resume'
}

/** Makes pushed requests usable only once (RFC 9126 §4). */
function pushedRequestAdapter(_: EngineDependencies, records: StateAdapter): Partial<Adapter> {
  return {
    async consume(id) {
      const consumption = await records.consumeOnce(id)
      if (consumption?.first === false) {
        throw new errors.InvalidRequestUri(
          'the pushed request has already been used: push a new one',
        )
      }
    },
  }
}

/**
 * Deletes browser sessions. At a sign-out, ends the session in the database first, because a failover of Redis may
 * restore the record.
 */
function sessionAdapter(
  { browserSessions }: EngineDependencies,
  records: StateAdapter,
): Partial<Adapter> {
  return {
    async destroy(id) {
      // Only `end_session_confirm` signs the person out. A sign-in also destroys the record, to change the session id.
      const { ctx } = Provider
      const { route, session } = ctx?.oidc ?? {}
      if (ctx && route === 'end_session_confirm' && session?.accountId) {
        const chosen = { id: session.uid, others: false }
        const [ended] = await browserSessions.end(session.accountId, chosen)
        // provider-routes.ts then signs the person out at the identity provider of this session.
        ctx['state']['endedSession'] = ended
      }
      await records.destroy(id)
    },
  }
}

/**
 * Uses the digest of a cookie to bind each interaction to the browser that began it. The engine's own interaction
 * cookies have a path other than `/`, so they cannot use the `__Host-` prefix, and other hosts could plant them.
 * Interaction pages have no engine context. They read the stored digest and check the cookie (engine-interactions.ts).
 * Removes the value of the session cookie from the record, because the engine does not read it there.
 */
function interactionAdapter(
  { visitors }: EngineDependencies,
  { find, upsert }: StateAdapter,
): Partial<Adapter> {
  return {
    async find(id) {
      const record = await find(id)
      const { ctx } = Provider
      const isOther = ctx && record?.prompt?.details['browser'] !== visitors.digestOf(ctx)
      return isOther ? undefined : record
    },
    async upsert(id, { session, ...rest }, ttl) {
      const { ctx } = Provider
      if (ctx) Object.assign(rest.prompt?.details ?? {}, { browser: visitors.digestOf(ctx) })
      await upsert(id, { ...rest, session: session && { ...session, cookie: undefined } }, ttl)
    },
  }
}

/** Finds and consumes authorization codes under our rules for the exchange (oauth/token/authorization-code.ts). */
function codeAdapter({ exchange }: EngineDependencies): Partial<Adapter> {
  return {
    async find() {
      const { ctx } = Provider
      const presented = ctx && (await exchange.presentCode(ctx))
      if (!presented) return undefined
      const { code, usedAt } = presented
      const { client } = ctx.oidc
      return {
        ...code,
        // For our own pages, `sid` is the id of the browser's session, because page sessions end with that session.
        ...(client && factsOfClient(client).origin === 'first_party' && { sid: code.sessionUid }),
        ...(usedAt !== undefined && { consumed: Math.floor(usedAt / 1000) }),
      }
    },
    async consume() {
      const { ctx } = Provider
      if (ctx) await exchange.mustBeUnused(ctx)
    },
  }
}

function accessTokenAdapter(dependencies: EngineDependencies): Partial<Adapter> {
  const { exchange, grants, platform } = dependencies
  const { findAccessToken } = dependencies.tokens
  return {
    async find(value) {
      const token = await findAccessToken(value)
      return token && token.expiresAt * 1000 > platform.now() ? recordOf(value, token) : undefined
    },
    // Our token replaces the engine's value, which is never sent (oauth/token/authorization-code.ts).
    async upsert(_value, { scope = '', jkt }) {
      const { ctx } = Provider
      if (!ctx) throw new Error('an access token can only be issued during a request')
      await exchange.complete(ctx, scope.split(' '), typeof jkt === 'string' ? jkt : undefined)
    },
    // Revoking an access token revokes all tokens of its family (RFC 7009 §2.1).
    async destroy(value) {
      const token = await findAccessToken(value)
      if (token) await grants.families.end(token.family.id, platform.now())
    },
  }
}

function refreshTokenAdapter({ tokens }: EngineDependencies): Partial<Adapter> {
  return {
    async find(value) {
      const token = await tokens.findRefreshToken(value)
      return token && recordOf(value, token)
    },
    // No-op: the engine also destroys the grant, which revokes the token.
    destroy: async () => {},
  }
}

function recordOf(value: string, token: AccessToken | RefreshToken): AdapterPayload {
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
