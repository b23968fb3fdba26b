import { request } from 'node:http'

import { expect } from 'chai'
import { sql } from 'kysely'
import { tokenRevocation } from 'openid-client'

import type { ServicePolicy } from '../src/config/config.ts'
import type { AccessToken, Tokens } from '../src/oauth/token/tokens.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeTokenJudges } from '../src/resource/resource-server/judge-token.ts'
import { challengeHeader } from '../src/resource/resource-server/protect.ts'
import {
  demandScopes,
  makeVerifyBearer,
  TOKEN_REFUSED,
  type VerdictDependencies,
} from '../src/resource/resource-server/verify-bearer.ts'
import { accessToken } from './support/access-token.ts'
import { bindTo } from './support/families.ts'
import { notes, type RunningService, startService } from './support/gatehouse.ts'
import { askMember, memberToken, readOnly, readWrite } from './support/member-api.ts'
import { eventually } from './support/programs.ts'
import { discover, getTokens } from './support/relying-party.ts'

const origin = 'https://gatehouse.example'

const good = accessToken({ scopes: ['a', 'b'], audience: origin })

interface Changes {
  readonly token?: Partial<AccessToken>
  readonly find?: Tokens['findAccessToken']
}

/** Storage in which everything is as it should be, but for what a case says. */
function storage(changes: Changes = {}): VerdictDependencies & { readonly calls: string[] } {
  const calls: string[] = []
  const counted = <Arguments extends unknown[], Result>(
    name: string,
    call: (...values: Arguments) => Promise<Result>,
  ) => {
    return (...values: Arguments) => {
      calls.push(name)
      return call(...values)
    }
  }
  const found = { ...good, ...changes.token }
  const finders = {
    findAccessToken: counted('token', changes.find ?? (async () => found)),
    findRefreshToken: counted('refresh token', async () => undefined),
  }
  const judges = makeTokenJudges(finders, { audience: origin, now: () => 1, lifetimes })
  return { calls, ...judges, countUse: (grantId) => calls.push(`use of ${grantId}`) }
}

const lifetimes = {
  ...{ refreshTokenSeconds: 60, refreshTokenAbsoluteSeconds: 60, refreshRetrySeconds: 10 },
}

/** A request with these Authorization headers and no proof. */
function asking(authorization: readonly string[]) {
  return { authorization, proofs: [], method: 'GET', address: `${origin}/` }
}

async function reasonOf(changes: Changes, header = 'Bearer abc'): Promise<string> {
  const verdict = await makeVerifyBearer(storage(changes))(asking([header]))
  if (verdict.kind !== 'invalid') throw new Error(`the verdict is ${verdict.kind}`)
  expect(verdict.description).to.equal(TOKEN_REFUSED)
  return verdict.reason
}

describe('bearer verdicts', () => {
  // [RFC 6750 §2.1; RFC 6749 §7]
  it('grants a token of this origin with the roles that the person holds now', async () => {
    const verdict = await makeVerifyBearer(storage())(asking(['bearer  abc']))
    expect(verdict).to.deep.equal({ kind: 'granted', token: good })
  })

  it('calls a request without an Authorization header anonymous, and asks no storage', async () => {
    const tokens = storage()
    expect(await makeVerifyBearer(tokens)(asking([]))).to.deep.equal({ kind: 'anonymous' })
    expect(tokens.calls).to.deep.equal([])
  })

  it('asks once, for the token and its access, and counts the use of what is good only', async () => {
    const used = storage()
    await makeVerifyBearer(used)(asking(['Bearer abc']))
    expect(used.calls).to.deep.equal(['token', 'use of g'])
    const lost = storage({ token: { clientDisabled: true } })
    await makeVerifyBearer(lost)(asking(['Bearer abc']))
    expect(lost.calls).to.deep.equal(['token'])
  })

  it('tells the faults of a token apart in its reason, and not in what the caller is told', async () => {
    const reasons = [
      await reasonOf({}, ''),
      await reasonOf({ find: async () => undefined }),
      await reasonOf({ token: { expiresAt: 0 } }),
      await reasonOf({ token: { audience: 'https://else.example' } }),
      await reasonOf({ token: { clientDisabled: true } }),
      await reasonOf({ token: { family: { ...good.family, ended: true } } }),
    ]
    expect(new Set(reasons).size).to.equal(reasons.length)
  })

  // [RFC 9700 §4.10.2]
  it('takes neither an unbound token nor one bound to another origin', async () => {
    expect(await reasonOf({ token: { audience: undefined } })).to.equal(
      `the token was requested without resource: send resource=${origin} at both the authorization and the token endpoint`,
    )
    for (const audience of ['https://else.example', `${origin}/`]) {
      expect(await reasonOf({ token: { audience } })).to.equal(
        'the token was issued for another origin',
      )
    }
  })

  for (const header of [
    '',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer a,b',
    'Bearer "abc"',
    'Bearer ä',
    'Basic YWJj',
    'DPoP abc',
    'abc',
    `Bearer ${'a'.repeat(257)}`,
  ]) {
    it(`answers invalid, and asks no storage, for the header ${JSON.stringify(header.slice(0, 20))}`, async () => {
      const tokens = storage()
      const verdict = await makeVerifyBearer(tokens)(asking([header]))
      expect(verdict.kind).to.equal('invalid')
      expect(tokens.calls).to.deep.equal([])
    })
  }

  it('answers invalid for two Authorization headers, even when both are good', async () => {
    const verdict = await makeVerifyBearer(storage())(asking(['Bearer abc', 'Bearer abc']))
    expect(verdict.kind).to.equal('invalid')
  })

  it('reaches no verdict when the question fails [Errors 7]', async () => {
    const fail = async () => {
      throw new Error('no answer')
    }
    const verdict = await makeVerifyBearer(storage({ find: fail }))(asking(['Bearer abc']))
    expect(verdict.kind).to.equal('unavailable')
  })

  // [MCP Authorization §Scope Selection Strategy]
  it('names every scope that is needed when one is missing', async () => {
    const verdict = await makeVerifyBearer(storage())(asking(['Bearer abc']))
    expect(demandScopes(verdict, ['a', 'b']).kind).to.equal('granted')
    expect(demandScopes(verdict, ['a', 'c'])).to.include({ kind: 'insufficient' })
    expect(demandScopes(verdict, ['a', 'c']))
      .to.have.property('needed')
      .that.eql(['a', 'c'])
    expect(demandScopes({ kind: 'anonymous' }, ['a']).kind).to.equal('anonymous')
  })
})

describe('challenges', () => {
  // [RFC 6750 §3; RFC 9728 §5.1;
  // MCP Authorization §Protected Resource Metadata Discovery Requirements]
  // [Errors 4.3]
  it('are spelled as RFC 6750 §3 and RFC 9728 §5.1 say, in one order', () => {
    const challenge = {
      error: 'insufficient_scope',
      description: 'this needs more',
      scopes: ['a', 'b'],
      resourceMetadataUrl: 'https://gatehouse.example/prm',
    } as const
    expect(challengeHeader(challenge)).to.equal(
      'Bearer error="insufficient_scope", error_description="this needs more", scope="a b", resource_metadata="https://gatehouse.example/prm"',
    )
    expect(challengeHeader({ ...challenge, scopes: [] })).not.to.include('scope=')
  })

  // [RFC 6750 §3]
  it('cannot be broken by a quotation mark, a backslash or a line break', () => {
    for (const description of ['a"b', 'a\\b', 'a\r\nb', 'ä']) {
      const challenge = { description, error: 'invalid_token', resourceMetadataUrl: '' } as const
      expect(() => challengeHeader(challenge)).to.throw('RFC 6750')
    }
  })
})

// [101]
describe('a token at the Member API', () => {
  let running: RunningService
  before(async () => {
    running = await startService()
  })
  after(async () => await running[Symbol.asyncDispose]())

  const query = { query: '{ viewer { id } }' }
  const ask = async (token: string) => await askMember({ url: running.url, token }, query)

  const invalidToken = (description: string, scope = 'account:read') =>
    `Bearer error="invalid_token", error_description="${description}", ` +
    `scope="${scope}", resource_metadata="${running.url}${paths.protectedResource}"`

  /** @param scope what the token opened once and this address needs */
  async function expectInvalid(answer: Awaited<ReturnType<typeof askMember>>, scope?: string) {
    expect(answer.status).to.equal(401)
    expect(answer.headers.get('www-authenticate')).to.equal(invalidToken(TOKEN_REFUSED, scope))
    expect(answer.body).to.deep.equal({ error: 'invalid_token', error_description: TOKEN_REFUSED })
    expect(answer.headers.get('cache-control')).to.equal('no-store')
  }

  /** The reason in the last line that a request left. */
  function detailOf(): string | undefined {
    return JSON.parse(running.log.at(-1) ?? '{}').detail
  }

  // [RFC 6749 §7.2; RFC 6750 §3; What the service does 13; Errors 5.2]
  it('without a token returns 401 invalid_token with a challenge [Errors 5]', async () => {
    const answer = await askMember({ url: running.url }, query)
    expect(answer.status).to.equal(401)
    expect(answer.headers.get('www-authenticate')).to.equal(
      invalidToken('an access token is required'),
    )
    expect(answer.body.error).to.equal('invalid_token')
  })

  // [RFC 6750 §3.1; RFC 6749 §7; Errors 4.1]
  it('returns 401 invalid_token for an invalid or malformed token [Errors 4]', async () => {
    const token = await memberToken(running.url)
    await expectInvalid(await ask(token.slice(0, -1)))
    expect(detailOf()).to.equal(
      'the token is unknown: it was never issued, or its record was removed',
    )
    await expectInvalid(await ask(`${token} x`))
    expect(detailOf()).to.equal('the Authorization header has no Bearer token')
    const basic = { authorization: `Basic ${token}` }
    await expectInvalid(await askMember({ url: running.url, headers: basic }, query))
  })

  // [RFC 9728 §3.3; RFC 9728 §5.1; Discovery 8]
  it('points from the challenge to a document whose resource is this origin [Errors 6]', async () => {
    const { headers } = await ask('x')
    const address = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1]
    const document = (await (await fetch(address ?? '')).json()) as { resource: string }
    expect(document.resource).to.equal(running.url)
  })

  // [RFC 6750 §5.2; RFC 6750 §5.3; RFC 9700 §2.3; RFC 9700 §4.10.2; RFC 9728 §7.4]
  // [Authentication 5.4; threat 12]
  it('returns 401 invalid_token for a token that was issued for a different origin [Errors 6]', async () => {
    const token = await memberToken(running.url)
    const [family = ''] = token.split('.')
    await bindTo('https://else.example', family, running.service.stores.database)
    await expectInvalid(await ask(token), readWrite)
    expect(detailOf()).to.equal('the token was issued for another origin')
  })

  // [Member API 3]
  it('returns 401 for the token of a plain sign-in, which is bound to no origin', async () => {
    const { tokens } = await getTokens(running.url, { scope: 'openid', resource: false })
    const answer = await ask(tokens.access_token)
    await expectInvalid(answer, readOnly)
    expect(detailOf()).to.match(/^the token was requested without resource: send resource=http/)
    expect(answer.headers.get('www-authenticate')).to.include('request it with resource')
  })

  it('returns 401 as soon as the token was revoked', async () => {
    const { tokens } = await getTokens(running.url, { scope: readOnly })
    expect((await ask(tokens.access_token)).status).to.equal(200)
    await tokenRevocation(await discover(running.url), tokens.access_token)
    await expectInvalid(await ask(tokens.access_token), readOnly)
    expect(detailOf()).to.equal('the token was revoked')
  })

  // [RFC 6749 §7]
  it('returns 401 once the token has expired, and says so in the log only', async () => {
    const short = (policy: ServicePolicy) => ({
      ...policy,
      lifetimes: { ...policy.lifetimes, accessTokenSeconds: 1 },
    })
    await using own = await startService({ policy: short })
    const { tokens } = await getTokens(own.url, { scope: readOnly })
    const answer = await eventually(5_000, async () => {
      const asked = await askMember({ url: own.url, token: tokens.access_token }, query)
      expect(asked.status).to.equal(401)
      return asked
    })
    expect(answer.body.error).to.equal('invalid_token')
    expect(JSON.parse(own.log.at(-1) ?? '{}').detail).to.equal('the token has expired')
    const userinfo = await fetch(own.url + paths.userinfo, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(userinfo.status, 'it is kept for the log, and works nowhere').to.equal(401)
  })

  it('returns 401 when the grant of the token has ended', async () => {
    const token = await memberToken(running.url, readOnly)
    const { kysely } = running.service.stores.database
    await kysely
      .updateTable('oauth_grant')
      .set({ ended_at: Date.now(), end_reason: 'the person removed it' })
      .where('ended_at', 'is', null)
      .execute()
    await expectInvalid(await ask(token), readOnly)
    expect(detailOf()).to.equal('the grant has ended: the person removed it')
  })

  it('returns 401 while the client is disabled, and says so in the log only', async () => {
    const token = await memberToken(running.url, readOnly)
    const disable = async (disabledAt: number | null) =>
      await running.service.stores.database.kysely
        .updateTable('oauth_application')
        .set({ disabled_at: disabledAt })
        .where('client_id', '=', notes.clientId)
        .execute()
    await disable(1)
    await expectInvalid(await ask(token), readOnly)
    expect(detailOf()).to.equal('the client is disabled')
    await disable(null)
    expect((await ask(token)).status).to.equal(200)
  })

  it('takes no token from the query or from the body [RFC 6750 §2]', async () => {
    const token = await memberToken(running.url)
    const inQuery = await fetch(`${running.url}${paths.graphql}?access_token=${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...query, access_token: token }),
    })
    expect(inQuery.status).to.equal(401)
    const inForm = await fetch(running.url + paths.graphql, {
      method: 'POST',
      body: new URLSearchParams({ access_token: token, query: query.query }),
    })
    expect(inForm.status).to.equal(401)
    expect(running.log.join('')).not.to.include(token)
  })

  // [RFC 6750 §2]
  it('returns 401 for two Authorization headers', async () => {
    const token = await memberToken(running.url)
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    const sending = request(
      running.url + paths.graphql,
      {
        method: 'POST',
        headers: [
          ...['Host', new URL(running.url).host, 'Content-Type', 'application/json'],
          ...['Authorization', `Bearer ${token}`, 'Authorization', `Bearer ${token}`],
        ],
      },
      (response) => resolve(response.resume().statusCode),
    )
    sending.end(JSON.stringify(query))
    expect(await promise).to.equal(401)
    expect(detailOf()).to.equal('there are several Authorization headers')
  })

  // [RFC 6749 §7; RFC 6750 §3.1; RFC 9700 §2.3; Member API 3; Errors 4.2]
  it('returns 403 insufficient_scope for a valid token lacking a required scope [Errors 4]', async () => {
    const { tokens } = await getTokens(running.url, { scope: 'openid', resource: running.url })
    const answer = await ask(tokens.access_token)
    expect(answer.status).to.equal(403)
    expect(answer.headers.get('www-authenticate')).to.equal(
      'Bearer error="insufficient_scope", error_description="this needs the scope account:read", ' +
        `scope="openid account:read", resource_metadata="${running.url}${paths.protectedResource}"`,
    )
    expect(answer.body.error).to.equal('insufficient_scope')
  })

  // [Errors 7.2]
  it('is not asked about when storage does not answer: 503, and no challenge [Errors 7]', async () => {
    await using broken = await startService()
    const token = await memberToken(broken.url)
    // The table is gone, as far as a query can tell.
    await sql`alter table refresh_token_family rename to elsewhere`.execute(
      broken.service.stores.database.kysely,
    )
    const answer = await askMember({ url: broken.url, token }, query)
    expect(answer.status).to.equal(503)
    expect(answer.body.error).to.equal('temporarily_unavailable')
    expect(answer.headers.get('www-authenticate')).to.equal(null)
    expect(answer.headers.get('retry-after')).to.equal('1')
    expect(answer.text).not.to.match(/refresh_token_family|sql/i)
  })
})
