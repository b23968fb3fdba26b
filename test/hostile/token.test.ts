import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt } from 'jose'

import { paths } from '../../src/platform/http/paths.ts'
import {
  asResourceServer,
  exchange,
  getCode,
  introspect,
  obtainCode,
  obtainTokens,
  refresh,
  revoke,
} from '../support/client.ts'
import { noor, notes, olivia, portal, sam } from '../support/gatehouse.ts'
import { later } from '../support/later.ts'
import { sharedService } from '../support/storages.ts'
import {
  type Answer,
  basic,
  bearer,
  encode,
  type Fields,
  FORM,
  postForm,
  refusalOf,
  send,
} from '../support/wire.ts'

/** How far the clock of the service is ahead. */
let laterMs = 0
const service = sharedService({ now: () => Date.now() + laterMs })

const token = async (fields: Fields, headers: readonly string[] = []) =>
  await postForm(service().url + paths.token, fields, headers)

const userinfo = async (headers: readonly string[]) =>
  await send(service().url, { path: paths.userinfo, headers })

/** Expects an error response (RFC 6749 §5.2): JSON, not cacheable, with a description. */
function expectRefusal(answer: Answer, expected: string): void {
  expect(answer.headers.get('content-type')).to.match(/^application\/json/)
  expect(answer.headers.get('cache-control')).to.equal('no-store')
  expect(refusalOf(answer)).to.equal(expected)
  expect(answer.body['error_description']).to.be.a('string')
}

describe('token requests [Token 1; RFC 6749 §3.2; 51, 53]', () => {
  it('accepts only POST, whatever header or parameter overrides the method', async () => {
    const { form } = await obtainCode(service().url)
    const path = `${paths.token}?${encode({ ...form, _method: 'POST' })}`
    expect((await send(service().url, { method: 'HEAD', path })).status).to.equal(405)
    for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const answer = await send(service().url, { path, headers: [header, 'POST'] })
      expect(answer.status, header).to.equal(405)
    }
    expect((await token(form)).status, 'the code still works').to.equal(200)
  })

  it('reads no single parameter from the query', async () => {
    const { form } = await obtainCode(service().url)
    const address = `${service().url}${paths.token}?client_id=${notes.clientId}`
    expectRefusal(await postForm(address, { ...form, client_id: undefined }), '400 invalid_request')
    expect((await token(form)).status, 'the code still works').to.equal(200)
  })

  it('takes a name with brackets for another parameter', async () => {
    const { form } = await obtainCode(service().url)
    expect((await token({ ...form, 'code[]': 'x', __proto__: 'x' })).status).to.equal(200)
  })
})

// [RFC 6749 §4.1.2; RFC 9700 §4.5.3.1; OpenID Connect Core §3.1.3.2; Token 2.1; threat 9]
describe('codes', () => {
  // [RFC 6749 §10.5; RFC 9700 §4.2.4]
  it('ends the tokens of a code that is repeated, except within seconds [design 11] [57]', async () => {
    const { form, accessToken, refreshToken } = await obtainTokens(service().url)
    expectRefusal(await token(form), '400 invalid_grant')
    expect((await userinfo(bearer(accessToken))).status, 'a callback ran twice').to.equal(200)
    expect((await refresh(service().url, refreshToken)).status).to.equal(200)
    laterMs = 6_000
    expectRefusal(await token(form), '400 invalid_grant')
    laterMs = 0
    expect((await userinfo(bearer(accessToken))).status).to.equal(401)
    expectRefusal(await refresh(service().url, refreshToken), '400 invalid_grant')
  })

  // [RFC 6749 §10.10]
  it('refuses expired, unknown and altered codes in the same words [59]', async () => {
    const { form, code } = await obtainCode(service().url)
    const answers = []
    for (const altered of [
      ...['x'.repeat(43), 'x'.repeat(10_000), code.slice(0, -1), `${code}A`, withOtherEnd(code)],
      ...[code.toUpperCase(), ` ${code}`, `${code}\0`],
    ]) {
      answers.push(await token({ ...form, code: altered }))
    }
    answers.push(await later(62_000, () => token(form)))
    for (const answer of answers) expectRefusal(answer, '400 invalid_grant')
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1)
  })
})

const withOtherEnd = (value: string) => value.slice(0, -1) + (value.at(-1) === 'A' ? 'B' : 'A')

describe('client authentication at the token endpoint [RFC 6749 §2.3] [63, 65]', () => {
  const { clientId: client_id, clientSecret: client_secret } = portal
  const asNotes = { client_id: notes.clientId }
  const attempt = { grant_type: 'refresh_token', refresh_token: 'x' }
  const base64 = (value: string) => Buffer.from(value, 'latin1').toString('base64')

  for (const value of [
    ...['Basic %%%', 'Basic ', 'Bearer abc', 'Digest username="x"', `Basic ${base64('a:b')} more`],
    ...['no-colon', 'a%zz:b%', ':', ':secret', 'northlight-portal:', '\xff\xfe:\xff'].map(
      (pair) => `Basic ${base64(pair)}`,
    ),
  ]) {
    it(`refuses Authorization: ${value} [63]`, async () => {
      expectRefusal(await token(attempt, ['Authorization', value]), '400 invalid_request')
    })
  }

  const asHeader = basic(client_id, client_secret)
  const guesses = ['compared-by-digest', '', ' ', 'undefined', 'null', `${client_secret} `]
  const attempts: readonly (readonly [
    what: string,
    expected: string,
    fields: Fields,
    headers?: readonly string[],
  ])[] = [
    ['a secret of a public client', '401 invalid_client', { ...asNotes, client_secret: 'x' }],
    ['Basic of a public client', '401 invalid_client', {}, basic(notes.clientId, 'x')],
    ['one secret twice', '400 invalid_request', { client_id, client_secret }, asHeader],
    ['a resource server', '400 invalid_request', asResourceServer],
    ...guesses.map(
      (bad) =>
        [`the secret "${bad}"`, '401 invalid_client', { client_id, client_secret: bad }] as const,
    ),
  ]
  for (const [what, expected, fields, headers] of attempts) {
    // [RFC 6749 §2.3; RFC 6749 §2.3.1; RFC 6749 §3.2.1; RFC 9700 §2.5; OpenID Connect Core §3.1.3.1]
    // [Token 2.3; Authentication 2; threat 11]
    it(`refuses ${what} [65]`, async () => {
      expectRefusal(await token({ ...attempt, ...fields }, headers), expected)
    })
  }

  it('tells an unknown client the same as one with a wrong secret', async () => {
    const wrong = await token({ ...attempt, client_id, client_secret: 'wrong' })
    for (const client_id of ['nobody', '__proto__', 'x'.repeat(3000), "' or 1=1 --"]) {
      const { status, text } = await token({ ...attempt, client_id, client_secret: 'wrong' })
      expect([status, text]).to.deep.equal([wrong.status, wrong.text])
    }
  })

  for (const grant of [
    ...['password', 'client_credentials', 'implicit', 'AUTHORIZATION_CODE', '__proto__'],
    ...['constructor', 'toString', 'urn:ietf:params:oauth:grant-type:device_code'],
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:saml2-bearer',
  ]) {
    // [RFC 6749 §4.5; RFC 9700 §2.4; What the service does 16]
    it(`refuses the grant type ${grant} (design 25)`, async () => {
      const fields = { grant_type: grant, client_id, client_secret, username: 'x', password: 'y' }
      expectRefusal(await token(fields), '400 unsupported_grant_type')
    })
  }
})

describe('tokens', () => {
  // [RFC 6749 §10.3; RFC 6749 §10.4; RFC 6749 §10.10; RFC 6750 §3.1; RFC 6750 §5.2; RFC 7009 §2.2; RFC 7009 §5]
  // [RFC 7662 §2.2; RFC 7662 §4; 83]
  it('are refused by every endpoint when altered, and keep working (CVE-2026-27840)', async () => {
    const { url } = service()
    const { accessToken, refreshToken } = await obtainTokens(url)
    for (const wrong of alterations(refreshToken)) {
      expectRefusal(await refresh(url, wrong), '400 invalid_grant')
      const { status, text } = await revoke(url, wrong)
      expect([status, text], wrong).to.deep.equal([200, '{}'])
    }
    for (const wrong of alterations(accessToken)) {
      const { status, headers } = await userinfo(bearer(wrong))
      expect(status, wrong).to.equal(401)
      expect(headers.get('www-authenticate')).to.include('resource_metadata=')
      expect((await introspect(url, wrong)).body, wrong).to.deep.equal({ active: false })
    }
    expect((await userinfo(bearer(accessToken))).status).to.equal(200)
    expect((await refresh(url, refreshToken)).status).to.equal(200)
  })

  /** Values that are nearly a token. */
  function alterations(value: string): string[] {
    return [
      ...[1, 2, 10, 21, 42].map((removed) => value.slice(0, -removed)),
      ...[value.slice(1), `${value}A`, `${value}=`, withOtherEnd(value), value.toLowerCase()],
      ...[[...value].reverse().join(''), `${value.slice(0, 20)}%${value.slice(21)}`],
      ...['*', '%', '_'.repeat(43), 'x'.repeat(5000)],
    ]
  }

  it('identify each of several people who sign in at once (CVE-2026-82843) [169]', async () => {
    const { url } = service()
    const turns = [0, 1, 2, 0, 1, 2, 0, 1, 2]
    const codes = await Promise.all(
      turns.map(async (who) => await getCode(url, {}, [sam, noor, olivia][who])),
    )
    const answers = await Promise.all(codes.map(async (code) => await exchange(url, code)))
    const said = await Promise.all(
      answers.map(async ({ body }) => [
        String(decodeJwt(body.id_token).sub),
        (await userinfo(bearer(body.access_token))).body.sub,
      ]),
    )
    const ids = ['per_sam', 'per_noor', 'per_olivia']
    expect(said).to.deep.equal(turns.map((who) => [ids[who], ids[who]]))
  })
})

// [RFC 7009 §2.1; RFC 7009 §2.2.1; Revocation 1]
it('revocation requires one token and an authenticated client [83]', async () => {
  const { clientId: client_id } = notes
  for (const [fields, expected] of [
    [{ client_id }, '400 invalid_request'],
    [{ token: 'x' }, '400 invalid_request'],
    [{ client_id, token: ['x', 'y'] }, '400 invalid_request'],
    [{ token: 'x', client_id: 'nobody' }, '401 invalid_client'],
    [{ token: 'x', client_id: portal.clientId }, '401 invalid_client'],
  ] as const) {
    expectRefusal(await postForm(service().url + paths.revocation, fields), expected)
  }
})

describe('malformed requests', () => {
  const endpoints = [paths.token, paths.revocation, paths.introspection]

  it('are refused by every endpoint', async () => {
    for (const path of endpoints) {
      for (const body of [
        ...['%', '%zz=%zz', '&&&&', '=', 'token', '\0', 'a=1&'.repeat(5000)],
        '__proto__=x&constructor=y&hasOwnProperty=z',
        'client_id=%ff&token=%ff&grant_type=%ff',
        'grant_type=a;code=b',
      ]) {
        const answer = await send(service().url, { method: 'POST', path, headers: FORM, body })
        expect(answer.status, path + body).to.be.within(400, 415)
      }
    }
  })

  it('never fail with random tokens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme-ascii', maxLength: 100 }), async (value) => {
        expect((await userinfo(bearer(value))).status).to.be.oneOf([400, 401])
      }),
      { numRuns: 100 },
    )
  })

  it('never fail with random forms, and return no token', async () => {
    const name = fc.constantFrom(
      ...['grant_type', 'code', 'redirect_uri', 'client_id', 'code_verifier', 'client_secret'],
      ...['refresh_token', 'scope', 'resource', 'token', 'token_type_hint', 'client_assertion'],
    )
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom(notes.clientId, 'authorization_code', 'refresh_token', service().url, ''),
    )
    const endpoint = fc.constantFrom(...endpoints)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value)), endpoint, async (pairs, path) => {
        const body = new URLSearchParams(pairs).toString()
        const answer = await send(service().url, { method: 'POST', path, headers: FORM, body })
        expect(answer.status).to.be.below(500)
        expect(answer.text).to.not.match(/access_token|"active":true/)
      }),
      { numRuns: 200 },
    )
  })
})
