/** The addresses of the pages for signed-in people. They are no part of the protocol's surface. */
export const pages = {
  account: '/account',
  admin: '/admin',
  /** Where the sign-in comes back to; the redirect address of `own-client.ts`. */
  signedIn: '/signed-in',
  signOut: '/sign-out',
} as const
