import type { LostReason } from '../grants/access.ts'

/** How the sign-in of a person at an application comes to its end. */
export type SessionEnd = 'the person signed out' | 'the person signed out everywhere' | LostReason

/**
 * Of which ends an application is told (OpenID Connect Back-Channel Logout 1.0). It is not told of what
 * it did itself, nor of what only ran out: its own session is its own affair then.
 */
export const tellsOf: Readonly<Record<SessionEnd, boolean>> = {
  'the person signed out': true,
  'the person signed out everywhere': true,
  'the grant has ended: the person removed it': true,
  'the grant has ended: an operator ended it': true,
  'the grant has ended: the platform ended it': true,
  'the grant has ended: the application was deleted': true,
  'the grant has ended: a scope of it was taken from the application': true,
  // Somebody else may have what the application holds.
  'the grant has ended: a code was used twice': true,
  'the grant has ended: a used refresh token came back': true,
  'the grant has ended: the database was restored from a backup': true,
  'the account is disabled': true,
  'the person has no role at the site': true,
  'the person does not operate the site any more': true,
  'the client is disabled': true,
  'the client was deleted': true,
  'the site switched MCP connections off': true,
  'no operator of the site approved that the client changes anything': true,
  'the grant has ended: the client revoked it': false,
  'the token was revoked with its family': false,
  'the grant has expired': false,
  'the grant does not exist': false,
  'the grant is of another person or client': false,
}
