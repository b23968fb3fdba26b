import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** A browser in which an account was signed in before. */
export interface KnownBrowser {
  /** Random. */
  readonly browserId: string
  /** When the account was last signed in there. */
  readonly signedInAt: number
}

interface KnownBrowsersPorts {
  /** The current one first; a browser that an older one marked is known until that is taken away. */
  readonly browserKeys: readonly Buffer[]
  readonly now: () => number
  readonly knownBrowserSeconds: number
}

export type KnownBrowsers = ReturnType<typeof makeKnownBrowsers>

/** A browser remembers as many accounts, those that were signed in last. */
const ACCOUNTS_MAX = 5
const ID_BYTES = 12
const TIME_BYTES = 6
const MARK_BYTES = 32
const ENTRY_CHARACTERS = Math.ceil(((ID_BYTES + TIME_BYTES + MARK_BYTES) * 4) / 3)

/**
 * Browsers that signed in before keep a cookie that says so, and are counted by it when their next
 * sign-in fails (OWASP, device cookies). It has an entry for each account: a random id, a time, and a
 * mark under a key of ours over both and the account. So it is good for that account only, nobody else
 * can make one, and nothing in it says whose it is. It opens nothing: the password is asked all the same.
 */
export function makeKnownBrowsers({ browserKeys, now, knownBrowserSeconds }: KnownBrowsersPorts) {
  const mark = (key: Buffer, head: Buffer, login: string) =>
    createHmac('sha256', key).update(head).update(login).digest()

  const read = (entry: string, login: string): KnownBrowser | undefined => {
    const bytes = Buffer.from(entry, 'base64url')
    if (bytes.length !== ID_BYTES + TIME_BYTES + MARK_BYTES) return undefined
    const head = bytes.subarray(0, ID_BYTES + TIME_BYTES)
    const shown = bytes.subarray(head.length)
    if (!browserKeys.some((key) => timingSafeEqual(mark(key, head, login), shown))) return undefined
    const signedInAt = head.readUIntBE(ID_BYTES, TIME_BYTES)
    if (now() > signedInAt + knownBrowserSeconds * 1000) return undefined
    return { browserId: head.toString('base64url', 0, ID_BYTES), signedInAt }
  }

  return {
    /** What the cookie of a browser says of an account; undefined when it does not know it. */
    find(cookie: string | undefined, login: string): KnownBrowser | undefined {
      for (const entry of entriesOf(cookie)) {
        const known = read(entry, login)
        if (known) return known
      }
      return undefined
    },
    /** The cookie of a browser in which the account has just signed in. */
    remember(cookie: string | undefined, login: string): string {
      const [key] = browserKeys
      if (!key) throw new Error('there is no key to mark browsers with')
      const head = Buffer.alloc(ID_BYTES + TIME_BYTES)
      randomBytes(ID_BYTES).copy(head)
      head.writeUIntBE(now(), ID_BYTES, TIME_BYTES)
      const entry = Buffer.concat([head, mark(key, head, login)]).toString('base64url')
      const others = entriesOf(cookie).filter((other) => !read(other, login))
      return [entry, ...others].slice(0, ACCOUNTS_MAX).join('.')
    },
  }
}

/** None for a cookie that is not ours. */
function entriesOf(cookie = ''): readonly string[] {
  if (cookie.length > ACCOUNTS_MAX * (ENTRY_CHARACTERS + 1)) return []
  return cookie.split('.').filter((entry) => entry.length === ENTRY_CHARACTERS)
}
