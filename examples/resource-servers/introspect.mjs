// Asks what an access token is good for (RFC 7662). Nothing is kept: a token that was removed is refused
// at the next request. See "What to keep, and for how long" in docs/how-to/protect-an-api.md.
const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env
const issuer = ISSUER.replace(/\/$/, '')
const basic = [CLIENT_ID, CLIENT_SECRET].map(encodeURIComponent).join(':')

/** What the service tells of the token of an Authorization header; nothing where it is worth nothing. */
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
  if (response.status !== 200) throw new Error(`the service answered ${response.status}`)
  const told = await response.json()
  // A refresh token is active too, and has no token_type: it is nothing that an API takes.
  const isAccessToken = told.active === true && told.token_type === 'Bearer'
  return isAccessToken && told.iss === issuer && told.aud === issuer ? told : undefined
}

/** What a caller is told who is refused (RFC 6750, RFC 9728). */
export function challengeFor(error, scope) {
  const metadata = `${issuer}/.well-known/oauth-protected-resource`
  return {
    'WWW-Authenticate': `Bearer error="${error}", scope="${scope}", resource_metadata="${metadata}"`,
  }
}
