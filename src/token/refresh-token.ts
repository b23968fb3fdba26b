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
  unknownResource,
} from '../http/errors.ts'
import type { StateAdapter } from '../store/state.ts'
import type { Resources } from './resource-indicators.ts'

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
  readonly provider: Provider
  /** The store's compare-and-set on refresh tokens. */
  readonly consumeOnce: StateAdapter['consumeOnce']
  readonly resources: Resources
  readonly retrySeconds: number
  readonly accessTokenSeconds: number
  readonly findAccess: FindAccess
  readonly endGrant: GrantStore['end']
  readonly now: () => number
}

export type RefreshToken = InstanceType<Provider['RefreshToken']>
type Grant = InstanceType<Provider['Grant']>

/** Registers the grant type; its parameters are those of RFC 6749 §6 and RFC 8707 §2.2. */
export function registerRefreshGrant(dependencies: RefreshDependencies): void {
  dependencies.provider.registerGrantType(
    'refresh_token',
    async (ctx) => await answerRefresh(ctx, dependencies),
    ['refresh_token', 'scope', 'resource'],
    ['resource'],
  )
}

async function answerRefresh(
  ctx: KoaContextWithOIDC,
  dependencies: RefreshDependencies,
): Promise<void> {
  const presented = ctx.oidc.params?.['refresh_token']
  const { client } = ctx.oidc
  if (typeof presented !== 'string' || !client) throw missingParameter('refresh_token')
  const token = await findToken(ctx, presented, dependencies)
  checkResource(ctx, token, dependencies.resources)
  const scopes = narrowScopes(ctx, token)
  const access = await dependencies.findAccess(token, token.scopes)
  if (access.kind === 'lost') throw invalidGrant(access.reason)
  const grant = await findGrant(token, dependencies.provider)

  const seed = await consume(ctx, { token, presented, grant }, dependencies)
  const family = { client, token, grant, scopes }
  const next = successorOf(family, successorId(seed, presented), dependencies)
  const accessJti = derive(seed, `access ${scopes.join(' ')} ${presented}`)
  const accessToken = accessTokenOf(family, accessJti, dependencies)
  ctx.oidc.entity('AccessToken', accessToken)
  const access_token = await accessToken.save()
  // The last write: a successor in the store says that the answer was complete (`wasAnswered`).
  const refresh_token = await next.save()
  ctx.body = {
    access_token,
    expires_in: dependencies.accessTokenSeconds,
    refresh_token,
    scope: accessToken.scope,
    token_type: 'Bearer',
  }
}

async function findToken(
  ctx: KoaContextWithOIDC,
  presented: string,
  { provider }: RefreshDependencies,
): Promise<RefreshToken> {
  const token = await provider.RefreshToken.find(presented, { ignoreExpiration: true })
  if (!token) throw invalidGrant('the refresh token is unknown')
  // RFC 6749 §6: a refresh token is bound to the client that it was issued to.
  if (token.clientId !== ctx.oidc.client?.clientId) throw invalidGrant('another client holds it')
  if (token.isExpired) throw invalidGrant('the refresh token has expired')
  ctx.oidc.entity('RefreshToken', token)
  return token
}

function checkResource(ctx: KoaContextWithOIDC, token: RefreshToken, resources: Resources): void {
  const asked = [ctx.oidc.params?.['resource'] ?? []].flat().map(String)
  if (asked.some((resource) => resources.canonical(resource) === undefined)) throw unknownResource()
  if (asked.length > 0 && !token.resource) throw resourceNotGranted()
}

/**
 * RFC 6749 §6: the same scopes or fewer; a later refresh may ask for all of them again. A scope that
 * the client may not request any more, because an operator withdrew it, is granted no longer either
 * (design 2).
 */
function narrowScopes(ctx: KoaContextWithOIDC, token: RefreshToken): string[] {
  const allowed = ctx.oidc.client?.scope?.split(' ') ?? []
  const granted = [...token.scopes].filter((scope) => allowed.includes(scope))
  if (granted.length === 0) throw invalidGrant('the client may request none of its scopes any more')
  const asked = ctx.oidc.params?.['scope']
  if (typeof asked !== 'string') return granted
  const scopes = asked.split(' ').filter(Boolean)
  const missing = scopes.filter((scope) => !granted.includes(scope))
  if (missing.length > 0) throw scopeNotGranted(missing)
  return granted.filter((scope) => scopes.includes(scope))
}

/** The grant as the engine sees it. Its access was found to be good just now, by the same look at it. */
async function findGrant(token: RefreshToken, provider: Provider): Promise<Grant> {
  const grant = await provider.Grant.find(token.grantId ?? '')
  if (!grant) throw invalidGrant('the grant has ended')
  return grant
}

interface Use {
  readonly token: RefreshToken
  readonly presented: string
  readonly grant: Grant
}

/** Marks the token as used, or finds when it was; within the retry window both go on alike. */
async function consume(
  ctx: KoaContextWithOIDC,
  { token, presented, grant }: Use,
  dependencies: RefreshDependencies,
): Promise<string> {
  const { provider, consumeOnce, endGrant, retrySeconds, now } = dependencies
  const consumption = await consumeOnce(presented, randomBytes(32).toString('base64url'))
  if (!consumption) throw invalidGrant('the refresh token is unknown')
  if (consumption.first) provider.emit('refresh_token.consumed', token)
  else if (
    now() - consumption.consumedAtMs > retrySeconds * 1000 &&
    (await wasAnswered(consumption.seed, presented, provider))
  ) {
    // RFC 9700 §4.14.2: a replaced token that comes back means that one of two holders is a thief.
    await endGrant({ id: grant.jti }, 'a used refresh token came back')
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
async function wasAnswered(seed: string, presented: string, provider: Provider): Promise<boolean> {
  const successor = await provider.RefreshToken.find(successorId(seed, presented), {
    ignoreExpiration: true,
  })
  return successor !== undefined
}

/** What a refresh continues. */
interface Family {
  readonly client: InstanceType<Provider['Client']>
  readonly token: RefreshToken
  readonly grant: Grant
  readonly scopes: readonly string[]
}

function successorOf(
  { client, token, grant }: Family,
  jti: string,
  { provider }: RefreshDependencies,
): RefreshToken {
  const { accountId, acr, amr, authTime, claims, expiresWithSession, iiat } = token
  const { gty, nonce, resource, rotations = 0, scope = '', sessionUid, sid } = token
  return new provider.RefreshToken({
    ...{ accountId, acr, amr, authTime, claims, expiresWithSession, iiat },
    ...{ gty: gtyOf(gty), nonce, resource, scope, sessionUid, sid },
    client,
    grantId: grant.jti,
    rotations: rotations + 1,
    jti,
  })
}

function accessTokenOf(
  { client, token, grant, scopes }: Family,
  jti: string,
  { provider, resources, accessTokenSeconds, retrySeconds }: RefreshDependencies,
) {
  const access = new provider.AccessToken({
    accountId: token.accountId,
    client,
    // A repeated answer says `expires_in` anew; the token lives as much longer, so that it is true.
    expiresIn: accessTokenSeconds + retrySeconds,
    grantId: grant.jti,
    gty: gtyOf(token.gty),
    sessionUid: token.sessionUid,
    jti,
  })
  // The engine settles the format together with the id, which is given here.
  Object.assign(access, { format: 'opaque' })
  if (token.resource) {
    access.setAudience(resources.audience)
    access.scope = grant.getResourceScopeFiltered(resources.audience, [...scopes])
  } else {
    access.claims = token.claims
    access.scope = grant.getOIDCScopeFiltered([...scopes])
  }
  return access
}

function gtyOf(gty: string | undefined): string {
  return gty?.endsWith('refresh_token') ? gty : `${gty ?? ''} refresh_token`.trim()
}

function successorId(seed: string, presented: string): string {
  return derive(seed, `refresh ${presented}`)
}

/** 256 bits that follow from the seed and what is presented, in the form of the engine's own tokens. */
function derive(seed: string, use: string): string {
  return createHmac('sha256', seed).update(use).digest('base64url')
}
