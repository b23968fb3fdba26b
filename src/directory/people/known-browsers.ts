import { createHmac, randomBytes } from 'node:crypto'

import { isSame } from '../../platform/store/digest.ts'

interface KnownBrowsersPorts {
  /** The current key, followed by older keys, which still verify cookies. */
  readonly browserKeys: readonly Buffer[]
  readonly now: () => number
  /** How long a browser stays known after its last sign-in. */
  readonly seconds: number
}

export type KnownBrowsers = ReturnType<typeof makeKnownBrowsers>

/** The maximum number of accounts in a cookie. The latest accounts are kept. */
const ACCOUNTS_MAX = 5
/** A random id, the time of the sign-in in base 36, and an HMAC. */
const ENTRY = /^[\w-]{16}~[\da-z]{1,10}~[\w-]{43}$/

/**
 * Creates the functions that read and update known-browser cookies. The cookies make it possible to count failures in
 * known browsers separately (OWASP, device cookies). A cookie has one entry per account: a random id, a time, and an
 * HMAC over the id, the time and the e-mail address. An entry cannot be forged and does not reveal the account. The
 * password is still required.
 */
export function makeKnownBrowsers({ browserKeys, now, seconds }: KnownBrowsersPorts) {
  const mark = (key: Buffer, head: string, login: string) =>
    createHmac('sha256', key).update(`browser ${head} ${login}`).digest('base64url')

  /** Returns the id of the browser, and when it last signed in to the account; undefined if the entry is not valid. */
  const read = (entry: string, login: string) => {
    const [browserId = '', time = '', shown = ''] = entry.split('~')
    const head = `${browserId}~${time}`
    if (!browserKeys.some((key) => isSame(shown, mark(key, head, login)))) return undefined
    const signedInAt = Number.parseInt(time, 36)
    return now() > signedInAt + seconds * 1000 ? undefined : { browserId, signedInAt }
  }

  const browsers = {
    /** Finds the valid entry of an account in a cookie. */
    find: (cookie: string | undefined, login: string) =>
      entriesOf(cookie).flatMap((entry) => read(entry, login) ?? [])[0],
    /** Like `remember`, and also returns whether the browser is new. Ending all sessions makes all browsers new. */
    welcome(cookie: string | undefined, login: string, signedOutAt: number | null) {
      const isNewBrowser = (browsers.find(cookie, login)?.signedInAt ?? 0) <= (signedOutAt ?? 0)
      return { isNewBrowser, browser: browsers.remember(cookie, login) }
    },
    /** Returns the cookie with a new entry for the account, in place of its old entry. */
    remember(cookie: string | undefined, login: string): string {
      const [key] = browserKeys
      if (!key) throw new Error('known-browser cookies need at least one key')
      const head = `${randomBytes(12).toString('base64url')}~${now().toString(36)}`
      const others = entriesOf(cookie).filter((other) => !read(other, login))
      return [`${head}~${mark(key, head, login)}`, ...others].slice(0, ACCOUNTS_MAX).join('.')
    },
  }
  return browsers
}

/** Returns the well-formed entries of a cookie, up to the maximum. */
const entriesOf = (cookie = '') =>
  cookie
    .split('.')
    .filter((entry) => ENTRY.test(entry))
    .slice(0, ACCOUNTS_MAX)
