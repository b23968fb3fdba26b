import { randomBytes } from 'node:crypto'

import { sha256 } from '../../platform/store/digest.ts'

/** A browser's latest sign-in to one account. */
interface KnownSignIn {
  /** The digest of the canonical e-mail address. */
  readonly account: string
  /** A random id of the browser for this account. Each sign-in changes it. */
  readonly browserId: string
  readonly signedInAt: number
}

/** The sign-ins that one browser remembers, the most recent first. The browser keeps the list in a sealed cookie. */
export type KnownSignIns = readonly KnownSignIn[]

export type KnownBrowsers = ReturnType<typeof makeKnownBrowsers>

/** The maximum number of accounts that one browser remembers. */
const ACCOUNTS_MAX = 5

/**
 * Creates the functions that read and update the sign-ins that a browser remembers. They make it possible to count
 * failures in known browsers separately (OWASP, device cookies). The password is still required.
 *
 * @param seconds how long a browser stays known after its last sign-in
 */
export function makeKnownBrowsers(now: () => number, seconds: number) {
  const browsers = {
    /** Finds the last sign-in to an account. Returns undefined if there is none, or if it was too long ago. */
    find: (known: KnownSignIns | undefined, login: string) =>
      known?.find(
        ({ account, signedInAt }) =>
          account === sha256(login) && now() <= signedInAt + seconds * 1000,
      ),
    /** Like `remember`, and also returns whether the browser is new. Ending all sessions makes all browsers new. */
    welcome(known: KnownSignIns | undefined, login: string, signedOutAt: number | null) {
      const isNewBrowser = (browsers.find(known, login)?.signedInAt ?? 0) <= (signedOutAt ?? 0)
      return { isNewBrowser, browser: browsers.remember(known, login) }
    },
    /** Adds a sign-in to an account, in place of the earlier one. Returns the new list. */
    remember(known: KnownSignIns = [], login: string): KnownSignIns {
      const account = sha256(login)
      const browserId = randomBytes(12).toString('base64url')
      const others = known.filter((other) => other.account !== account)
      return [{ account, browserId, signedInAt: now() }, ...others].slice(0, ACCOUNTS_MAX)
    },
  }
  return browsers
}
