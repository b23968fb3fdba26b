// Introspects an access token (RFC 7662). Does not cache, so a revoked token is rejected at the next request. See
// "Caching" in docs/how-to/protect-an-api.md.
const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const issuer = ISSUER.replace(/\/$/, '')
const basic = [CLIENT_ID, CLIENT_SECRET].map(encodeURIComponent).join(':')

/** Returns the introspection response for the token of an Authorization header; undefined if the token is not valid. */
export async function tokenOf(authorization) {
  const [, token] = /^bearer +([^ ]+)$/i.exec(authorization ?? '') ?? []
  if (token === undefined) return undefined
  const response = await fetch(`${issuer}/api/oauth/introspect`, {
    method: 'POST',
    headers: { Authorization: `Basic ${Buffer.from(basic).toString('base64')}` },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    redirect: 'error',
    signal: AbortSignal.timeout(2000),
  })
  if (response.status !== 200) throw new Error(`the service responded with ${response.status}`)
  const result = await response.json()
  // A refresh token can be active too, but has no token_type.
  const isAccessToken = result.active === true && result.token_type === 'Bearer'
  return isAccessToken && result.iss === issuer && result.aud === issuer ? result : undefined
}

/** Returns the challenge for a rejected request (RFC 6750, RFC 9728). */
export function challengeFor(error, scope) {
  const metadata = `${issuer}/.well-known/oauth-protected-resource`
  return {
    'WWW-Authenticate': `Bearer error="${error}", scope="${scope}", resource_metadata="${metadata}"`,
  }
}
