import type { GoodToken } from './judge-token.ts'

/**
 * What a token is good for (RFC 7662 §2.2): for whom it is, and with `profile` the site that it is
 * for and the roles that the person holds there now (design 15). A refresh token has no type and no
 * audience of its own.
 */
export function activeToken(
  { tokenKind, record, scopes, access }: GoodToken,
  issuer: string,
): Readonly<Record<string, unknown>> {
  const { grant, person, roles } = access
  const atSite = scopes.has('profile') && grant.siteId !== undefined
  return {
    active: true,
    sub: person.id,
    ...(atSite && { org_id: grant.siteId, roles }),
    client_id: record.clientId,
    exp: record.exp,
    iat: record.iat,
    sid: record['sid'],
    iss: issuer,
    aud: record.aud,
    scope: record.scope || undefined,
    ...(tokenKind === 'access' && typeOf(record['jkt'])),
  }
}

/** One that is bound to a key is told with the key (RFC 9449 §6.2). */
function typeOf(jkt: unknown) {
  return jkt === undefined ? { token_type: 'Bearer' } : { token_type: 'DPoP', cnf: { jkt } }
}
