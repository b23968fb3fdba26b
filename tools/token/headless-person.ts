/** The input of a person who uses the pages without a browser. */
export interface Answers {
  readonly login: string
  readonly password: string
  /** Returns the current code of the authenticator app, for an account with a second factor. */
  readonly code?: (() => string) | undefined
  /** The site to choose; the first one by default. */
  readonly site?: string | undefined
  /** Whether to deny access on the consent page. */
  readonly refuse?: boolean | undefined
}

export type HeadlessPerson = ReturnType<typeof makeHeadlessPerson>

const STEPS_MAX = 20

/**
 * Simulates a person without a browser: follows redirects, keeps cookies, and submits the sign-in, second-factor,
 * site and consent pages. Pages are identified by their ids and fields.
 */
export function makeHeadlessPerson(answers: Answers) {
  const cookies = new CookieJar()
  /** Sends a request with the person's cookies, without following redirects. */
  const open = async (url: URL, init: RequestInit = {}) => {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html', ...init.headers, cookie: cookies.headerFor(url) },
    })
    cookies.keep(url, response.headers.getSetCookie())
    return response
  }
  return {
    open,
    /** Returns the Cookie header that a browser would send to a URL. */
    cookiesFor: (url: URL) => cookies.headerFor(url),
    /** Keeps cookies, given as `Set-Cookie` lines for a URL. */
    keep: (url: URL, lines: readonly string[]) => cookies.keep(url, lines),
    /**
     * Opens an authorization request, and submits the pages until the redirect to `redirectUri`.
     *
     * @returns the URL of that redirect, with a code or an error
     * @throws Error for an error page, a rejected sign-in, or an unexpected page
     */
    async authorize(start: URL, redirectUri: string): Promise<URL> {
      let [url, init]: [URL, RequestInit] = [start, {}]
      for (let step = 0; step < STEPS_MAX; step += 1) {
        const response = await open(url, init)
        const location = response.headers.get('location')
        if (location) {
          const target = new URL(location, url)
          if (leavesFor(redirectUri, target)) return target
          ;[url, init] = [target, {}]
        } else {
          ;[url, init] = fillIn(await response.text(), url, answers)
        }
      }
      throw new Error(`the sign-in did not end within ${STEPS_MAX} pages and redirects`)
    },
  }
}

/** Whether a URL is an authorization response for the redirect URI. Ignores the port, which loopback clients may change. */
function leavesFor(redirectUri: string, target: URL): boolean {
  const expected = new URL(redirectUri)
  return (
    target.protocol === expected.protocol &&
    target.hostname === expected.hostname &&
    target.pathname === expected.pathname &&
    target.searchParams.has('iss')
  )
}

function fillIn(page: string, url: URL, answers: Answers): [URL, RequestInit] {
  if (page.includes('id="error-page"'))
    throw new Error(`the service shows an error page: ${errorText(page)}`)
  if (page.includes('id="login-problem"')) throw new Error('the account or its password is wrong')
  const refusing = answers.refuse === true && page.includes('id="consent-page"')
  const form = formsOf(page).find(({ id }) => (id === 'refusal') === refusing)
  if (!form) throw new Error(`the page ${url.pathname} has no form to fill in`)
  const fields = new URLSearchParams(form.hidden)
  if (page.includes('name="password"')) {
    fields.set('login', answers.login)
    fields.set('password', answers.password)
  }
  if (answers.code && page.includes('id="second-step-page"')) fields.set('code', answers.code())
  const firstSite = /name="site" value="([^"]+)"/.exec(page)?.[1]
  if (firstSite) fields.set('site', answers.site ?? firstSite)
  return [new URL(form.action, url), { method: 'POST', body: fields }]
}

/** Returns the forms of a page, with their hidden fields. */
export function formsOf(
  page: string,
): { id: string; action: string; hidden: [string, string][] }[] {
  return [...page.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(
    ([, attributes = '', inside = '']) => ({
      id: /id="([^"]+)"/.exec(attributes)?.[1] ?? '',
      action: plainText(/action="([^"]+)"/.exec(attributes)?.[1] ?? ''),
      hidden: [...inside.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, plainText(value)],
      ),
    }),
  )
}

function errorText(page: string): string {
  const said = (id: string) => plainText(new RegExp(`id="${id}">([^<]*)<`).exec(page)?.[1] ?? '')
  return `${said('error-code')}: ${said('error-description')}`
}

/** Decodes decimal character references, the only ones in our pages. */
export function plainText(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}

/** Stores the cookies of one host. Matches paths and deletes expired cookies (RFC 6265). */
class CookieJar {
  readonly #cookies = new Map<string, { readonly pair: string; readonly path: string }>()

  keep(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', name = ''] = /^([^=]+)=[^;]*/.exec(line) ?? []
      const path = /;\s*path=([^;]+)/i.exec(line)?.[1] ?? url.pathname
      const expires = /;\s*expires=([^;]+)/i.exec(line)?.[1]
      this.#cookies.delete(`${name} ${path}`)
      if (!expires || Date.parse(expires) > Date.now()) {
        this.#cookies.set(`${name} ${path}`, { pair, path })
      }
    }
  }

  headerFor({ pathname }: URL): string {
    return [...this.#cookies.values()]
      .filter(({ path }) => pathname === path || pathname.startsWith(path.replace(/\/?$/, '/')))
      .map(({ pair }) => pair)
      .join('; ')
  }
}
