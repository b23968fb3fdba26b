import type { Provider } from 'oidc-provider'

import type { BearerTokens } from '../resource-server/verdict.ts'
import type { StateStore } from '../store/state.ts'
import { whyUnknown } from './access-token.ts'
import type { TokenJudge } from './introspection.ts'
import { siteOfGrant } from './site-of-grant.ts'

/** The engine's tokens and grants as a resource server sees them. */
export function bearerTokens(
  engine: Provider,
  judgeToken: TokenJudge,
  state: StateStore,
): BearerTokens {
  return {
    whyUnknown: async (value) => await whyUnknown(state, value),
    async findToken(value) {
      const token = await engine.AccessToken.find(value, { ignoreExpiration: true })
      return (
        token && {
          personId: token.accountId,
          clientId: token.clientId ?? '',
          grantId: token.grantId,
          siteId: siteOfGrant(token.grantId),
          scopes: token.scopes,
          audience: token.aud,
          expired: token.isExpired,
        }
      )
    },
    async findGrant(grantId) {
      const grant = await engine.Grant.find(grantId)
      return grant && { personId: grant.accountId, clientId: grant.clientId }
    },
    async findAccess({ personId, clientId, grantId, scopes }) {
      return await judgeToken({
        accountId: personId,
        clientId,
        grantId,
        scope: [...scopes].join(' '),
      })
    },
  }
}
