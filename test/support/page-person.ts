import {
  type Answers,
  plainText as decode,
  formsOf,
  type HeadlessPerson,
  makeHeadlessPerson,
} from '../../tools/token/headless-person.ts'
import { encode, type Fields } from './wire.ts'

export { decode }

export interface Seen {
  readonly status: number
  readonly path: string
  readonly text: string
}

/** The values typed into a form; a list for several values of one name. */
type Typed = Readonly<Record<string, string | readonly string[]>>

/** A person who uses /account and /admin in a separate browser, and signs in when asked. */
export type PagePerson = ReturnType<typeof makePagePerson>

/** Creates a person. `url` is a function if the tests of a block share the person, because the service starts later. */
export function makePagePerson(url: string | (() => string), answers: Answers) {
  const browser = makeHeadlessPerson(answers)
  const base = () => (typeof url === 'string' ? url : url())

  const follow = async (path: string, first: RequestInit = {}): Promise<Seen> => {
    let [address, init] = [new URL(path, base()), first]
    for (let step = 0; step < 10; step += 1) {
      const response = await browser.open(address, init)
      const location = response.headers.get('location')
      if (!location) {
        const { pathname, search } = address
        return { status: response.status, path: pathname + search, text: await response.text() }
      }
      const target = new URL(location, address)
      address = target.pathname.startsWith('/oauth/authorize')
        ? await browser.authorize(target, `${base()}/signed-in`)
        : target
      init = {}
    }
    throw new Error(`${path} redirects in a loop`)
  }

  const send = async (page: Seen, action: string, typed: Typed = {}) => {
    const form = formsOf(page.text).find((each) => each.action === action)
    if (form === undefined) throw new Error(`${page.path} has no form for ${action}`)
    const body = encode({ ...Object.fromEntries(form.hidden), ...typed })
    return await follow(action, { method: 'POST', body })
  }

  return {
    browser,
    visit: async (path: string) => await follow(path),
    /** Sends the form with this action on a page, with the typed values. */
    send,
    /** Opens a page and sends its form. The action of the form defaults to the path of the page. */
    submit: async (path: string, typed: Typed = {}, action: string = path) =>
      await send(await follow(path), action, typed),
    /** Returns the CSRF token of the person's session. */
    csrf: async () => hiddenField((await follow('/account')).text),
    /** Posts only these fields to a path, without the hidden fields of a form. */
    post: async (path: string, fields: Record<string, string>) =>
      await follow(path, { method: 'POST', body: new URLSearchParams(fields) }),
    /** Sends one request, without following redirects. */
    open: async (path: string | URL, init?: RequestInit) =>
      await browser.open(new URL(path, base()), init),
  }
}

/** Returns the address to which a response redirects. */
export function targetOf({ headers }: Pick<Response, 'headers'>, base: string | URL): URL {
  return new URL(headers.get('location') ?? '', base)
}

/** Returns the `Cookie` header of a browser that received these `Set-Cookie` headers. */
export function cookiesIn(lines: readonly string[]): string {
  return lines.map((line) => line.split(';')[0]).join('; ')
}

/** Returns the first group of each match of a pattern in a page. */
export function matchesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, group = '']) => group)
}

export function linkOf(page: Pick<Seen, 'text'>, id: string): string {
  const tag = new RegExp(`<a[^>]*id="${id}"[^>]*>`).exec(page.text)?.[0] ?? ''
  return decode(/href="([^"]*)"/.exec(tag)?.[1] ?? '')
}

export function textOf(page: Pick<Seen, 'text'>, id: string): string {
  const element = new RegExp(`<(\\w+)[^>]* id="${id}"[^>]*>(.*?)</\\1>`, 's').exec(page.text)
  return decode(element?.[2]?.replaceAll(/<[^>]*>/g, '') ?? '')
}

/** Returns the value of a hidden field: `csrf` in our own forms, `xsrf` in the engine's. */
export function hiddenField(page: string, name: 'csrf' | 'xsrf' = 'csrf'): string {
  return new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? ''
}

type Opening = Pick<HeadlessPerson, 'open'>

/** Opens a page and sends its form with these fields. */
export async function submitPage(person: Opening, page: URL, fields: Fields = {}) {
  const csrf = hiddenField(await (await person.open(page)).text())
  return await person.open(page, { method: 'POST', body: encode({ csrf, ...fields }) })
}

/** Opens the sign-out page and sends its form. If `pressed` lacks `logout`, the person stays signed in. */
export async function confirmSignOut(person: Opening, address: URL, pressed?: Fields) {
  const page = await (await person.open(address)).text()
  const action = /action="([^"]+)"/.exec(page)?.[1] ?? ''
  const body = encode({ xsrf: hiddenField(page, 'xsrf'), ...(pressed ?? { logout: 'yes' }) })
  return await person.open(new URL(action, address), { method: 'POST', body })
}
