import { handleErrors, limits, revoke, scopes } from './auth-md-afterwards.ts'
import { discover, pickMethod, register } from './auth-md-obtain.ts'
import { useCredential } from './auth-md-use.ts'
import type { ServiceFacts } from './facts.ts'

/** The order of the specification: six steps, then what a reader looks up. */
const sections: readonly ((facts: ServiceFacts) => string)[] = [
  discover,
  pickMethod,
  register,
  useCredential,
  handleErrors,
  revoke,
  limits,
  scopes,
]

/**
 * The authentication walkthrough at /auth.md, for an agent or its developer. Readers look for a
 * first heading that contains "auth.md", and for a page that needs no other page to be followed.
 */
export function authMd(facts: ServiceFacts): string {
  const parts = [opening(facts), ...sections.map((section) => section(facts))]
  return `${parts.join('\n\n')}\n`
}

function opening({ baseUrl, serviceName }: ServiceFacts): string {
  return `# ${serviceName} auth.md

You are an agent, or the developer of one. This service issues OAuth 2.0 access tokens through the
authorization-code flow with PKCE (S256); a person signs in and agrees in a browser. The issuer and
the origin of the API is \`${baseUrl}\`.

The order is: discover, pick a method, register, use the credential, handle errors, revoke.`
}
