import type { AdapterPayload, KoaContextWithOIDC } from 'oidc-provider'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { needsResource } from '../../directory/scopes/policy.ts'
import {
  invalidGrant,
  resourceNotGranted,
  resourceNotRepeated,
} from '../../platform/http/errors.ts'
import { logFields } from '../../platform/http/request-log.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import { canBeClientId } from '../clients/client.ts'
import { choseFapi } from '../clients/client-metadata.ts'
import type { CheckDpop } from '../clients/proofs.ts'
import type { NewFamily } from '../grants/family-store.ts'
import type { Grants } from '../grants/grants.ts'
import type { AccessFacts } from '../grants/judge-access.ts'
import type { Lifetimes } from './refresh-token-use.ts'
import { namedResources, type Resources } from './resource-indicators.ts'
import { familyOfCode, newSeed } from './token-values.ts'
import type { RefreshToken, Tokens } from './tokens.ts'

/** The code or token of a token request, with its grant. */
interface TokenRequest {
  /** The engine's record of the code. */
  readonly code?: AdapterPayload | undefined
  readonly refreshToken?: RefreshToken | undefined
  /** Facts about the grant and the calling client; undefined if the token, grant or unexpired code is not found. */
  readonly facts?: AccessFacts | undefined
}

/** Reads the code or token of a request, at most once per request. The first call must pass the client's id. */
export type ReadTokenRequest = (ctx: KoaContextWithOIDC, callerId?: string) => Promise<TokenRequest>

interface TokenEndpointParts {
  readonly platform: {
    readonly requestLimits: Limits
    readonly now: () => number
  }
  /** The stores of grants. `findGrant` reads each grant only once per request. */
  readonly grants: Grants
  readonly tokens: Tokens
  readonly proofs: { readonly checkDpop: CheckDpop | undefined }
  readonly resources: Resources
  readonly lifetimes: Lifetimes
  /** Records sign-ins at applications that are notified of sign-outs. */
  readonly signOuts: { begin(session: BegunSession): Promise<void> } | undefined
}

export type TokenRequests = TokenEndpointParts & { readonly readTokenRequest: ReadTokenRequest }

/**
 * Creates the function that reads the code or refresh token of a token request. One query reads its grant, person,
 * roles and family, and the client's version. Later calls for the same request get the same result.
 */
export function makeReadTokenRequest({ grants, tokens }: TokenEndpointParts): ReadTokenRequest {
  const known = new WeakMap<object, Promise<TokenRequest>>()

  const readPresented = async (
    params: Readonly<Record<string, unknown>>,
    callerId: string | undefined,
  ): Promise<TokenRequest> => {
    const { grant_type, code: value, refresh_token } = params
    if (grant_type === 'authorization_code' && typeof value === 'string') {
      const facts = await grants.findGrant({ codeId: familyOfCode(value), callerId })
      return facts?.code ? { code: { ...facts.code, jti: value }, facts } : {}
    }
    if (grant_type !== 'refresh_token' || typeof refresh_token !== 'string') return {}
    const refreshToken = await tokens.findRefreshToken(refresh_token, callerId)
    return { refreshToken, facts: refreshToken }
  }

  return async (ctx, callerId) => {
    const asks = canBeClientId(callerId ?? '') ? callerId : undefined
    const read = known.get(ctx) ?? readPresented(ctx.oidc.params ?? {}, asks)
    known.set(ctx, read)
    return await read
  }
}

/** A session at an application that is notified when the session ends. */
export interface BegunSession extends NewFamily {
  readonly clientId: string
  readonly personId: string
  readonly browserSessionId: string | undefined
}

/**
 * The time within which reusing a code does not end the grant. The reuse is still rejected. Some pages run their
 * callback twice (design 11). Does not apply to clients that opted into part of the FAPI 2.0 Security Profile.
 */
const REPEAT_SECONDS = 5

/**
 * Creates the steps that we add to the engine's code exchange. The row of the new family marks the code as used. Only
 * one of several parallel exchanges can create the row. An exchange that fails earlier does not use up the code.
 */
export function makeExchange(dependencies: TokenRequests) {
  const { readTokenRequest, grants, tokens, platform, signOuts } = dependencies
  // The tokens that replace the engine's own values in the response. The engine's values are not stored.
  const firstTokens = new WeakMap<object, { access_token: string; refresh_token?: string }>()

  /**
   * Stores the new family, which uses up the code, and creates its first tokens. At a sign-in to a client that receives
   * sign-out notices, also begins the session.
   *
   * @param scopes scopes of the access token that the engine is about to issue
   * @param jkt thumbprint of the key that the token is bound to; the engine has verified the proof
   * @throws invalidGrant if another exchange has used the code
   */
  const complete = async (ctx: KoaContextWithOIDC, scopes: readonly string[], jkt?: string) => {
    const { code } = await readTokenRequest(ctx)
    if (!code) throw new Error('the engine can issue access tokens only in exchange for a code')
    const { client } = ctx.oidc
    const refreshes = client?.grantTypeAllowed('refresh_token') === true
    const token = { ...tokenOf(code), refreshes, ...(jkt !== undefined && { jkt }) }
    const startedAt = platform.now()
    const family = { id: familyOfCode(String(ctx.oidc.params?.['code'])), seed: newSeed() }
    const keptUntil = startedAt + keptSeconds(refreshes, dependencies) * 1000
    const { grantId = '', accountId: personId = '', sessionUid: browserSessionId } = code
    const begun = { ...family, grantId, token, startedAt, keptUntil }
    // Begin the session before the code is used up. If this fails, the client can repeat the request.
    if (signOuts && client?.backchannelLogoutUri && token.scopes.includes(OPENID)) {
      await signOuts.begin({ ...begun, clientId: client.clientId, personId, browserSessionId })
    }
    if (!(await grants.families.begin(begun))) {
      throw invalidGrant('a concurrent request used the same code')
    }
    const first = { generation: 0, issuedAtSeconds: Math.floor(startedAt / 1000), has: scopes }
    firstTokens.set(ctx, {
      access_token: tokens.values.writeAccessToken({ ...family, scopes: token.scopes }, first),
      ...(refreshes && { refresh_token: tokens.values.writeRefreshToken(family, 0) }),
    })
  }

  return {
    /**
     * Returns the code of a token request. Returns undefined if the code is unknown or has expired, or if its grant has
     * ended or is missing. For a replay that must end the grant, `usedAt` is when the code was first used, in epoch
     * milliseconds. Rejects a wrong resource, or a missing one if it is required.
     */
    presentCode: async (ctx: KoaContextWithOIDC) =>
      codeForExchange(ctx, await readTokenRequest(ctx), dependencies),

    /** Rejects a code that was used a moment ago. Runs after the engine's checks and before `complete`. */
    async mustBeUnused(ctx: KoaContextWithOIDC): Promise<void> {
      if ((await readTokenRequest(ctx)).facts?.family) {
        throw invalidGrant('the code was used a moment ago; its grant and tokens stay valid')
      }
    },

    complete,

    /** Returns the tokens that `complete` created for this request; undefined for other requests. */
    firstTokens: (ctx: object) => firstTokens.get(ctx),
  }
}

export type Exchange = ReturnType<typeof makeExchange>

function codeForExchange(
  ctx: KoaContextWithOIDC,
  { code, facts }: TokenRequest,
  { resources, platform: { now } }: TokenRequests,
): { readonly code: AdapterPayload; readonly usedAt?: number } | undefined {
  const { client } = ctx.oidc
  if (!code || !facts) return undefined
  // The engine rejects the code of another client.
  if (!client || client.clientId !== code.clientId) return { code }
  const { grant, family } = facts
  if (grant.endedBecause !== undefined) {
    logFields(ctx).detail = `the grant has ended: ${grant.endedBecause}`
    return undefined
  }
  const mayRepeat = !choseFapi(client)
  if (family && !(mayRepeat && now() - family.startedAt <= REPEAT_SECONDS * 1000)) {
    logFields(ctx).outcome = 'reused'
    return { code, usedAt: family.startedAt }
  }
  settleResource(ctx.oidc, code, resources)
  return { code }
}

/** Allowed difference between our clock and the store's, which decides when codes expire. */
const CLOCKS_DIFFER_SECONDS = 60

/**
 * Returns how long to keep the row of a family. Without refresh tokens, the row must outlive the access token and the
 * code, which the row marks as used.
 */
function keptSeconds(mayRefresh: boolean, { grants, lifetimes }: TokenRequests) {
  if (mayRefresh) return grants.grantSeconds
  const { accessTokenSeconds, authorizationCodeSeconds } = lifetimes
  return Math.max(2 * accessTokenSeconds, authorizationCodeSeconds + CLOCKS_DIFFER_SECONDS)
}

/** Returns the content of the tokens that a code is exchanged for. */
function tokenOf({ scope = '', resource, claims, sid, acr, authTime }: AdapterPayload) {
  const [audience] = [resource].flat()
  return { scopes: scope.split(' ').filter(Boolean), audience, claims, sid, acr, authTime }
}

/** Replaces the requested resource with the audience. Rejects a wrong resource, or a missing one if required (design 3). */
function settleResource(
  oidc: KoaContextWithOIDC['oidc'],
  code: AdapterPayload,
  resources: Resources,
): void {
  const { scopes, audience } = tokenOf(code)
  const granted = audience !== undefined
  if (namedResources(oidc, resources).length > 0) {
    if (!granted) throw resourceNotGranted()
    Object.assign(oidc.params ?? {}, { resource: resources.audience })
  } else if (granted && needsResource(scopes)) {
    throw resourceNotRepeated(resources.audience)
  }
}
