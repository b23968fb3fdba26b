/**
 * Tokens: the refresh grant, claims, introspection and resource indicators. The engine stores
 * them.
 */

import { createHmac, randomBytes } from 'node:crypto'

import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import type { FindAccess } from '../grants/access.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import {
  invalidGrant,
  missingParameter,
  resourceNotGranted,
  scopeNotGranted,
} from '../http/errors.ts'
import type { StateStore } from '../store/oauth-state.ts'
import { namedResources, type Resources } from './resource-indicators.ts'

/**
 * The refresh grant (RFC 6749 §6), in place of the engine's, because of what design 10 asks: a token
 * is replaced at every use, a client whose network failed may repeat the request for a few seconds
 * and gets the same answer, and any later use of a replaced token ends the grant.
 *
 * How one family comes out of any number of parallel uses, in any number of processes, without
 * waiting and without keeping an answer: the first use marks the token as used and stores a random
 * seed with it, atomically. First and later uses alike derive the next tokens from that seed and
 * the old token, so all of them arrive at the same values; the store keeps the first copy of each.
 * A copy of the store alone derives nothing, since the old token is not in it, only its digest.
 */
export interface RefreshDependencies {
  readonly state: StateStore
  readonly resources: Resources
  readonly lifetimes: { readonly accessTokenSeconds: number; readonly refreshRetrySeconds: number }
  readonly findAccess: FindAccess
  readonly grants: Pick<GrantStore, 'end'>
  readonly now: () => number
}

type RefreshToken = InstanceType<Provider['RefreshToken']>

/** One use of a refresh token, once it was found good. */
type Use = Awaited<ReturnType<typeof checkUse>>

/** Registers the grant type; its parameters are those of RFC 6749 §6 and RFC 8707 §2.2. */
export function registerRefreshGrant(provider: Provider, dependencies: RefreshDependencies): void {
  provider.registerGrantType(
    'refresh_token',
    async (ctx) => await answerRefresh(ctx, dependencies),
    ['refresh_token', 'scope', 'resource'],
    ['resource'],
  )
}

async function answerRefresh(ctx: KoaContextWithOIDC, dependencies: RefreshDependencies) {
  const use = await checkUse(ctx, dependencies)
  const seed = await consume(ctx, use, dependencies)
  const next = successorOf(ctx, use, seed)
  const accessToken = accessTokenOf(ctx, { ...use, seed }, dependencies)
  ctx.oidc.entity('AccessToken', accessToken)
  const access_token = await accessToken.save()
  // The last write: a successor in the store says that the answer was complete (`wasAnswered`).
  const refresh_token = await next.save()
  ctx.body = {
    access_token,
    expires_in: dependencies.lifetimes.accessTokenSeconds,
    refresh_token,
    scope: accessToken.scope,
    token_type: 'Bearer',
  }
}

async function checkUse(
  { oidc }: KoaContextWithOIDC,
  { resources, findAccess }: RefreshDependencies,
) {
  const { client, provider } = oidc
  const value = oidc.params?.['refresh_token']
  if (typeof value !== 'string' || !client) throw missingParameter('refresh_token')
  const token = await provider.RefreshToken.find(value, { ignoreExpiration: true })
  if (!token) throw invalidGrant('the refresh token is unknown')
  // RFC 6749 §6: a refresh token is bound to the client that it was issued to.
  if (token.clientId !== client.clientId) throw invalidGrant('another client holds it')
  if (token.isExpired) throw invalidGrant('the refresh token has expired')
  oidc.entity('RefreshToken', token)
  if (namedResources(oidc, resources).length > 0 && !token.resource) throw resourceNotGranted()
  const scopes = narrowScopes(oidc, token)
  const access = await findAccess(token, token.scopes)
  if (access.kind === 'lost') throw invalidGrant(access.reason)
  // The grant as the engine sees it: the same look at it was found to be good just now.
  const grant = await provider.Grant.find(token.grantId ?? '')
  if (!grant) throw invalidGrant('the grant has ended')
  return { value, token, client, grant, scopes }
}

/**
 * RFC 6749 §6: the same scopes or fewer; a later refresh may ask for all of them again. A scope that
 * the client may not request any more, because an operator withdrew it, is granted no longer either
 * (design 2).
 */
function narrowScopes(
  { client, params }: KoaContextWithOIDC['oidc'],
  token: RefreshToken,
): string[] {
  const allowed = client?.scope?.split(' ') ?? []
  const granted = [...token.scopes].filter((scope) => allowed.includes(scope))
  if (granted.length === 0) throw invalidGrant('the client may request none of its scopes any more')
  const asked = params?.['scope']
  if (typeof asked !== 'string') return granted
  const scopes = asked.split(' ').filter(Boolean)
  const missing = scopes.filter((scope) => !granted.includes(scope))
  if (missing.length > 0) throw scopeNotGranted(missing)
  return granted.filter((scope) => scopes.includes(scope))
}

/** Marks the token as used, or finds when it was; within the retry window both go on alike. */
async function consume(
  ctx: KoaContextWithOIDC,
  { value, token, grant }: Use,
  { state, grants, lifetimes, now }: RefreshDependencies,
): Promise<string> {
  const { provider } = ctx.oidc
  const refreshTokens = state.adapterFor('RefreshToken')
  const consumption = await refreshTokens.consumeOnce(value, randomBytes(32).toString('base64url'))
  if (!consumption) throw invalidGrant('the refresh token is unknown')
  if (consumption.first) provider.emit('refresh_token.consumed', token)
  else if (
    now() - consumption.consumedAtMs > lifetimes.refreshRetrySeconds * 1000 &&
    (await wasAnswered(successorId(consumption.seed, value), provider))
  ) {
    // RFC 9700 §4.14.2: a replaced token that comes back means that one of two holders is a thief.
    await grants.end({ id: grant.jti }, 'a used refresh token came back')
    provider.emit('grant.revoked', ctx, grant.jti)
    throw invalidGrant('the refresh token was used before: the grant has been ended')
  }
  return consumption.seed
}

/**
 * Whether anybody can have been given the successor. A first use that failed after it was marked,
 * because storage went away in between, was answered with 503: its client still holds the old token
 * only, and must not lose the grant for coming back after an outage that lasted longer than the
 * retry window. A successor outlives the token that it replaced, so that it cannot have expired.
 */
async function wasAnswered(successor: string, { RefreshToken }: Provider): Promise<boolean> {
  return (await RefreshToken.find(successor, { ignoreExpiration: true })) !== undefined
}

function successorOf({ oidc }: KoaContextWithOIDC, use: Use, seed: string): RefreshToken {
  const { accountId, acr, amr, authTime, claims, expiresWithSession, iiat } = use.token
  const { gty, nonce, resource, rotations = 0, scope = '', sessionUid, sid } = use.token
  return new oidc.provider.RefreshToken({
    ...{ accountId, acr, amr, authTime, claims, expiresWithSession, iiat },
    ...{ gty: gtyOf(gty), nonce, resource, scope, sessionUid, sid },
    client: use.client,
    grantId: use.grant.jti,
    rotations: rotations + 1,
    jti: successorId(seed, use.value),
  })
}

function accessTokenOf(
  { oidc }: KoaContextWithOIDC,
  { value, token, client, grant, scopes, seed }: Use & { readonly seed: string },
  { resources, lifetimes }: RefreshDependencies,
) {
  const access = new oidc.provider.AccessToken({
    accountId: token.accountId,
    client,
    // A repeated answer says `expires_in` anew; the token lives as much longer, so that it is true.
    expiresIn: lifetimes.accessTokenSeconds + lifetimes.refreshRetrySeconds,
    grantId: grant.jti,
    gty: gtyOf(token.gty),
    sessionUid: token.sessionUid,
    jti: derive(seed, `access ${scopes.join(' ')} ${value}`),
  })
  // The engine settles the format together with the id, which is given here.
  Object.assign(access, { format: 'opaque' })
  if (token.resource) {
    access.setAudience(resources.audience)
    access.scope = grant.getResourceScopeFiltered(resources.audience, scopes)
  } else {
    access.claims = token.claims
    access.scope = grant.getOIDCScopeFiltered(scopes)
  }
  return access
}

function gtyOf(gty: string | undefined): string {
  return gty?.endsWith('refresh_token') ? gty : `${gty ?? ''} refresh_token`.trim()
}

function successorId(seed: string, value: string): string {
  return derive(seed, `refresh ${value}`)
}

/** 256 bits that follow from the seed and the use, in the form of the engine's own tokens. */
function derive(seed: string, use: string): string {
  return createHmac('sha256', seed).update(use).digest('base64url')
}
