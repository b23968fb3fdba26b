import { paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  asClaude,
  asPortal,
  authorizeUrl,
  codeBy,
  introspect,
  redeem,
  refresh,
  userinfo,
} from '../support/client.ts'
import { rowsOf } from '../support/database.ts'
import { notes, olivia, portal, type RunningService, sam } from '../support/gatehouse.ts'
import { operatorToken } from '../support/mcp.ts'
import { makePagePerson, targetOf } from '../support/page-person.ts'
import { cached } from '../support/shared.ts'
import { type Answer, answerOf, type Fields, get, send } from '../support/wire.ts'

/** The form of an honest client's code exchange, and the tokens that it received. */
export interface Held {
  readonly form: Fields
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
}

export type World = ReturnType<typeof makeWorld>

const everyScope = 'openid profile email account:read account:write'

/**
 * Simulates an honest person at the service under attack. The person signs in and consents once, so that each case can
 * quickly get its own code or tokens.
 */
export function makeWorld(running: RunningService) {
  const { url } = running
  const person = makeHeadlessPerson(sam)
  /** The last code and tokens, for checks afterwards. */
  const last: { form?: Fields; held?: Held } = {}

  const code = async (client: 'notes' | 'portal' = 'notes', fields: Fields = {}) => {
    const { client_secret, ...request } =
      client === 'portal' ? asPortal : { client_secret: undefined }
    const { form } = await codeBy(person, url, { scope: everyScope, ...request, ...fields })
    last.form = { ...form, client_secret }
    return last.form
  }

  const tokens = async (fields?: Fields) => {
    const form = await code('notes', fields)
    const { body, status, text } = await redeem(url, { form })
    expect(status, text).to.equal(200)
    const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken } = body
    last.held = { form, accessToken, refreshToken, idToken }
    return last.held
  }

  return {
    ...{ url, running, last },
    /** Returns the form that redeems a new code of the public client `notes` or the confidential client `portal`. */
    code,
    tokens,
    /** Returns shared tokens, which no test case may revoke. */
    shared: cached(async () => await tokens()),
    /** Returns a shared operator token, which no test case may revoke. */
    operator: cached(async () => await operatorToken(url, 'courses:read members:read', olivia)),
    /** Returns a shared browser in which a member or an operator of Northlight is signed in to our own pages. */
    browser: cached(
      async (who: 'member' | 'operator') => await signedIn(url, who === 'member' ? sam : olivia),
    ),
    /** Returns as JSON what no attack may change: applications, secrets, features, ended grants and sign-outs. */
    async decided() {
      const { kysely } = running
      const tables = ['oauth_application', 'client_secret', 'site_feature'] as const
      const rows = await Array.fromAsync(tables, async (table) => await rowsOf(kysely, table))
      const ended = kysely.selectFrom('oauth_grant').select('id').where('ended_at', 'is not', null)
      const out = kysely.selectFrom('person').select(['id', 'signed_out_at'])
      const signedOut = await out.where('signed_out_at', 'is not', null).execute()
      return JSON.stringify([...rows, await ended.execute(), signedOut])
    },
    /** Signs in to our own pages with a changed authorization response. Expects that the browser is not signed in. */
    async comeBack(change: (answer: URLSearchParams) => void) {
      const person = makeHeadlessPerson(sam)
      const start = targetOf(await person.open(new URL('/account', url)), url)
      const back = await person.authorize(start, `${url}/signed-in`)
      change(back.searchParams)
      const answer = await answerOf(await person.open(back))
      const { status } = await person.open(new URL('/account', url))
      expect(status, 'the browser is not signed in').to.equal(303)
      return answer
    },
  }
}

/** Signs in to our own pages. Returns a function that opens a path, and the CSRF token for forms. */
async function signedIn(url: string, answers: typeof sam) {
  const person = makePagePerson(url, answers)
  const csrf = await person.csrf()
  expect(csrf).to.not.equal('')
  const open = async (path: string, init?: RequestInit) =>
    await answerOf(await person.open(path, init))
  return { open, csrf }
}

/** Checks that run after a case, by the names that docs/reference/hostile-cases.md uses. */
export const afterwards: Readonly<Record<string, (world: World, before: string) => Promise<void>>> =
  {
    'nothing is changed': async (world, before) => {
      expect(await world.decided()).to.equal(before)
    },
    'the code still works': async ({ url, last: { form = {} } }) => {
      const answer = await redeem(url, { form })
      expect(answer.status, answer.text).to.equal(200)
    },
    'the tokens still work': async ({ url, last: { held } }) => {
      expect((await userinfo(url, held?.accessToken ?? '')).status).to.equal(200)
      const answer = await refresh(url, held?.refreshToken ?? '')
      expect(answer.status, answer.text).to.equal(200)
    },
    'the tokens have ended': async ({ url, last: { held } }) => {
      expect((await userinfo(url, held?.accessToken ?? '')).status).to.equal(401)
      const { body } = await introspect(url, held?.refreshToken ?? '')
      expect(body).to.deep.equal({ active: false })
    },
  }

/** Returns the token with another character near its end. */
export function altered(token: string): string {
  return token.slice(0, -5) + (token.at(-5) === 'A' ? 'B' : 'A') + token.slice(-4)
}

/** Secrets that no response may contain. */
const secrets = [portal.clientSecret, sam.password, olivia.password]

/**
 * Describes a response as docs/reference/hostile-cases.md does. Also checks that it redirects only to this service or to
 * a known client, and contains no token, secret or stack trace.
 */
export function outcomeOf(answer: Answer, url: string): string {
  const { status, text, headers } = answer
  expect(status, text).to.be.below(500)
  expect(text).to.not.match(/"(access|refresh|id)_token":"|SqliteError|node_modules|\n\s+at /)
  for (const secret of secrets) expect(text).to.not.include(secret)
  const location = headers.get('location')
  if (location !== null) return redirectOf(new URL(location, url), url)
  if (headers.get('content-type')?.startsWith('text/html')) return pageOf(answer)
  const said = saidOf(answer)
  if (status === 401 && !/^invalid_(client|request)/.test(said)) {
    expect(headers.get('www-authenticate'), text).to.include('resource_metadata="')
  }
  return said === '' ? String(status) : `${status} ${said}`
}

function redirectOf(target: URL, url: string): string {
  const { origin, pathname, searchParams, hash } = target
  const own = origin === new URL(url).origin
  if (own && pathname.startsWith('/interaction/')) return 'the sign-in'
  if (own) return `to ${pathname}`
  const clients = [notes.redirectUri, portal.redirectUri, asClaude.redirect_uri]
  expect(clients).to.include(origin + pathname)
  const said = new URLSearchParams(hash === '' ? searchParams : hash.slice(1))
  expect(said.getAll('iss')).to.deep.equal([url])
  expect(said.getAll('state')).to.deep.equal(['the-state'])
  expect(said.has('code')).to.equal(false)
  return `redirect ${said.get('error')}`
}

function pageOf({ status, text, headers }: Answer): string {
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).to.include("frame-ancestors 'none'").and.not.include('unsafe')
  expect(headers.get('x-content-type-options')).to.equal('nosniff')
  const code = /id="error-code">([^<]*)</.exec(text)?.[1]
  return code === undefined ? `page ${status}` : `page ${status} ${code}`
}

/** Returns the error code of a response in any of the protocols, or a word for its outcome. */
function saidOf({ text, body }: Answer): string {
  if (text === '{"active":false}') return 'inactive'
  if (text === '{}') return 'nothing'
  if (typeof body !== 'object' || body === null) return ''
  if (typeof body.error === 'string') return body.error
  if (typeof body.error?.code === 'number') return String(body.error.code)
  if (body.result?.isError === true) return 'refused'
  const [first] = body.errors ?? []
  if (first) return first.extensions?.code ?? 'not valid'
  return ''
}

/** Sends an authorization request as a browser without a session. */
export async function ask(
  url: string,
  fields: Fields = {},
  init: { method?: string; headers?: readonly string[] } = {},
): Promise<Answer> {
  const { pathname, search } = authorizeUrl(url, fields)
  return await send(url, {
    path: pathname + search,
    method: init.method ?? 'GET',
    headers: ['Accept', 'text/html', ...(init.headers ?? [])],
  })
}

export async function expectWell({ url, running: { log } }: World): Promise<void> {
  expect((await get(url + paths.health)).status).to.equal(200)
  const faults = log.filter((line) => line.includes('"level":50') || line.includes('server_error'))
  expect(faults).to.deep.equal([])
}
