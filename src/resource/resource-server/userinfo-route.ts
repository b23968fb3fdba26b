/** UserInfo: what a relying party is told of the person who signed in (OpenID Connect Core §5.3). */

import type { Context, Middleware } from 'koa'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import type { FindAuthenticatingClient } from '../../oauth/clients/authenticate-client.ts'
import type { FindAllowed } from '../../oauth/grants/find-allowed.ts'
import { type Claims, claimsByScope, claimsOf, type SuiteClaims } from '../../oauth/token/claims.ts'
import { type Release, releasedClaims } from '../../oauth/token/released-claims.ts'
import { FOREIGN_TO_PAGES, isForeignToPages } from '../../platform/http/cors.ts'
import { paths } from '../../platform/http/paths.ts'
import { readForm } from '../../platform/http/request-body.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { programRoute } from '../../platform/http/router.ts'
import { type BoundTokenPorts, lackOfProof } from './bound-token.ts'
import type { ExpectedToken, GoodToken, JudgeToken } from './judge-token.ts'
import { readTokenOf } from './token-of-request.ts'
import {
  invalidToken,
  lackingScope,
  malformedRequest,
  refuseUserinfo,
  type UserinfoRefusal,
  withoutToken,
} from './userinfo-refusals.ts'

export interface UserinfoPorts extends BoundTokenPorts {
  readonly baseUrl: string
  readonly resourceMetadataUrl: string
  readonly judgeToken: JudgeToken
  readonly findAllowed: FindAllowed
  readonly findClient: FindAuthenticatingClient
  readonly conformance: SuiteClaims | undefined
  readonly callerLimits: {
    /** @throws tooManyRequests */
    refuseBeyond(
      ctx: Context,
      name: 'userinfo',
      person: { readonly personId: string; readonly clientId: string },
    ): void
  }
  /** Hears of each use of a token. */
  readonly countUse: (grantId: string) => void
}

/**
 * A protected resource like the others, with the answers that the engine's own has: it takes the
 * token that is bound to the origin as well as the one of a plain sign-in, which is bound to nothing
 * (design 4).
 */
export function userinfoRoute(ports: UserinfoPorts): Middleware {
  const { baseUrl: realm, resourceMetadataUrl, checkDpop } = ports
  const offer = checkDpop && ({ dpop: 'offered' } as const)
  const answer = async (ctx: Context) => {
    const answered = await claimsFor(ctx, ports)
    if ('status' in answered)
      refuseUserinfo(ctx, answered, { realm, resourceMetadataUrl, ...offer })
    else ctx.body = answered.claims
  }
  return programRoute({ path: paths.userinfo, name: 'userinfo', methods: ['GET', 'POST'], answer })
}

/** Its row has no word of what was allowed, and neither has what the version before left. */
const UNKNOWN_GRANT = 'the grant does not say what it allows'

const expected = { kinds: ['access'], unbound: true } as const satisfies ExpectedToken

async function claimsFor(
  ctx: Context,
  ports: UserinfoPorts,
): Promise<{ readonly claims: Claims } | UserinfoRefusal> {
  const query = new URLSearchParams(ctx.querystring)
  const token = readTokenOf({
    authorization: ctx.req.headersDistinct['authorization'] ?? [],
    query,
    parameters: ctx.method === 'POST' ? await readForm(ctx) : query,
    takesProofs: ports.checkDpop !== undefined,
  })
  if (token === 'none') return withoutToken
  if ('problem' in token) return malformedRequest(token.problem)
  const judged = await ports.judgeToken(token.value, expected)
  if (judged.kind === 'worthless') return invalidToken(ctx, judged)
  const { record, access } = judged
  const unproven = await lackOfProof(ctx, { ...token, record }, ports)
  if (unproven) return unproven
  Object.assign(logFields(ctx), { client: record.clientId, person: record.accountId })
  const { clientId = '', accountId: personId = '' } = record
  ports.callerLimits.refuseBeyond(ctx, 'userinfo', { clientId, personId })
  const refusal = lackOf(judged.scopes, token.scope) ?? (await strangeness(ctx, judged, ports))
  if (refusal) return refusal
  const allowed = await ports.findAllowed(access.grant)
  if (!allowed) return invalidToken(ctx, { clientId: record.clientId, reason: UNKNOWN_GRANT })
  ports.countUse(access.grant.id)
  const scopes = token.scope?.split(' ') ?? judged.scopes
  return { claims: claimsOfToken(judged, { scopes, allowed }, ports.conformance) }
}

/** What the token has too little of: `openid`, or a scope that the request names. */
function lackOf(
  scopes: ReadonlySet<string>,
  named: string | undefined,
): UserinfoRefusal | undefined {
  if (!scopes.has(OPENID)) return lackingScope('access token missing openid scope', [OPENID])
  if (named === undefined) return undefined
  // RFC 6749 §3.3
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(named)) {
    return malformedRequest('scope contains invalid characters')
  }
  const missing = named.split(' ').filter((scope) => !scopes.has(scope))
  if (missing.length === 0) return undefined
  return lackingScope('access token missing requested scope', missing)
}

/** The client is looked up for a page only: what else matters of it is part of the token's access. */
async function strangeness(
  ctx: Context,
  { record }: GoodToken,
  { findClient }: UserinfoPorts,
): Promise<UserinfoRefusal | undefined> {
  if (!ctx.get('Origin')) return undefined
  const client = await findClient(record.clientId ?? '')
  return isForeignToPages(ctx, client) ? malformedRequest(FOREIGN_TO_PAGES) : undefined
}

function claimsOfToken(
  { record, access }: GoodToken,
  release: Pick<Release, 'scopes' | 'allowed'>,
  conformance: SuiteClaims | undefined,
): Claims {
  const suite = conformance?.covers(record.clientId) ? conformance : undefined
  const { userinfo = {} } = (record['claims'] ?? {}) as { readonly userinfo?: object }
  return releasedClaims(
    { ...suite?.claims, ...claimsOf(access) },
    {
      ...release,
      requested: Object.keys(userinfo),
      claimsByScope: suite?.claimsByScope ?? claimsByScope,
    },
  )
}
