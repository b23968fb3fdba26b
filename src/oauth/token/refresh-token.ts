/**
 * Tokens: codes, the refresh grant, access tokens, claims and resource indicators. The engine
 * exchanges the codes.
 */

import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { findScope } from '../../directory/scopes/catalogue.ts'
import {
  invalidGrant,
  missingParameter,
  noKnownScope,
  resourceNotGranted,
  scopeNotGranted,
} from '../../platform/http/errors.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { type AccessFacts, judgeAccess, stillApproved } from '../grants/access.ts'
import { allowedScopes } from '../grants/allowed.ts'
import type { Family, FamilyStore, FamilyToken } from '../grants/family-store.ts'
import type { FindAllowed } from '../grants/find-allowed.ts'
import { type FormerToken, familyOfFormer } from './former-refresh-token.ts'
import { type BindingPorts, bindFamily, newBinding, provenKey } from './refresh-binding.ts'
import { type ReusePorts, reuse } from './refresh-reuse.ts'
import {
  type FindRefreshToken,
  judgeGeneration,
  type RefreshTokenLifetimes,
  stepsAfter,
} from './refresh-token-use.ts'
import { namedResources, type Resources } from './resource-indicators.ts'
import type { ReadTokenRequest } from './token-request.ts'
import { newSeed, type TokenValues } from './token-values.ts'

/**
 * The refresh grant (RFC 6749 §6), in place of the engine's, because of what design 10 asks: a token
 * is replaced at every use, a client whose network failed may repeat the request for a few seconds
 * and gets the same answer, and any later use of a replaced token ends the grant.
 *
 * How one family comes out of any number of parallel uses, in any number of processes, without
 * waiting and without keeping an answer: the tokens of the answer derive from the row of the family,
 * the generation that is used, and the moment at which the family came to its next one, so that all
 * uses of one generation arrive at the same values. That step is the only write. As long as it has not
 * been made there was no answer, and a client that was told 503 repeats the request however late.
 */
export interface RefreshDependencies extends BindingPorts, ReusePorts {
  readonly readTokenRequest: ReadTokenRequest
  readonly findRefreshToken: FindRefreshToken
  readonly values: TokenValues
  readonly families: Pick<FamilyStore, 'begin' | 'step' | 'touch' | 'bind'>
  readonly findAllowed: FindAllowed
  readonly resources: Resources
  readonly lifetimes: RefreshTokenLifetimes & { readonly accessTokenSeconds: number }
  /** How long the row of a family is kept from its start. */
  readonly grantSeconds: number
  readonly callerLimits: {
    /** @throws tooManyRequests */
    refuseBeyond(
      ctx: KoaContextWithOIDC,
      name: 'refreshes',
      person: { readonly personId: string; readonly clientId: string },
    ): void
  }
  readonly now: () => number
}

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
  const { values, lifetimes, checkDpop } = dependencies
  const proven = await provenKey(ctx, checkDpop)
  const use = await findUse(ctx, dependencies)
  dependencies.callerLimits.refuseBeyond(ctx, 'refreshes', use.facts.grant)
  const bindTo = await newBinding(ctx, { ...use, proven }, dependencies)
  const isKept = use.token.jkt !== undefined && use.generation === use.facts.family?.generation
  const renewed = isKept
    ? await keep(ctx, use, dependencies)
    : await replace(ctx, use, dependencies)
  const { family, replacedAt, repeated } = renewed
  if (bindTo !== undefined) await bindFamily(ctx, { ...use, family, bindTo }, dependencies)
  const isBound = (bindTo ?? family.token.jkt) !== undefined
  const scopes = await scopesOf(use, dependencies)
  const { scopes: all } = family.token
  const generation = isKept ? use.generation : use.generation + 1
  const issuedAtSeconds = Math.floor(replacedAt / 1000)
  const issued = { generation, issuedAtSeconds, has: scopes }
  ctx.body = {
    access_token: values.writeAccessToken({ ...family, scopes: all }, issued),
    expires_in: lifetimes.accessTokenSeconds,
    refresh_token: repeated ?? values.writeRefreshToken(family, generation),
    scope: scopes.join(' '),
    token_type: isBound ? 'DPoP' : 'Bearer',
  }
}

/**
 * A refresh token of tokens that are bound to a key is not replaced (FAPI 2.0 Security Profile §5.3.2.1):
 * alone it is of no use to a thief. That it was used is written down all the same, for its idle end.
 */
async function keep(
  ctx: KoaContextWithOIDC,
  use: Use,
  dependencies: RefreshDependencies,
): Promise<Replaced> {
  const { families, now } = dependencies
  const { family } = await judgeUse(ctx, { ...use, family: use.facts.family }, dependencies)
  const replacedAt = now()
  if (await families.touch(family, replacedAt)) return { family, replacedAt }
  throw invalidGrant('the refresh token changed meanwhile')
}

/** One use of a refresh token whose grant, person and client are good. */
interface Use {
  readonly value: string
  readonly generation: number
  readonly facts: AccessFacts
  readonly token: FamilyToken
  readonly scopes: readonly string[]
  readonly former: FormerToken | undefined
}

async function findUse(
  ctx: KoaContextWithOIDC,
  { readTokenRequest, resources, now }: RefreshDependencies,
): Promise<Use> {
  const { oidc } = ctx
  const value = oidc.params?.['refresh_token']
  if (typeof value !== 'string' || !oidc.client) throw missingParameter('refresh_token')
  const { refreshToken } = await readTokenRequest(ctx)
  const { facts, former, generation = 0 } = refreshToken ?? {}
  const token = former?.token ?? facts?.family?.token
  if (!facts || !token) throw invalidGrant('the refresh token is unknown')
  const { grant } = facts
  // RFC 6749 §6: a refresh token is bound to the client that it was issued to.
  if (grant.clientId !== oidc.client.clientId) throw invalidGrant('another client holds it')
  const named = namedResources(oidc, resources).length > 0
  if (named && token.audience === undefined) throw resourceNotGranted()
  // With another BASE_URL on the same database its access tokens would be refused everywhere.
  if (token.audience !== undefined && token.audience !== resources.audience) {
    throw invalidGrant('the refresh token was issued for another origin')
  }
  const scopes = narrowScopes(oidc, stillApproved(token.scopes, facts))
  const access = judgeAccess(facts, token.scopes, now())
  if (access.kind === 'lost') throw invalidGrant(access.reason)
  logFields(ctx).person = grant.personId
  return { value, generation, facts, token, scopes, former }
}

/**
 * RFC 6749 §6: the same scopes or fewer; a later refresh may ask for all of them again. A scope that
 * the client may not request any more, because an operator withdrew it, is granted no longer either
 * (design 2).
 */
function narrowScopes(
  { client, params }: KoaContextWithOIDC['oidc'],
  held: readonly string[],
): string[] {
  const allowed = client?.scope?.split(' ') ?? []
  const granted = held.filter((scope) => allowed.includes(scope))
  if (granted.length === 0) throw invalidGrant('the client may request none of its scopes any more')
  const asked = params?.['scope']
  if (typeof asked !== 'string') return granted
  // As at the authorization endpoint: what no token can have is no reason to refuse the rest.
  const scopes = asked.split(' ').filter(findScope)
  if (scopes.length === 0) throw noKnownScope('the scope names none that is known')
  const missing = scopes.filter((scope) => !granted.includes(scope))
  if (missing.length > 0) throw scopeNotGranted(missing)
  return granted.filter((scope) => scopes.includes(scope))
}

/** A refresh token that was replaced: by this request, or by an earlier one that it repeats. */
interface Replaced {
  readonly family: Family
  /** In epoch milliseconds. */
  readonly replacedAt: number
  /** What the version before put in its place. */
  readonly repeated?: string
}

async function replace(
  ctx: KoaContextWithOIDC,
  use: Use,
  dependencies: RefreshDependencies,
): Promise<Replaced> {
  const { families, findRefreshToken, lifetimes, now } = dependencies
  const { former, value } = use
  if (former?.answered) return await repeatFormer(ctx, { ...use, former }, dependencies)
  const family = former ? await adopt(former, dependencies) : use.facts.family
  const known = await judgeUse(ctx, { ...use, family }, dependencies)
  if (known.replacedAt !== undefined) return { ...known, replacedAt: known.replacedAt }
  const replacedAt = now()
  if (await families.step(known.family, stepsAfter(known.family, lifetimes, replacedAt))) {
    return { family: known.family, replacedAt }
  }
  // Another use of the same token was quicker, which makes this one a retry, or somebody ended it.
  const again = await findRefreshToken(value)
  const later = await judgeUse(ctx, { ...use, family: again?.facts?.family }, dependencies)
  if (later.replacedAt === undefined) throw invalidGrant('the refresh token changed meanwhile')
  return { ...later, replacedAt: later.replacedAt }
}

/** @returns when the token was replaced, if this is a retry of that */
async function judgeUse(
  ctx: KoaContextWithOIDC,
  { family, facts, generation }: Use & { readonly family: Family | undefined },
  { grants, lifetimes, now }: RefreshDependencies,
): Promise<{ readonly family: Family; readonly replacedAt?: number }> {
  if (!family) throw invalidGrant('the refresh token is unknown')
  const use = judgeGeneration(family, generation, { lifetimes, nowMs: now() })
  if (use.kind === 'lost') throw invalidGrant(use.reason)
  if (use.kind === 'reused') throw await reuse(ctx, facts.grant.id, grants)
  if (use.kind === 'good') return { family }
  Object.assign(logFields(ctx), { outcome: 'repeated', detail: 'the refresh was repeated' })
  return { family, replacedAt: use.replacedAt }
}

/**
 * Repeats what the version before answered, if that was only just. The access token is a new one, of
 * the family of the refresh token that was answered.
 */
async function repeatFormer(
  ctx: KoaContextWithOIDC,
  { facts, former }: Use & { readonly former: FormerToken },
  dependencies: RefreshDependencies,
): Promise<Replaced> {
  const { findRefreshToken, grants, lifetimes, now } = dependencies
  const { atMs = 0, refreshToken = '' } = former.answered ?? {}
  const nowMs = now()
  if (nowMs - atMs > lifetimes.refreshRetrySeconds * 1000) {
    throw await reuse(ctx, facts.grant.id, grants)
  }
  const answered = await findRefreshToken(refreshToken)
  const family = answered?.former
    ? await adopt(answered.former, dependencies)
    : answered?.facts?.family
  if (!family) throw invalidGrant('the refresh token is unknown')
  return { family, replacedAt: nowMs, repeated: refreshToken }
}

/** Begins the family of a token of the version before; whoever comes second finds it begun. */
async function adopt(
  { value, grantId = '', token, startedAt, issuedAt }: FormerToken,
  { families, findRefreshToken, grantSeconds }: RefreshDependencies,
): Promise<Family | undefined> {
  const keptUntil = startedAt + grantSeconds * 1000
  const id = familyOfFormer(value)
  await families.begin({ id, grantId, seed: newSeed(), token, startedAt, issuedAt, keptUntil })
  return (await findRefreshToken(value))?.facts?.family
}

/** What the person allowed of the scopes that are asked for. */
async function scopesOf(
  { facts: { grant }, scopes, token }: Use,
  { findAllowed }: RefreshDependencies,
): Promise<string[]> {
  const allowed = allowedScopes((await findAllowed(grant)) ?? {}, token.audience)
  return scopes.filter((scope) => allowed.includes(scope))
}
