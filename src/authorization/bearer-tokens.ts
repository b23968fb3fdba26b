import type { Provider } from 'oidc-provider'

import type { BearerTokens } from '../resource-server/verdict.ts'
import { siteOfGrant } from './site-of-grant.ts'
import type { TokenJudge } from './token-policy.ts'

/** The engine's tokens and grants as a resource server sees them. */
export function bearerTokens(engine: Provider, judgeToken: TokenJudge): BearerTokens {
  return {
    async findToken(value) {
      const token = await engine.AccessToken.find(value)
      return (
        token && {
          personId: token.accountId,
          clientId: token.clientId ?? '',
          grantId: token.grantId,
          siteId: siteOfGrant(token.grantId),
          scopes: token.scopes,
          audience: token.aud,
          // The engine finds a token for 15 seconds of clock tolerance after its end.
          expired: token.isExpired,
        }
      )
    },
    async findGrant(grantId) {
      const grant = await engine.Grant.find(grantId)
      return grant && { personId: grant.accountId, clientId: grant.clientId }
    },
    async findStanding({ personId, clientId, grantId, scopes }) {
      return await judgeToken({
        accountId: personId,
        clientId,
        grantId,
        scope: [...scopes].join(' '),
      })
    },
  }
}
