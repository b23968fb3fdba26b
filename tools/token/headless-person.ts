/**
 * A person at a browser without a screen: follows redirects, keeps cookies as a browser does (path,
 * expiry), and fills in the forms of the sign-in, site and consent pages. It knows those pages by
 * their field names only, as the OpenID conformance suite does.
 */
export interface Answers {
  readonly login: string
  readonly password: string
  /** The site to choose when the service asks; the first when not given. */
  readonly site?: string | undefined
  /** Refuses on the consent page instead of allowing. */
  readonly refuse?: boolean | undefined
}

export type HeadlessPerson = ReturnType<typeof makeHeadlessPerson>

const STEPS_MAX = 20

export function makeHeadlessPerson(answers: Answers) {
  const cookies = new CookieJar()
  /** Opens one address with this person's cookies, without following a redirect. */
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
    /** The header Cookie that this browser would send to an address. */
    cookiesFor: (url: URL) => cookies.headerFor(url),
    /**
     * Opens an authorization request and goes through its pages until the browser would leave for
     * `redirectUri`.
     *
     * @returns the address with code or error
     * @throws when a page shows an error, or something unexpected is answered
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
      throw new Error('the sign-in did not come to an end')
    },
  }
}

/** A loopback address may come back with another port; scheme, host and path decide. */
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
  if (page.includes('id="error-page"')) throw new Error(`the service says: ${textOf(page)}`)
  if (page.includes('id="login-problem"')) throw new Error('the account or its password is wrong')
  const refusing = answers.refuse === true && page.includes('id="consent-page"')
  const form = formsOf(page).find(({ id }) => (id === 'refusal') === refusing)
  if (!form) throw new Error(`no form to fill in at ${url.pathname}`)
  const fields = new URLSearchParams({ csrf: form.csrf })
  if (page.includes('name="password"')) {
    fields.set('login', answers.login)
    fields.set('password', answers.password)
  }
  const firstSite = /name="site" value="([^"]+)"/.exec(page)?.[1]
  if (firstSite) fields.set('site', answers.site ?? firstSite)
  return [new URL(form.action, url), { method: 'POST', body: fields }]
}

function formsOf(page: string): { id: string; action: string; csrf: string }[] {
  return [...page.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(
    ([, attributes = '', inside = '']) => ({
      id: /id="([^"]+)"/.exec(attributes)?.[1] ?? '',
      action: /action="([^"]+)"/.exec(attributes)?.[1] ?? '',
      csrf: /name="csrf" value="([^"]+)"/.exec(inside)?.[1] ?? '',
    }),
  )
}

function textOf(page: string): string {
  const said = (id: string) => plainText(new RegExp(`id="${id}">([^<]*)<`).exec(page)?.[1] ?? '')
  return `${said('error-code')}: ${said('error-description')}`
}

/** The pages escape with numeric references only. */
function plainText(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}

/** Cookies of one host; RFC 6265 as far as paths and removal go. */
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
