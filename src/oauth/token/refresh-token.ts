/** Implements the refresh grant. */

import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { usedTwoFactors } from '../../directory/people/authentication.ts'
import { findScope } from '../../directory/scopes/catalogue.ts'
import { EVERYTHING, isSensitive } from '../../directory/scopes/sensitive-operations.ts'
import {
  invalidGrant,
  missingParameter,
  noKnownScope,
  resourceNotGranted,
  scopeNotGranted,
} from '../../platform/http/errors.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import { allowedScopes } from '../grants/allowed-scopes.ts'
import type { Family } from '../grants/family-store.ts'
import { dropUnapproved, judgeAccess } from '../grants/judge-access.ts'
import type { TokenRequests } from './authorization-code.ts'
import { bindFamily, endReused, newBinding, provenKey } from './refresh-binding.ts'
import { judgeGeneration, stepsAfter } from './refresh-token-use.ts'
import { namedResources } from './resource-indicators.ts'
import type { RefreshToken } from './tokens.ts'

/**
 * Registers our refresh grant (RFC 6749 §6) in place of the engine's (design 10). Each use replaces the refresh token,
 * unless the family is bound to a key. Within `refreshRetrySeconds`, a client may repeat the request, for example after
 * a network failure, and gets the same response. A later use of a replaced token by its client ends the grant.
 *
 * Parallel uses in several processes need neither locks nor stored responses. The new tokens are derived from the row
 * of the family, the generation used, the start time of the next generation and the scopes. So, for the same scopes,
 * all uses that replace the same refresh token compute the same values. A request that fails before the next generation
 * is stored does not use up the token, so the client can repeat it.
 *
 * The parameters are those of RFC 6749 §6 and RFC 8707 §2.2.
 */
export function registerRefreshGrant(provider: Provider, dependencies: TokenRequests): void {
  provider.registerGrantType(
    'refresh_token',
    async (ctx) => await answerRefresh(ctx, dependencies),
    ['refresh_token', 'scope', 'resource'],
    ['resource'],
  )
}

async function answerRefresh(ctx: KoaContextWithOIDC, dependencies: TokenRequests) {
  const { tokens, lifetimes, proofs, platform } = dependencies
  const proven = await provenKey(ctx, proofs.checkDpop)
  const use = await findUse(ctx, dependencies)
  refuseTooMany(ctx, platform.requestLimits.take('refreshes', personKey(use)))
  const bindTo = await newBinding(ctx, use, proven, dependencies)
  // A family that is bound to a key keeps its refresh token (FAPI 2.0 Security Profile §5.3.2.1). An attacker cannot
  // use the token without the client's key or secret. Each use restarts its `refreshTokenSeconds`.
  const isKept = use.family.token.jkt !== undefined && use.generation === use.family.generation
  const generation = isKept ? use.generation : use.generation + 1
  const { family, replacedAt } = await renew(ctx, { ...use, isKept }, dependencies)
  if (bindTo !== undefined) await bindFamily(ctx, use, bindTo, dependencies)
  const isBound = (bindTo ?? family.token.jkt) !== undefined
  const allowed = allowedScopes(use.grant.allowed, use.family.token.audience)
  const scopes = use.granted.filter((scope) => allowed.includes(scope))
  const issuedAtSeconds = Math.floor(replacedAt / 1000)
  ctx.body = {
    access_token: tokens.values.writeAccessToken(
      { ...family, scopes: family.token.scopes },
      { generation, issuedAtSeconds, has: scopes },
    ),
    expires_in: lifetimes.accessTokenSeconds,
    refresh_token: tokens.values.writeRefreshToken(family, generation),
    scope: scopes.join(' '),
    token_type: isBound ? 'DPoP' : 'Bearer',
  }
}

/** A use of a refresh token. Its grant, person and client passed all checks. */
interface Use extends RefreshToken {
  readonly value: string
  /** The scopes that the client may get. The access token has only the scopes that the person has also allowed. */
  readonly granted: readonly string[]
}

async function findUse(
  ctx: KoaContextWithOIDC,
  { readTokenRequest, resources, platform }: TokenRequests,
): Promise<Use> {
  const { oidc } = ctx
  const value = oidc.params?.['refresh_token']
  if (typeof value !== 'string' || !oidc.client) throw missingParameter('refresh_token')
  const { refreshToken } = await readTokenRequest(ctx)
  if (!refreshToken) throw invalidGrant('the refresh token is unknown')
  const { clientId, family, personId, scopes } = refreshToken
  const { audience } = family.token
  // A refresh token is bound to the client that it was issued to (RFC 6749 §6).
  if (clientId !== oidc.client.clientId)
    throw invalidGrant('the refresh token belongs to another client')
  const named = namedResources(oidc, resources).length > 0
  if (named && audience === undefined) throw resourceNotGranted()
  // If BASE_URL has changed, every resource would reject the access tokens.
  if (audience !== undefined && audience !== resources.audience) {
    throw invalidGrant('the refresh token was issued for another origin')
  }
  const granted = narrowScopes(oidc, dropUnapproved(scopes, refreshToken))
  const lost = judgeAccess(refreshToken, scopes, platform.now())
  if (lost !== undefined) throw invalidGrant(lost)
  const { assuranceDemand: demand } = refreshToken
  // A client may ignore step-up challenges and refresh its token. Reject the refresh, so the client authorizes again.
  if (
    demand?.areas.includes(EVERYTHING) &&
    isSensitive(demand, scopes, []) &&
    !usedTwoFactors(family.token, demand.maxAgeSeconds, platform.now())
  ) {
    throw invalidGrant('the site requires two-factor sign-in; authorize again')
  }
  logFields(ctx).person = personId
  return { ...refreshToken, value, granted }
}

/**
 * Returns the requested scopes or, without a `scope` parameter, all held scopes that the client may still request (RFC
 * 6749 §6; design 2). The refresh token keeps all its scopes.
 *
 * @throws invalidGrant, noKnownScope or scopeNotGranted
 */
function narrowScopes(
  { client, params }: KoaContextWithOIDC['oidc'],
  held: readonly string[],
): string[] {
  const allowed = client?.scope?.split(' ') ?? []
  const granted = held.filter((scope) => allowed.includes(scope))
  if (granted.length === 0)
    throw invalidGrant('the client may no longer request any scope of the refresh token')
  const asked = params?.['scope']
  if (typeof asked !== 'string') return granted
  // Like the authorization endpoint, ignore unknown scopes.
  const scopes = asked.split(' ').filter(findScope)
  if (scopes.length === 0)
    throw noKnownScope('the scope parameter has no known scope; omit it to get all granted scopes')
  const missing = scopes.filter((scope) => !granted.includes(scope))
  if (missing.length > 0) throw scopeNotGranted(missing)
  return granted.filter((scope) => scopes.includes(scope))
}

/**
 * Stores the refresh, unless it repeats an earlier one.
 *
 * @returns the family, and the time of this refresh or of the earlier one, in epoch milliseconds
 */
async function renew(
  ctx: KoaContextWithOIDC,
  use: Use & { readonly isKept: boolean },
  dependencies: TokenRequests,
): Promise<{ readonly family: Family; readonly replacedAt: number }> {
  const { grants, tokens, lifetimes, platform } = dependencies
  const { family, isKept } = use
  const repeats = await judgeUse(ctx, use, dependencies)
  if (repeats !== undefined) return { family, replacedAt: repeats }
  const replacedAt = platform.now()
  const to = isKept ? family.generation : family.generation + 1
  const steps = isKept ? [replacedAt] : stepsAfter(family, lifetimes, replacedAt)
  if (await grants.families.step(family, to, steps)) return { family, replacedAt }
  if (isKept) throw invalidGrant('a concurrent request changed the refresh token')
  // Either another request used this token first, so this request is a retry, or the family has ended.
  const again = await tokens.findRefreshToken(use.value)
  if (!again) throw invalidGrant('the refresh token is unknown')
  const later = await judgeUse(ctx, again, dependencies)
  if (later === undefined) throw invalidGrant('a concurrent request changed the refresh token')
  return { family: again.family, replacedAt: later }
}

/** Rejects an invalid use. May end or extend the grant. @returns when the token was replaced, for a retry */
async function judgeUse(
  ctx: KoaContextWithOIDC,
  token: RefreshToken,
  { grants, lifetimes, platform: { now } }: TokenRequests,
): Promise<number | undefined> {
  const { grant, isEndless } = token
  const use = judgeGeneration(token, { lifetimes, nowMs: now() })
  if (use.kind === 'lost') throw invalidGrant(use.reason)
  if (use.kind === 'reused') throw await endReused(ctx, grant.id, grants)
  if (use.kind === 'good') {
    if (isEndless) await grants.store.prolong(grant, isEndless)
    return undefined
  }
  Object.assign(logFields(ctx), { outcome: 'repeated', detail: 'the client repeated the refresh' })
  return use.replacedAt
}
