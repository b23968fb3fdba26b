import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** A browser that has signed in to an account before. */
export interface KnownBrowser {
  readonly browserId: string
  /** When the browser last signed in to the account. */
  readonly signedInAt: number
}

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
const ID_BYTES = 12
const TIME_BYTES = 6
const MARK_BYTES = 32
const ENTRY_CHARACTERS = Math.ceil(((ID_BYTES + TIME_BYTES + MARK_BYTES) * 4) / 3)

/**
 * Creates the functions that read and update known-browser cookies. With them, failures in known browsers are counted
 * separately (OWASP, device cookies). A cookie has one entry per account: a random id, a time, and an HMAC over both
 * and the e-mail address. An entry cannot be forged and does not reveal the account. The password is still required.
 */
export function makeKnownBrowsers({ browserKeys, now, seconds }: KnownBrowsersPorts) {
  const mark = (key: Buffer, head: Buffer, login: string) =>
    createHmac('sha256', key).update(head).update(login).digest()

  const read = (entry: string, login: string): KnownBrowser | undefined => {
    const bytes = Buffer.from(entry, 'base64url')
    if (bytes.length !== ID_BYTES + TIME_BYTES + MARK_BYTES) return undefined
    const head = bytes.subarray(0, ID_BYTES + TIME_BYTES)
    const shown = bytes.subarray(head.length)
    if (!browserKeys.some((key) => timingSafeEqual(mark(key, head, login), shown))) return undefined
    const signedInAt = head.readUIntBE(ID_BYTES, TIME_BYTES)
    if (now() > signedInAt + seconds * 1000) return undefined
    return { browserId: head.toString('base64url', 0, ID_BYTES), signedInAt }
  }

  const browsers = {
    /** Finds the valid entry of an account in a cookie. */
    find: (cookie: string | undefined, login: string): KnownBrowser | undefined =>
      entriesOf(cookie).flatMap((entry) => read(entry, login) ?? [])[0],
    /** Like `remember`, and also returns whether the browser is new. Signing out everywhere makes all browsers new. */
    welcome(cookie: string | undefined, login: string, signedOutAt: number | null) {
      const isNewBrowser = (browsers.find(cookie, login)?.signedInAt ?? 0) <= (signedOutAt ?? 0)
      return { isNewBrowser, browser: browsers.remember(cookie, login) }
    },
    /** Returns the cookie with a new entry for the account, in place of its old entry. */
    remember(cookie: string | undefined, login: string): string {
      const [key] = browserKeys
      if (!key) throw new Error('known-browser cookies need at least one key')
      const head = Buffer.alloc(ID_BYTES + TIME_BYTES)
      randomBytes(ID_BYTES).copy(head)
      head.writeUIntBE(now(), ID_BYTES, TIME_BYTES)
      const entry = Buffer.concat([head, mark(key, head, login)]).toString('base64url')
      const others = entriesOf(cookie).filter((other) => !read(other, login))
      return [entry, ...others].slice(0, ACCOUNTS_MAX).join('.')
    },
  }
  return browsers
}

/** Returns the entries of a cookie that have the right length; none if the cookie is too long. */
function entriesOf(cookie = ''): readonly string[] {
  if (cookie.length > ACCOUNTS_MAX * (ENTRY_CHARACTERS + 1)) return []
  return cookie.split('.').filter((entry) => entry.length === ENTRY_CHARACTERS)
}
