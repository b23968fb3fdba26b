import { buildSchema } from 'graphql'

import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { codeBy, redeem } from '../support/client.ts'
import { marco, portal, resourceServer, sam } from '../support/gatehouse.ts'
import { operatorToken, send as sendTool } from '../support/mcp.ts'
import { hiddenField, makePagePerson, type PagePerson } from '../support/page-person.ts'
import type { Chance } from './random.ts'
import type { Given } from './request.ts'
import { SECRET } from './texts.ts'
import type { ListedTool } from './tool-requests.ts'
import type { Seen } from './wire.ts'

export type World = Awaited<ReturnType<typeof openWorld>>

const KEPT_MAX = 40

/** Values that no line of the log may contain, including those of earlier sign-ins. */
const secrets = new Set([
  ...[SECRET, sam.password, marco.password, portal.clientSecret, resourceServer.clientSecret],
])

export function hasSecret(line: string): boolean {
  const words = line.match(/[\w.~+/-]{16,}/g) ?? []
  return words.some((word) => secrets.has(word)) || line.includes(SECRET)
}

/** Signs in a member and an operator of another site, so that the operator's changes do not affect the member. */
export async function openWorld(url: string) {
  const member = makePagePerson(url, sam)
  const scope = 'openid profile email account:read account:write'
  const { body } = await redeem(url, await codeBy(member.browser, url, { scope }))
  const operatorAccess = await operatorToken(url, scopeNames('operator').join(' '), marco)
  const fixed: Partial<Record<Given, string>> = {
    url,
    memberToken: body.access_token,
    operatorToken: operatorAccess,
    idToken: body.id_token,
    ...(await sessionOf(member, url, 'member')),
    ...(await sessionOf(makePagePerson(url, marco), url, 'operator')),
  }
  const pools = new Map<Given, string[]>()
  const interactions: Record<`interaction${'' | 'Cookie' | 'Form'}`, string>[] = []
  for (const token of [body.access_token, operatorAccess, body.id_token]) secrets.add(token)

  const keep = (name: Given, value: string | undefined) => {
    if (value === undefined || value === '') return
    const pool = pools.get(name) ?? []
    pools.set(name, [...pool.slice(-KEPT_MAX), value])
    if (name === 'code' || name === 'refreshToken') secrets.add(value)
  }
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
    valuesFor(chance: Chance): (name: Given) => string {
      const interaction = interactions.length > 0 ? chance.pick(interactions) : undefined
      const own: Partial<Record<Given, string>> = { ...fixed, ...interaction }
      return (name) => own[name] ?? taken(name, chance) ?? 'x'
    },
    learn(path: string, { headers, text }: Seen): void {
      const [location = ''] = headers['location'] ?? []
      keep('code', /[?&#]code=([\w-]+)/.exec(location)?.[1])
      keep('refreshToken', /"refresh_token":"([^"]+)"/.exec(text)?.[1])
      keep('cursor', /"endCursor":"([^"]+)"/.exec(text)?.[1])
      keep('requestUri', /"request_uri":"([^"]+)"/.exec(text)?.[1])
      keep('client', /"client_id":"(loopback_[^"]+)"/.exec(text)?.[1])
      const [, begun] = interactionPath.exec(location) ?? []
      const cookies = headers['set-cookie']?.map((cookie) => cookie.split(';')[0])
      if (begun !== undefined && cookies) {
        if (interactions.length >= KEPT_MAX) interactions.shift()
        const interactionCookie = cookies.join('; ')
        interactions.push({ interaction: begun, interactionCookie, interactionForm: 'x' })
        return
      }
      const [, shown] = interactionPath.exec(path) ?? []
      const known = interactions.find(({ interaction }) => interaction === shown)
      if (known) known.interactionForm = hiddenField(text) || known.interactionForm
    },
  }
}

const interactionPath = /^\/interaction\/([\w-]+)\//

async function sessionOf(person: PagePerson, url: string, who: 'member' | 'operator') {
  const form = await person.csrf()
  if (form === '') throw new Error(`the ${who} is not signed in`)
  const addresses = ['/account', paths.authorization].map((path) => new URL(path, url))
  const sent = addresses.flatMap((address) => person.browser.cookiesFor(address).split('; '))
  const cookies = [...new Set(sent)].filter(Boolean).join('; ')
  return { [`${who}Session`]: cookies, [`${who}Form`]: form }
}

const schemaAt = async (address: string) => buildSchema(await (await fetch(address)).text())

async function toolsOf(url: string, tokens: readonly string[]): Promise<ListedTool[]> {
  const lists = await Promise.all(
    tokens.map(async (token) => await sendTool(url, 'tools/list', { token })),
  )
  return lists.flatMap(({ body }) => body.result.tools)
}
