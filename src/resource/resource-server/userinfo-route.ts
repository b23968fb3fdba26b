import type { Context, Middleware } from 'koa'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import {
  type Claims,
  claimsByScope,
  claimsOf,
  releasedClaims,
  type SuiteClaims,
} from '../../oauth/token/claims.ts'
import type { AccessToken } from '../../oauth/token/tokens.ts'
import { hasSecretInBrowser, SECRET_IN_BROWSER } from '../../platform/http/cors.ts'
import { sendJsonError } from '../../platform/http/error-handler.ts'
import { isRefusal } from '../../platform/http/errors.ts'
import { paths } from '../../platform/http/paths.ts'
import { parameterOf, readForm, repetitionIn } from '../../platform/http/request-body.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { programRoute } from '../../platform/http/router.ts'
import { personKey } from '../../platform/limits/limits.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import { type DpopChallenge, judgeBinding, type SentToken } from './binding.ts'
import { type Challenge, challengeHeader, logToken, provenRequest, setNonce } from './protect.ts'
import { type ResourceParts, readToken, TOKEN_REQUIRED } from './verify-bearer.ts'

/**
 * Creates the UserInfo route (OpenID Connect Core §5.3), which responds like the engine's own endpoint except as listed
 * in decision 12. Accepts tokens for this origin, and tokens without an audience, which plain sign-ins get (design 4).
 */
export function userinfoRoute(parts: ResourceParts): Middleware {
  const { baseUrl: realm, resourceMetadataUrl, oauth } = parts
  const offer = oauth.checkDpop && ({ dpop: 'offered' } as const)
  const answer = async (ctx: Context) => {
    const answered = await claimsFor(ctx, parts).catch((error: unknown) => {
      if (!isRefusal(error) || error.statusCode !== 400) throw error
      return malformedRequest(error.error_description ?? '')
    })
    if ('claims' in answered) {
      ctx.body = answered.claims
      return
    }
    const { status, ...demand } = answered
    const challenge = { realm, resourceMetadataUrl, ...offer, ...demand }
    ctx.set('WWW-Authenticate', challengeHeader(challenge))
    // Without a token, the challenge should not contain an error (RFC 6750 §3.1). The JSON body still contains one.
    const { error = 'invalid_token', description = TOKEN_REQUIRED, scopes } = demand
    const scope = scopes && { scope: scopes.join(' ') }
    sendJsonError(ctx, status, { error, error_description: description, ...scope })
  }
  return programRoute({ path: paths.userinfo, name: 'userinfo', methods: ['GET', 'POST'], answer })
}

async function claimsFor(
  ctx: Context,
  { platform, oauth, verdicts }: ResourceParts,
): Promise<{ readonly claims: Claims } | UserinfoRefusal> {
  const { checkDpop, authorization } = oauth
  const sent = await readTokenOf(ctx, checkDpop !== undefined)
  if ('status' in sent) return sent
  const judged = await verdicts.judgeAccessToken(sent.value, { unbound: true })
  if (judged.kind === 'worthless') {
    // Send the same description for every unusable token. The log and the Refusals page show the reason.
    Object.assign(logFields(ctx), { client: judged.token?.clientId, detail: judged.reason })
    const description =
      'the access token is malformed, unknown, expired or revoked; authorize again'
    return { status: 401, error: 'invalid_token', description }
  }
  const { token } = judged
  const { fault, nextNonce } = await judgeBinding({ ...sent, token }, provenRequest(ctx), checkDpop)
  setNonce(ctx, nextNonce)
  if (checkDpop) ctx.append('Access-Control-Expose-Headers', 'DPoP-Nonce')
  if (fault) {
    const { reason, ...refusal } = fault
    Object.assign(logFields(ctx), { client: token.clientId, detail: reason })
    return { status: 401, ...refusal, dpop: 'demanded' }
  }
  logToken(ctx, token)
  refuseTooMany(ctx, platform.requestLimits.take('userinfo', personKey(token)))
  if (!token.scopes.includes(OPENID)) {
    const description = 'the access token lacks the scope openid; request it'
    return { status: 403, error: 'insufficient_scope', description, scopes: [OPENID] }
  }
  // Load the client only for requests from web pages. Confidential clients must not send such requests.
  if (
    ctx.get('Origin') &&
    hasSecretInBrowser(ctx, await authorization.findClient(token.clientId))
  ) {
    return malformedRequest(SECRET_IN_BROWSER)
  }
  verdicts.countUse(token.grant.id)
  return { claims: claimsReleased(token, authorization.conformance) }
}

/**
 * Reads the token from the header or, for POST, from the form (RFC 6750 §2.1 and §2.2; OpenID Connect Core §5.3.1).
 * Rejects requests with several tokens. Rejects a token in the URL, because URLs end up in logs.
 */
async function readTokenOf(
  ctx: Context,
  dpopEnabled: boolean,
): Promise<SentToken | UserinfoRefusal> {
  const query = new URLSearchParams(ctx.querystring)
  const form = ctx.method === 'POST' ? await readForm(ctx) : undefined
  const repetition = repetitionIn(form ?? query, ['access_token'])
  if (repetition !== undefined) return malformedRequest(repetition)
  const authorization = ctx.req.headersDistinct['authorization']?.filter(Boolean) ?? []
  const posted = form && parameterOf(form, 'access_token')
  const inAddress = parameterOf(query, 'access_token')
  const ways = [authorization[0], posted, inAddress].filter((way) => way !== undefined)
  if (ways.length > 1) return malformedRequest('the request has several access tokens; send one')
  if (inAddress !== undefined) {
    return malformedRequest('send the access token in the Authorization header, not in the URL')
  }
  if (posted !== undefined) return { scheme: 'Bearer', value: posted }
  const read = readToken(authorization, dpopEnabled)
  if (!('kind' in read)) return read
  if (read.kind === 'anonymous') return { status: 401 }
  // A malformed header counts as a malformed token (specification, Errors 4).
  return { status: 401, error: 'invalid_token', description: read.reason }
}

function claimsReleased(token: AccessToken, conformance: SuiteClaims | undefined): Claims {
  const suite = conformance?.covers(token.clientId) ? conformance : undefined
  return releasedClaims(
    { ...suite?.claims, ...claimsOf(token) },
    {
      scopes: token.scopes,
      requested: Object.keys(token.family.token.claims?.userinfo ?? {}),
      allowed: token.grant.allowed,
      claimsByScope: suite?.claimsByScope ?? claimsByScope,
    },
  )
}

/** A refusal. Errors that the engine's own endpoint also detects have the engine's texts. */
interface UserinfoRefusal extends Pick<Challenge, 'error' | 'description' | 'scopes'> {
  readonly status: 400 | 401 | 403
  readonly dpop?: DpopChallenge | undefined
}

/** `description` becomes part of a header, so it must not contain text from the request. */
function malformedRequest(description: string): UserinfoRefusal {
  return { status: 400, error: 'invalid_request', description }
}
