/** Presets for common identity providers: the name, the issuer and the names of the claims about a person. */

import { importPKCS8, SignJWT } from 'jose'

/** The names that a provider uses for the claims about a person. */
export interface ClaimNames {
  readonly email: string
  /** The claim that states whether the provider has verified the address. */
  readonly emailVerified: string
  readonly name: string
}

/** The claims of OpenID Connect Core §5.1. */
export const standardClaims: ClaimNames = {
  ...{ email: 'email', emailVerified: 'email_verified', name: 'name' },
}

export const APPLE = 'https://appleid.apple.com'

interface Preset {
  readonly name: string
  /** The issuer. The owner of the site replaces `{tenant}` with a tenant id. */
  readonly issuer: string
  readonly claims: ClaimNames
}

export const presets: ReadonlyMap<string, Preset> = new Map([
  ['google', { name: 'Google', issuer: 'https://accounts.google.com', claims: standardClaims }],
  [
    'microsoft',
    {
      name: 'Microsoft',
      issuer: 'https://login.microsoftonline.com/{tenant}/v2.0',
      // Microsoft sends no `email_verified`; `xms_edov` says whether it has verified the domain of the address.
      claims: { ...standardClaims, emailVerified: 'xms_edov' },
    },
  ],
  ['apple', { name: 'Apple', issuer: APPLE, claims: standardClaims }],
])

/** How long a client secret for Apple is valid, in seconds. Each token request gets a new secret. */
const APPLE_SECRET_SECONDS = 300

/** Signs the token that Apple requires as the client secret. @throws if the secret is not `team ID:key ID:key` */
export async function appleSecret(
  { clientId, clientSecret }: Readonly<Record<'clientId' | 'clientSecret', string>>,
  nowMs: number,
): Promise<string> {
  const [team = '', kid = '', file = ''] = clientSecret.split(':')
  const key = file.replaceAll(/-----[A-Z ]+-----|\s/g, '')
  const pem = `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----`
  const iat = Math.floor(nowMs / 1000)
  const exp = iat + APPLE_SECRET_SECONDS
  const token = new SignJWT({ iss: team, sub: clientId, aud: APPLE, iat, exp })
  return await token.setProtectedHeader({ alg: 'ES256', kid }).sign(await importPKCS8(pem, 'ES256'))
}
