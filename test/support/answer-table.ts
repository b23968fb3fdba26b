import { expect } from 'chai'

import { asClaude, asPortal, obtain } from './client.ts'
import { bindTo } from './families.ts'
import { olivia, type RunningService } from './gatehouse.ts'
import { later } from './later.ts'
import { shared } from './shared.ts'
import { type Answer, send, type WireRequest } from './wire.ts'

export type Held = Awaited<ReturnType<typeof obtainHeld>>

export interface Expected {
  readonly status: number
  readonly challenge?: string
  readonly body: object | string
  /** The value of `Access-Control-Allow-Origin`, by default `*`; null if it must be absent. */
  readonly open?: string | null
}

type Requests = Record<string, (held: Held) => WireRequest>
export type Group = readonly [expected: Expected, requests: Requests]

export const group = (expected: Expected, requests: Requests): Group => [expected, requests]

async function obtainHeld(running: RunningService) {
  const { url } = running
  const bound = await obtain(url)
  const claims = JSON.stringify({ userinfo: { email: { essential: true }, nothing: null } })
  const unbound = await obtain(url, {
    authorization: { ...asClaude, scope: 'openid profile', resource: undefined, claims },
    token: { ...asClaude, resource: undefined },
    person: olivia,
  })
  const confidential = await obtain(url, { authorization: asPortal, token: asPortal })
  const foreign = await obtain(url)
  await bindTo('https://elsewhere.example', foreign.access_token, running)
  return {
    ...{ bound: bound.access_token, boundRefresh: bound.refresh_token, idToken: bound.id_token },
    /** Tokens of a sign-in without `resource` that requested claims by name. */
    ...{ unbound: unbound.access_token, unboundRefresh: unbound.refresh_token },
    bare: (await obtain(url, { authorization: { scope: 'openid' } })).access_token,
    withoutOpenid: (await obtain(url, { authorization: { scope: 'account:read' } })).access_token,
    confidential: confidential.access_token,
    confidentialRefresh: confidential.refresh_token,
    foreign: foreign.access_token,
    expired: (await later(-3_603_000, () => obtain(url))).access_token,
  }
}

/** Defines a test for each request. `bodyOf` removes values that differ between runs. */
export function runGroups(
  service: () => RunningService,
  groups: readonly Group[],
  bodyOf = ({ body }: Answer): unknown => body,
): void {
  const held = shared(async () => await obtainHeld(service()))
  for (const [expected, requests] of groups) {
    for (const [title, request] of Object.entries(requests)) {
      it(`${title}: ${expected.status}`, async () => {
        const { url } = service()
        const { status, challenge, body, open = '*' } = expected
        const answer = await send(url, request(held()))
        expect([answer.status, bodyOf(answer)]).to.deep.equal([
          status,
          JSON.parse(JSON.stringify(body).replaceAll('{base}', url)),
        ])
        const headers = [...answer.headers].filter(([name]) => checked.test(name))
        const wanted = challenge?.replaceAll('{base}', url)
        expect(Object.fromEntries(headers)).to.deep.equal({
          ...(wanted !== undefined && { 'www-authenticate': wanted }),
          'cache-control': 'no-store',
          'content-type': 'application/json; charset=utf-8',
          vary: 'Origin',
          ...(open !== null && { 'access-control-allow-origin': open }),
          'access-control-expose-headers': 'WWW-Authenticate',
        })
      })
    }
  }
}

const checked = /^(www-authenticate|cache-control|content-type|vary|access-control-.*)$/
