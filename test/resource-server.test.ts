import type { Tokens } from '../src/oauth/token/tokens.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeTokenJudges } from '../src/resource/resource-server/judge-token.ts'
import { challengeHeader } from '../src/resource/resource-server/protect.ts'
import {
  demandScopes,
  makeVerifyBearer,
  TOKEN_REFUSED,
} from '../src/resource/resource-server/verify-bearer.ts'
import { accessToken } from './support/access-token.ts'
import { bindTo } from './support/families.ts'
import { defaultsInForce } from './support/figures.ts'
import { askMember, memberToken, readOnly, readWrite } from './support/member-api.ts'
import { sharedService } from './support/storages.ts'
import { type Answer, refusalOf } from './support/wire.ts'

const origin = 'https://gatehouse.example'

const good = accessToken({ scopes: ['a', 'b'], audience: origin })

type Find = Tokens['findAccessToken']

/** Creates a token verifier on a store that records calls. By default, the store finds the token `good`. */
function storage(find: Find = async () => good) {
  const calls: string[] = []
  const finders: Pick<Tokens, 'findAccessToken' | 'findRefreshToken'> = {
    findAccessToken: async (...token) => {
      calls.push('token')
      return await find(...token)
    },
    findRefreshToken: async () => undefined,
  }
  const { lifetimes } = defaultsInForce().service
  const judges = makeTokenJudges(finders, { audience: origin, now: () => 1, lifetimes })
  const countUse = (grantId: string) => void calls.push(`use of ${grantId}`)
  const verdict = makeVerifyBearer(judges.judgeAccessToken, undefined, countUse)
  const verify = async (...authorization: string[]) =>
    await verdict({ authorization, proofs: [], method: 'GET', address: `${origin}/` })
  return { calls, verify }
}

describe('bearer verdicts', () => {
  // [RFC 6750 §2.1; RFC 6749 §7]
  it('grant a good token with one query, and count its use', async () => {
    const { calls, verify } = storage()
    expect(await verify('bearer  abc')).to.deep.equal({ kind: 'granted', token: good })
    expect(calls).to.deep.equal(['token', 'use of g'])
    const lost = storage(async () => ({ ...good, clientDisabled: true }))
    await lost.verify('Bearer abc')
    expect(lost.calls).to.deep.equal(['token'])
  })

  it('have a reason for each fault, and one description [RFC 9700 §4.10.2]', async () => {
    const otherOrigin = 'the token was issued for another origin'
    const unbound = `the token was requested without the resource parameter: send resource=${origin} at both the authorization and the token endpoint`
    for (const [changes, reason] of [
      [{ expiresAt: 0 }, 'the token has expired'],
      [{ audience: 'https://else.example' }, otherOrigin],
      [{ audience: `${origin}/` }, otherOrigin],
      [{ audience: undefined }, unbound],
      [{ clientDisabled: true }, 'the client is disabled'],
      [{ family: { ...good.family, ended: true } }, 'the token was revoked'],
    ] as const) {
      const verdict = await storage(async () => ({ ...good, ...changes })).verify('Bearer abc')
      expect(verdict).to.include({ kind: 'invalid', reason, description: TOKEN_REFUSED })
    }
  })

  for (const headers of [
    ...['', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearer a,b', 'Bearer "abc"', 'Bearer ä'].map(
      (value) => [value],
    ),
    ...['Basic YWJj', 'DPoP abc', 'abc', `Bearer ${'a'.repeat(257)}`].map((value) => [value]),
    ['Bearer abc', 'Bearer abc'],
    [],
  ]) {
    it(`refuse Authorization ${JSON.stringify(headers).slice(0, 30)} without a query`, async () => {
      const { calls, verify } = storage()
      const kind = headers.length === 0 ? 'anonymous' : 'invalid'
      expect((await verify(...headers)).kind).to.equal(kind)
      expect(calls).to.deep.equal([])
    })
  }

  it('are unavailable when the query fails [Errors 7]', async () => {
    const { verify } = storage(() => Promise.reject(new Error('no answer')))
    expect((await verify('Bearer abc')).kind).to.equal('unavailable')
  })

  // [MCP Authorization §Scope Selection Strategy]
  it('name every needed scope when one is missing', async () => {
    const verdict = await storage().verify('Bearer abc')
    expect(demandScopes(verdict, ['a', 'b']).kind).to.equal('granted')
    const missing = demandScopes(verdict, ['a', 'c'])
    expect(missing).to.deep.include({ kind: 'insufficient', needed: ['a', 'c'] })
    expect(demandScopes({ kind: 'anonymous' }, ['a']).kind).to.equal('anonymous')
  })
})

it('challenges reject a quotation mark, a backslash, a line break and non-ASCII letters [RFC 6750 §3]', () => {
  for (const description of ['a"b', 'a\\b', 'a\r\nb', 'ä']) {
    const challenge = { description, error: 'invalid_token', resourceMetadataUrl: '' } as const
    expect(() => challengeHeader(challenge)).to.throw('RFC 6750')
  }
})

describe('a token at the Member API [101]', () => {
  const service = sharedService()
  const query = { query: '{ viewer { id } }' }
  const ask = async (token: string) => await askMember({ url: service().url, token }, query)

  const expectRefused = (answer: Answer, refusal: string, description: string, scope: string) => {
    expect(refusalOf(answer)).to.equal(refusal)
    expect(answer.headers.get('www-authenticate')).to.equal(
      `Bearer error="${answer.body.error}", error_description="${description}", ` +
        `scope="${scope}", resource_metadata="${service().url}${paths.protectedResource}"`,
    )
  }

  // [RFC 6749 §7; RFC 6749 §7.2; RFC 6750 §3; RFC 9728 §3.3; RFC 9728 §5.1; What the service does 13; Discovery 8]
  // [Errors 4.3; Errors 5.2; RFC 6750 §3.1; RFC 9700 §2.3; Member API 3; Errors 4.2]
  it('is required: 401 invalid_token with a challenge [Errors 5], and 403 insufficient_scope without a needed scope [Errors 4]', async () => {
    const answer = await askMember({ url: service().url }, query)
    const required = 'an access token is required; send it in the Authorization header'
    expectRefused(answer, '401 invalid_token', required, 'account:read')
    const narrow = await ask(await memberToken(service().url, 'openid'))
    const needed = 'this request needs the scope account:read'
    expectRefused(narrow, '403 insufficient_scope', needed, readOnly)
  })

  // [RFC 6750 §5.2; RFC 6750 §5.3; RFC 9700 §2.3; RFC 9700 §4.10.2; RFC 9728 §7.4]
  // [Authentication 5.4; Member API 3; threat 12]
  it('is 401 invalid_token when it was issued for another origin [Errors 6]', async () => {
    const token = await memberToken(service().url)
    await bindTo('https://else.example', token, service())
    const answer = await ask(token)
    expectRefused(answer, '401 invalid_token', TOKEN_REFUSED, readWrite)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.body).to.deep.equal({ error: 'invalid_token', error_description: TOKEN_REFUSED })
    const { detail } = JSON.parse(service().log.at(-1) ?? '{}')
    expect(detail).to.include('the token was issued for another origin')
  })
})
