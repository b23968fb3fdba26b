/** Presets for common identity providers: the issuer, the claims about a person, and the steps to register. */

import { importPKCS8, SignJWT } from 'jose'

/** The names that a provider uses for the claims about a person. */
export interface ClaimNames {
  readonly email: string
  /** The claim that says whether the provider has verified the address. */
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
  /** The issuer. `{tenant}` stands for the tenant. */
  readonly issuer: string
  readonly claims: ClaimNames
  /** The steps to register Gatehouse at the provider. */
  readonly steps: string
}

export const presets: ReadonlyMap<string, Preset> = new Map([
  [
    'google',
    {
      name: 'Google',
      issuer: 'https://accounts.google.com',
      claims: standardClaims,
      steps:
        'In the Google Cloud console, open Google Auth Platform, Clients, and create a client of the type “Web application”. Add the redirect URI under “Authorized redirect URIs”.',
    },
  ],
  [
    'microsoft',
    {
      name: 'Microsoft',
      issuer: 'https://login.microsoftonline.com/{tenant}/v2.0',
      // Microsoft sends no `email_verified`; `xms_edov` says whether it has verified the domain of the address.
      claims: { ...standardClaims, emailVerified: 'xms_edov' },
      steps:
        'In the Microsoft Entra admin center, register an application and replace {tenant} with its directory (tenant) ID. Add the redirect URI under “Authentication” for the platform “Web”, and the optional claims “email” and “xms_edov” to the ID token.',
    },
  ],
  [
    'apple',
    {
      name: 'Apple',
      issuer: APPLE,
      claims: standardClaims,
      steps:
        'In your Apple developer account, create a Services ID with the redirect URI as its return URL, and a key for “Sign in with Apple”. The client ID is the Services ID. As the client secret, enter the team ID, the key ID and the content of the key file, separated by colons.',
    },
  ],
])

/** How long a client secret for Apple is valid, in seconds. Each request gets a new secret. */
const APPLE_SECRET_SECONDS = 300

/** Signs the token that Apple requires as client secret. @throws an error if the secret is not `team ID:key ID:key` */
export async function appleSecret(
  { clientId, clientSecret }: Readonly<Record<'clientId' | 'clientSecret', string>>,
  nowMs: number,
): Promise<string> {
  const [team = '', kid = '', file = ''] = clientSecret.split(':')
  const key = file.replaceAll(/-----[A-Z ]+-----|\s/g, '')
  const pem = `-----BEGIN PRIVATE KEY-----\n${key}\n-----END PRIVATE KEY-----`
  const iat = Math.floor(nowMs / 1000)
  const token = new SignJWT({
    iss: team,
    sub: clientId,
    aud: APPLE,
    iat,
    exp: iat + APPLE_SECRET_SECONDS,
  })
  return await token.setProtectedHeader({ alg: 'ES256', kid }).sign(await importPKCS8(pem, 'ES256'))
}
