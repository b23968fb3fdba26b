import { randomUUID } from 'node:crypto'

import { importJWK, SignJWT } from 'jose'
import type { JWK } from 'oidc-provider'

import type { AccessToken } from '../../oauth/token/tokens.ts'

const LIVES_SECONDS = 60

/**
 * Creates the signer of access tokens for an upstream (RFC 9068 §2.2). A signed token has the person, site, roles and
 * client of the caller's token, and those of its scopes that the upstream uses. This service does not accept signed
 * tokens itself, because its own tokens are opaque and the engine does not have this key.
 */
export function makeSignForwarded(jwk: JWK | undefined, issuer: string, now: () => number) {
  if (!jwk) return () => Promise.reject(new Error('the key ring for upstreams is empty'))
  const { crv = '', x = '', y = '', d = '', kid = '' } = jwk
  const imported = importJWK({ kty: 'EC', crv, x, y, d }, 'ES256')
  const header = { typ: 'at+jwt', alg: 'ES256', kid }
  return async (
    { personId, siteId, roles, clientId, scopes }: AccessToken,
    audience: string,
    upstreamScopes: readonly string[],
  ): Promise<string> => {
    // Tokens with operator scopes always have a site.
    if (siteId === undefined) throw new Error('a token without a site reached the upstream route')
    const iat = Math.floor(now() / 1000)
    const claims = {
      iss: issuer,
      aud: audience,
      sub: personId,
      client_id: clientId,
      org_id: siteId,
      roles: [...roles],
      scope: upstreamScopes.filter((scope) => scopes.includes(scope)).join(' '),
      iat,
      exp: iat + LIVES_SECONDS,
      jti: randomUUID(),
    }
    return await new SignJWT(claims).setProtectedHeader(header).sign(await imported)
  }
}

/** Returns the public parts of the keys, for the published key set. */
export function publicKeys(keys: readonly JWK[]): JWK[] {
  return keys.map(({ kty, crv, x, y, kid, alg, use }) => ({ kty, crv, x, y, kid, alg, use }) as JWK)
}
