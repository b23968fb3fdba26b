import { buildSchema } from 'graphql'

import { paths } from '../../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, codeVerifier, redeem, userinfo } from '../support/client.ts'
import { marco, notes, portal, resourceServer, sam } from '../support/gatehouse.ts'
import { operatorToken, send as sendTool } from '../support/mcp.ts'
import { answerOf, bearer, get } from '../support/wire.ts'
import type { Chance } from './chance.ts'
import type { Schemas } from './graphql-requests.ts'
import type { Given } from './request.ts'
import { SECRET } from './texts.ts'
import type { ListedTool } from './tool-requests.ts'
import { headerOf, type Seen } from './wire.ts'

/** What requests need to get further than the first check: sessions, tokens, and what answers gave. */
export interface World {
  readonly schemas: Schemas
  readonly tools: readonly ListedTool[]
  /** What one request is filled with. */
  valuesFor(chance: Chance): (name: Given) => string
  /** Learns from an answer what later requests may use. */
  learn(path: string, seen: Seen): void
  /** Whether its tokens and sessions still open something: if not, requests get no further than the door. */
  isOpen(): Promise<boolean>
  /** A secret that a line of the log says, if it says one. */
  secretIn(line: string): string | undefined
}

interface Interaction {
  readonly uid: string
  readonly cookie: string
  form: string
}

const KEPT_MAX = 40

const everyOperatorScope =
  'courses:read courses:write students:read students:write members:read members:write analytics:read curriculum:read curriculum:write orders:read school:read school:write appearance:read events:read events:write posts:read posts:write digital_products:read digital_products:write lecturers:read lecturers:write storage:write'

/** Signs in a member and an operator of another site, on whom nothing of the member depends. */
export async function openWorld(url: string): Promise<World> {
  const member = makeHeadlessPerson(sam)
  const form = await codeFor(member, url)
  const { body } = await redeem(url, { form })
  const operatorAccess = await operatorToken(url, everyOperatorScope, marco)
  const fixed: Partial<Record<Given, string>> = {
    url,
    memberToken: body.access_token,
    operatorToken: operatorAccess,
    idToken: body.id_token,
    ...(await sessionOf(member, url, 'member')),
    ...(await sessionOf(makeHeadlessPerson(marco), url, 'operator')),
  }
  const pools = new Map<Given, string[]>()
  const interactions: Interaction[] = []
  const secrets = new Set([
    SECRET,
    sam.password,
    marco.password,
    portal.clientSecret,
    resourceServer.clientSecret,
  ])
  for (const name of ['memberToken', 'operatorToken', 'idToken'] as const)
    secrets.add(fixed[name] ?? SECRET)

  const keep = (name: Given, value: string | undefined) => {
    if (value === undefined || value === '') return
    const pool = pools.get(name) ?? []
    pools.set(name, [...pool.slice(-KEPT_MAX), value])
    if (name === 'code' || name === 'refreshToken') secrets.add(value)
  }
  /** A code is good once. */
  const taken = (name: Given, chance: Chance) => {
    const pool = pools.get(name) ?? []
    if (name === 'code') return pool.pop()
    return pool.length > 0 ? chance.pick(pool) : undefined
  }

  return {
    schemas: {
      member: await schemaAt(url + paths.memberSchema),
      admin: await schemaAt(url + paths.adminSchema),
    },
    tools: await toolsOf(url, [body.access_token, operatorAccess]),
    valuesFor(chance) {
      const interaction = interactions.length > 0 ? chance.pick(interactions) : undefined
      const own: Partial<Record<Given, string>> = {
        ...fixed,
        ...(interaction && {
          interaction: interaction.uid,
          interactionCookie: interaction.cookie,
          interactionForm: interaction.form,
        }),
      }
      return (name) => own[name] ?? taken(name, chance) ?? 'x'
    },
    learn(path, seen) {
      const { text } = seen
      const [location = ''] = headerOf(seen, 'location')
      keep('code', /[?&#]code=([\w-]+)/.exec(location)?.[1])
      keep('refreshToken', /"refresh_token":"([^"]+)"/.exec(text)?.[1])
      keep('cursor', /"endCursor":"([^"]+)"/.exec(text)?.[1])
      keep('requestUri', /"request_uri":"([^"]+)"/.exec(text)?.[1])
      keep('client', /"client_id":"(loopback_[^"]+)"/.exec(text)?.[1])
      learnInteraction(path, seen)
    },
    isOpen: async () => {
      const answers = await Promise.all([
        userinfo(url, fixed.memberToken ?? ''),
        get(`${url}${paths.adminGraphql}?query={__typename}`, bearer(fixed.operatorToken ?? '')),
        get(`${url}/account`, ['Cookie', fixed.memberSession ?? '']),
        get(`${url}/admin/open-kitchen`, ['Cookie', fixed.operatorSession ?? '']),
      ])
      return answers.every(({ status }) => status === 200)
    },
    secretIn(line) {
      for (const word of line.match(/[\w.~+/-]{16,}/g) ?? []) if (secrets.has(word)) return word
      return line.includes(SECRET) ? SECRET : undefined
    },
  }

  function learnInteraction(path: string, seen: Seen): void {
    const [location = ''] = headerOf(seen, 'location')
    const [, uid] = /^\/interaction\/([\w-]+)\//.exec(location) ?? []
    const cookies = headerOf(seen, 'set-cookie').map((cookie) => cookie.split(';')[0])
    if (uid !== undefined && cookies.length > 0) {
      if (interactions.length >= KEPT_MAX) interactions.shift()
      interactions.push({ uid, cookie: cookies.join('; '), form: 'x' })
      return
    }
    const [, shown] = /^\/interaction\/([\w-]+)\//.exec(path) ?? []
    const form = /name="csrf" value="([^"]+)"/.exec(seen.text)?.[1]
    const known = interactions.find((each) => each.uid === shown)
    if (known && form !== undefined) known.form = form
  }
}

async function codeFor(person: HeadlessPerson, url: string) {
  const back = await person.authorize(
    authorizeUrl(url, { scope: 'openid profile email account:read account:write' }),
    notes.redirectUri,
  )
  return {
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    redirect_uri: notes.redirectUri,
    client_id: notes.clientId,
    code_verifier: codeVerifier,
    resource: url,
  }
}

/** The cookies of a browser that is signed in, and the token of its forms. */
async function sessionOf(
  person: HeadlessPerson,
  url: string,
  who: 'member' | 'operator',
): Promise<Partial<Record<Given, string>>> {
  const account = new URL('/account', url)
  const start = (await person.open(account)).headers.get('location') ?? ''
  await person.open(await person.authorize(new URL(start, url), `${url}/signed-in`))
  const { text } = await answerOf(await person.open(account))
  const form = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
  if (form === '') throw new Error(`the ${who} is not signed in`)
  const sent = [person.cookiesFor(account), person.cookiesFor(new URL(paths.authorization, url))]
  const cookies = [...new Set(sent.flatMap((line) => line.split('; ')))]
    .filter((pair) => pair !== '')
    .join('; ')
  return who === 'member'
    ? { memberSession: cookies, memberForm: form }
    : { operatorSession: cookies, operatorForm: form }
}

async function schemaAt(address: string) {
  return buildSchema(await (await fetch(address)).text())
}

async function toolsOf(url: string, tokens: readonly string[]): Promise<ListedTool[]> {
  const lists = await Promise.all(
    tokens.map(async (token) => await sendTool(url, 'tools/list', { token })),
  )
  return lists.flatMap(({ body }) => body.result.tools)
}
