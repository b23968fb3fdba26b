import { expect } from 'chai'

import { paths } from '../../src/platform/http/paths.ts'
import type { Schema } from '../../src/platform/store/schema.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import {
  asClaude,
  asPortal,
  authorizeUrl,
  codeVerifier,
  introspect,
  redeem,
  refresh,
  userinfo,
} from '../support/client.ts'
import { notes, olivia, portal, type RunningService, sam } from '../support/gatehouse.ts'
import { operatorToken } from '../support/mcp.ts'
import { hiddenField } from '../support/page-person.ts'
import { type Answer, answerOf, type Fields, get, send } from '../support/wire.ts'

/** Everything that an honest client received. */
export interface Held {
  readonly form: Fields
  readonly accessToken: string
  readonly refreshToken: string
  readonly idToken: string
}

/**
 * The service under attack, with honest people and clients in it. They sign in once and consent once,
 * so that each case can get its own code or tokens.
 */
export interface World {
  readonly url: string
  readonly running: RunningService
  /** The form that would redeem a new code of the public client, or of the confidential one. */
  code(client?: 'notes' | 'portal', fields?: Fields): Promise<Fields>
  /** New tokens of the public client. */
  tokens(fields?: Fields): Promise<Held>
  /** Shared tokens; no case may end them. */
  shared(): Promise<Held>
  /** A shared operator token; no case may end it. */
  operator(): Promise<string>
  /** A shared browser of a member or an operator of Northlight that is signed in to the pages. */
  browser(who: 'member' | 'operator'): Promise<Browser>
  /**
   * Returns from a sign-in to the pages in the same browser, with a changed response that must not sign in.
   */
  comeBack(change: (answer: URLSearchParams) => void): Promise<Answer>
  /** Snapshot of applications, secrets, features, ended grants and sign-outs. */
  decided(): Promise<string>
  /** The last code and tokens, for checks afterwards. */
  readonly last: { form: Fields | undefined; held: Held | undefined }
}

/** Cookies of a browser, and the token of its forms. */
interface Browser {
  open(path: string, init?: RequestInit): Promise<Answer>
  readonly csrf: string
}

const everyScope = 'openid profile email account:read account:write'

export function makeWorld(running: RunningService): World {
  const { url } = running
  const people = new Map<string, Promise<HeadlessPerson>>()
  const last: World['last'] = { form: undefined, held: undefined }

  const code: World['code'] = async (client = 'notes', fields = {}) => {
    const own = client === 'portal' ? asPortal : {}
    const { client_secret, ...request } = { client_secret: undefined, ...own }
    const start = authorizeUrl(url, { scope: everyScope, ...request, ...fields })
    const wanted = start.searchParams
    const redirectUri = wanted.get('redirect_uri') ?? ''
    people.set('sam', people.get('sam') ?? Promise.resolve(makeHeadlessPerson(sam)))
    const person = await people.get('sam')
    const callback = await person?.authorize(start, redirectUri)
    const form = {
      ...{ grant_type: 'authorization_code', redirect_uri: redirectUri, client_secret },
      code: callback?.searchParams.get('code') ?? undefined,
      client_id: wanted.get('client_id') ?? '',
      ...{ code_verifier: codeVerifier, resource: wanted.get('resource') ?? undefined },
    }
    last.form = form
    return form
  }

  const tokens: World['tokens'] = async (fields) => {
    const form = await code('notes', fields)
    const { body, status, text } = await redeem(url, { form })
    expect(status, text).to.equal(200)
    const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken } = body
    const held = { form, accessToken, refreshToken, idToken }
    last.held = held
    return held
  }

  const browsers = {
    member: once(async () => await signedIn(url, sam)),
    operator: once(async () => await signedIn(url, olivia)),
  }

  return {
    ...{ url, running, last },
    code,
    tokens,
    shared: once(tokens),
    operator: once(async () => await operatorToken(url, 'courses:read members:read', olivia)),
    browser: async (who) => await browsers[who](),
    async decided() {
      const { kysely } = running.service.stores.database
      const tables = ['oauth_application', 'client_secret', 'site_feature', 'signed_out_everywhere']
      const rows = []
      for (const table of tables as readonly (keyof Schema)[]) {
        rows.push(await kysely.selectFrom(table).selectAll().execute())
      }
      const ended = kysely.selectFrom('oauth_grant').select('id').where('ended_at', 'is not', null)
      return JSON.stringify([...rows, await ended.execute()])
    },
    async comeBack(change) {
      const { person, back } = await comingBack(url, sam)
      change(back.searchParams)
      const answer = await answerOf(await person.open(back))
      const { status } = await person.open(new URL('/account', url))
      expect(status, 'the browser is not signed in').to.equal(303)
      return answer
    },
  }
}

function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** A sign-in to the pages up to the redirect back. */
async function comingBack(url: string, answers: typeof sam) {
  const person = makeHeadlessPerson(answers)
  const start = (await person.open(new URL('/account', url))).headers.get('location') ?? ''
  const back = await person.authorize(new URL(start, url), `${url}/signed-in`)
  return { person, back }
}

async function signedIn(url: string, answers: typeof sam): Promise<Browser> {
  const { person, back } = await comingBack(url, answers)
  await person.open(back)
  const open = async (path: string, init?: RequestInit) =>
    await answerOf(await person.open(new URL(path, url), init))
  const { text } = await open('/account')
  const csrf = hiddenField(text)
  expect(csrf, text).to.not.equal('')
  return { open, csrf }
}

/** Checks after a case, by the words of the page. */
export const afterwards: Record<string, (world: World, before: string) => Promise<void>> = {
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

/** Secrets that no answer may contain. */
const secrets = [portal.clientSecret, sam.password, olivia.password]

/**
 * Describes an answer in the words of the page. It also checks that the answer redirects to no foreign
 * host and contains no token, secret or internals.
 */
export function outcomeOf(answer: Answer, url: string): string {
  const { status, text, headers } = answer
  expect(status, text).to.be.below(500)
  expect(text).to.not.match(/"(access|refresh|id)_token":"|SqliteError|node_modules|\n\s+at /)
  for (const secret of secrets) expect(text).to.not.include(secret)
  const location = headers.get('location')
  if (location !== null) return redirectOf(new URL(location, url), url)
  const type = headers.get('content-type') ?? ''
  if (type.startsWith('text/html')) return pageOf(answer)
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
  expect(policy).to.include("frame-ancestors 'none'")
  expect(policy).to.not.include('unsafe')
  expect(headers.get('x-content-type-options')).to.equal('nosniff')
  const code = /id="error-code">([^<]*)</.exec(text)?.[1]
  return code === undefined ? `page ${status}` : `page ${status} ${code}`
}

/** The error code of any of the protocols. */
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

/** Expects that the service answers and has logged no fault. */
export async function expectWell({ url, running: { log } }: World): Promise<void> {
  expect((await get(url + paths.health)).status).to.equal(200)
  const faults = log.filter((line) => line.includes('"level":50') || line.includes('server_error'))
  expect(faults).to.deep.equal([])
}
