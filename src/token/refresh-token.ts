/**
 * Tokens: codes, the refresh grant, access tokens, claims and resource indicators. The engine
 * exchanges the codes.
 */

import type { AdapterPayload, KoaContextWithOIDC, Provider } from 'oidc-provider'

import { type AccessFacts, judgeAccess } from '../grants/access.ts'
import { allowedScopes } from '../grants/allowed.ts'
import type { Family, FamilyStore, FamilyToken } from '../grants/family-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import {
  invalidGrant,
  missingParameter,
  resourceNotGranted,
  scopeNotGranted,
} from '../http/errors.ts'
import { logFields } from '../http/request-log.ts'
import type { AccessTokens } from './access-token.ts'
import { type FormerToken, familyOfFormer, formerAccessToken } from './former-refresh-token.ts'
import type { FindPresented } from './presented.ts'
import {
  type FindRefreshToken,
  judgeGeneration,
  type RefreshTokenLifetimes,
  stepsAfter,
} from './refresh-token-use.ts'
import { newSeed, type RefreshTokenValues } from './refresh-token-value.ts'
import { namedResources, type Resources } from './resource-indicators.ts'

/**
 * The refresh grant (RFC 6749 §6), in place of the engine's, because of what design 10 asks: a token
 * is replaced at every use, a client whose network failed may repeat the request for a few seconds
 * and gets the same answer, and any later use of a replaced token ends the grant.
 *
 * How one family comes out of any number of parallel uses, in any number of processes, without
 * waiting and without keeping an answer: the next tokens derive from the row of the family and the
 * generation that is used, so that all uses of one generation arrive at the same values. The access
 * token is written first and the family comes to its next generation last: as long as it has not, the
 * answer was never complete, and a client that was told 503 repeats the request however late.
 */
export interface RefreshDependencies {
  readonly findPresented: FindPresented
  readonly findRefreshToken: FindRefreshToken
  readonly values: RefreshTokenValues
  readonly accessTokens: Pick<AccessTokens, 'write'>
  readonly families: Pick<FamilyStore, 'begin' | 'step'>
  readonly grants: Pick<GrantStore, 'end'>
  readonly resources: Resources
  readonly lifetimes: RefreshTokenLifetimes & { readonly accessTokenSeconds: number }
  /** How long the row of a family is kept from its start. */
  readonly grantSeconds: number
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
  const { accessTokens, lifetimes } = dependencies
  const use = await findUse(ctx, dependencies)
  const next = await successorOf(ctx, use, dependencies)
  const payload = await accessTokenOf(ctx, use, dependencies)
  await accessTokens.write(next.accessToken, { ...payload, family: next.familyId })
  await next.settle()
  ctx.body = {
    access_token: next.accessToken,
    expires_in: lifetimes.accessTokenSeconds,
    refresh_token: next.refreshToken,
    scope: payload.scope,
    token_type: 'Bearer',
  }
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
  { findPresented, resources, now }: RefreshDependencies,
): Promise<Use> {
  const { oidc } = ctx
  const value = oidc.params?.['refresh_token']
  if (typeof value !== 'string' || !oidc.client) throw missingParameter('refresh_token')
  const { refreshToken } = await findPresented(ctx)
  const { facts, former, generation = 0 } = refreshToken ?? {}
  const token = former?.token ?? facts?.family?.token
  if (!facts || !token) throw invalidGrant('the refresh token is unknown')
  const { grant } = facts
  // RFC 6749 §6: a refresh token is bound to the client that it was issued to.
  if (grant.clientId !== oidc.client.clientId) throw invalidGrant('another client holds it')
  if (namedResources(oidc, resources).length > 0 && !token.bound) throw resourceNotGranted()
  const held = token.scope.split(' ')
  const scopes = narrowScopes(oidc, held)
  const access = judgeAccess(facts, held, now())
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
  const scopes = asked.split(' ').filter(Boolean)
  const missing = scopes.filter((scope) => !granted.includes(scope))
  if (missing.length > 0) throw scopeNotGranted(missing)
  return granted.filter((scope) => scopes.includes(scope))
}

/** The tokens of the answer, and the last write, after which it counts. */
interface Successor {
  readonly familyId?: string
  readonly accessToken: string
  readonly refreshToken: string
  settle(): Promise<void>
}

async function successorOf(
  ctx: KoaContextWithOIDC,
  use: Use,
  dependencies: RefreshDependencies,
): Promise<Successor> {
  const { values, families, findRefreshToken, lifetimes, now } = dependencies
  const { former, generation, value } = use
  if (isAnswered(former)) return await repeatedAnswer(ctx, { ...use, former }, dependencies)
  const family = former ? await adopt(former, dependencies) : use.facts.family
  const first = await judgeUse(ctx, { ...use, family }, dependencies)
  return {
    familyId: first.family.id,
    accessToken: values.accessToken(first.family, generation, use.scopes),
    refreshToken: values.write(first.family, generation + 1),
    async settle() {
      if (first.isRetry) return
      if (await families.step(first.family, stepsAfter(first.family, lifetimes, now()))) return
      // Another use of the same token was quicker, which makes this one a retry, or somebody ended it.
      const again = await findRefreshToken(value)
      await judgeUse(ctx, { ...use, family: again?.facts?.family }, dependencies)
    },
  }
}

async function judgeUse(
  ctx: KoaContextWithOIDC,
  { family, facts, generation }: Use & { readonly family: Family | undefined },
  { grants, lifetimes, now }: RefreshDependencies,
): Promise<{ readonly family: Family; readonly isRetry: boolean }> {
  if (!family) throw invalidGrant('the refresh token is unknown')
  const use = judgeGeneration(family, generation, { lifetimes, nowMs: now() })
  if (use.kind === 'lost') throw invalidGrant(use.reason)
  if (use.kind === 'reused') throw await reuse(ctx, facts.grant.id, grants)
  if (use.kind === 'retry') logFields(ctx).detail = 'the refresh was repeated'
  return { family, isRetry: use.kind === 'retry' }
}

/** RFC 9700 §4.14.2: a replaced token that comes back means that one of two holders is a thief. */
async function reuse(
  ctx: KoaContextWithOIDC,
  grantId: string,
  grants: RefreshDependencies['grants'],
): Promise<Error> {
  await grants.end({ id: grantId }, 'a used refresh token came back')
  ctx.oidc.provider.emit('grant.revoked', ctx, grantId)
  return invalidGrant('the refresh token was used before: the grant has been ended')
}

type AnsweredToken = FormerToken & Required<Pick<FormerToken, 'answered'>>

function isAnswered(former: FormerToken | undefined): former is AnsweredToken {
  return former?.answered !== undefined
}

/** What the version before answered to this very token, if that was only just. */
async function repeatedAnswer(
  ctx: KoaContextWithOIDC,
  { facts, scopes, former }: Use & { readonly former: AnsweredToken },
  { grants, lifetimes, now }: RefreshDependencies,
): Promise<Successor> {
  const { atMs, refreshToken } = former.answered
  if (now() - atMs > lifetimes.refreshRetrySeconds * 1000) {
    throw await reuse(ctx, facts.grant.id, grants)
  }
  const accessToken = formerAccessToken(former, scopes)
  return { accessToken, refreshToken, settle: async () => {} }
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

async function accessTokenOf(
  { oidc }: KoaContextWithOIDC,
  { facts, scopes, token }: Use,
  { resources, lifetimes }: RefreshDependencies,
): Promise<AdapterPayload> {
  const { grant } = facts
  const audience = token.bound ? resources.audience : undefined
  const given = grant.allowed
    ? allowedScopes(grant.allowed, audience)
    : await formerlyAllowed(oidc, grant.id, audience)
  const iat = Math.floor(Date.now() / 1000)
  return {
    kind: 'AccessToken',
    iat,
    // A repeated answer says `expires_in` anew; the token lives as much longer, so that it is true.
    exp: iat + lifetimes.accessTokenSeconds + lifetimes.refreshRetrySeconds,
    accountId: grant.personId,
    clientId: grant.clientId,
    grantId: grant.id,
    gty: 'authorization_code refresh_token',
    scope: given.filter((scope) => scopes.includes(scope)).join(' '),
    sessionUid: token.sessionUid,
    // What the claims parameter asked for is released with an unbound token, as by the engine.
    ...(audience === undefined ? { claims: token.claims } : { aud: audience }),
  }
}

/** The engine's model takes over what the version before kept of a grant outside of the database. */
async function formerlyAllowed(
  { provider }: KoaContextWithOIDC['oidc'],
  grantId: string,
  audience: string | undefined,
): Promise<string[]> {
  const grant = await provider.Grant.find(grantId)
  const scope = audience === undefined ? grant?.getOIDCScope() : grant?.getResourceScope(audience)
  return (scope ?? '').split(' ')
}
