/** What is known about common identity providers, and which claims of a provider describe a person. */

/** The names of the claims about a person. */
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

interface Preset {
  readonly name: string
  /** The issuer. `{tenant}` stands for the tenant. */
  readonly issuer: string
  readonly claims: ClaimNames
  /** Where to register Gatehouse, and what else the provider needs. */
  readonly steps: string
}

/** Apple is missing, because its client secret is a token that expires (docs/how-to/accounts.md). */
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
])
