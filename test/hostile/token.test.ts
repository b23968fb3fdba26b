import { gzipSync } from 'node:zlib'

import { expect } from 'chai'
import fc from 'fast-check'
import { decodeJwt } from 'jose'

import { paths } from '../../src/platform/http/paths.ts'
import {
  asResourceServer,
  exchange,
  getCode,
  obtainCode,
  obtainTokens,
  refresh,
} from '../support/client.ts'
import {
  noor,
  notes,
  olivia,
  portal,
  type RunningService,
  resourceServer,
  sam,
  startService,
} from '../support/gatehouse.ts'
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
  sendBytes,
} from '../support/wire.ts'

/**
 * Hostile requests at the endpoints that clients call: token, UserInfo, revocation, introspection.
 * The numbers are those of docs/reference/hostile-cases.md.
 */
let service: RunningService

/** How far the service's clock is ahead of this machine's. */
let laterMs = 0

before(async () => {
  service = await startService({ now: () => Date.now() + laterMs })
})

after(async () => {
  await service[Symbol.asyncDispose]()
})

const asPortal = { client_id: portal.clientId, redirect_uri: portal.redirectUri } as const

const token = async (fields: Fields, headers: readonly string[] = []) =>
  await postForm(service.url + paths.token, fields, headers)

const userinfo = async (headers: readonly string[], query = '') =>
  await send(service.url, { path: paths.userinfo + query, headers })

const introspect = async (fields: Fields, headers: readonly string[] = []) =>
  await postForm(service.url + paths.introspection, fields, headers)

/** An error of RFC 6749 §5.2: JSON, not to be kept, and with words for a person. */
function expectRefusal(answer: Answer, expected: string | readonly string[]): void {
  expect(answer.headers.get('content-type')).to.match(/^application\/json/)
  expect(answer.headers.get('cache-control')).to.equal('no-store')
  expect(refusalOf(answer)).to.be.oneOf([expected].flat())
  expect(answer.body['error_description']).to.be.a('string')
}

// [Token 1]
describe('token: the method is POST and the parameters are in the form [RFC 6749 §3.2] [51]', () => {
  it('does not exist for any other method', async () => {
    const { form } = await obtainCode(service.url)
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'TRACE']) {
      const path = `${paths.token}?${encode(form)}`
      const answer = await send(service.url, { method, path })
      expect(answer.status, method).to.be.oneOf([404, 405, 501])
    }
    expect((await token(form)).status, 'the code was not touched').to.equal(200)
  })

  it('reads nothing from the query', async () => {
    const { form } = await obtainCode(service.url)
    const path = `${paths.token}?${encode(form)}`
    const answer = await send(service.url, { method: 'POST', path, headers: FORM, body: '' })
    expectRefusal(answer, '400 invalid_request')
    const { client_id: _clientId, ...rest } = form
    const split = await postForm(`${service.url}${paths.token}?client_id=${notes.clientId}`, rest)
    expectRefusal(split, ['400 invalid_request', '401 invalid_client'])
    expect((await token(form)).status, 'the code was not touched').to.equal(200)
  })

  it('takes no method from a header or parameter', async () => {
    const { form } = await obtainCode(service.url)
    for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const path = `${paths.token}?${encode({ ...form, _method: 'POST' })}`
      const answer = await send(service.url, { path, headers: [header, 'POST'] })
      expect(answer.status, header).to.equal(405)
    }
  })
})

describe('token: no parameter counts twice [RFC 6749 §3.2] [53]', () => {
  it('a name with brackets is another parameter', async () => {
    const { form } = await obtainCode(service.url)
    const { code, ...rest } = form
    expectRefusal(await token({ ...rest, 'code[]': code, 'code[0]': code }), '400 invalid_request')
    expect((await token({ ...form, 'code[]': 'x', __proto__: 'x' })).status).to.equal(200)
  })
})

// [RFC 6749 §4.1.2; RFC 6749 §10.6; RFC 7636 §4.6; RFC 9700 §4.3.1; RFC 9700 §4.5.3.1; OpenID Connect Core
// §3.1.3.2]
// [Token 2.1; threat 9]
describe('token: a code is good once, for its client, address and verifier [RFC 6749 §4.1.3] [55-61]', () => {
  const wrong: readonly [why: string, fields: Fields, refusal?: string][] = [
    ['another redirect_uri', { redirect_uri: 'http://127.0.0.1:10/callback' }, '400 invalid_grant'],
    [
      'another registered redirect_uri',
      { redirect_uri: 'http://127.0.0.1/callback' },
      '400 invalid_grant',
    ],
    ['a redirect_uri that only looks the same', { redirect_uri: `${notes.redirectUri}/` }],
    ['a redirect_uri in other letters', { redirect_uri: 'HTTPS://notes.example/callback' }],
    ['no redirect_uri [design 19]', { redirect_uri: undefined }, '400 invalid_request'],
    ['another verifier', { code_verifier: 'a'.repeat(43) }, '400 invalid_grant'],
    ['no verifier (CVE-2023-48228)', { code_verifier: undefined }, '400 invalid_grant'],
    ['an empty verifier', { code_verifier: '' }],
    ['a short verifier', { code_verifier: 'x' }, '400 invalid_request'],
    ['a verifier of 42 characters', { code_verifier: 'a'.repeat(42) }],
    ['a verifier of 129 characters', { code_verifier: 'a'.repeat(129) }],
    ['the challenge as verifier', { code_verifier: undefined, code_challenge: 'x' }],
  ]
  for (const [why, fields, refusal] of wrong) {
    // [RFC 7636 §4.1; RFC 7636 §4.4; RFC 7636 §4.5; RFC 7636 §4.6]
    it(`refuses ${why} [55]`, async () => {
      const { form } = await obtainCode(service.url)
      const answer = await token({ ...form, ...fields })
      expectRefusal(answer, refusal ?? ['400 invalid_grant', '400 invalid_request'])
      expect(answer.text).to.not.match(/access_token|id_token/)
    })
  }

  // [class wrong client]
  it('refuses a code of another client, which does not use it up (CVE-2026-28513) [59]', async () => {
    const { form } = await obtainCode(service.url)
    const { clientId: client_id, clientSecret: client_secret } = portal
    expectRefusal(await token({ ...form, client_id, client_secret }), '400 invalid_grant')
    expect((await token(form)).status).to.equal(200)
  })

  // [RFC 6749 §10.5; RFC 9700 §4.2.4; OpenID Connect Core §3.1.3.2]
  it('ends the tokens of the first use when a code comes again later, not within seconds [RFC 6749 §4.1.2; design 11] [57]', async () => {
    const { form, accessToken, refreshToken } = await obtainTokens(service.url)
    expect((await userinfo(bearer(accessToken))).status).to.equal(200)
    expectRefusal(await token(form), '400 invalid_grant')
    expect((await userinfo(bearer(accessToken))).status, 'a page ran its callback twice').to.equal(
      200,
    )
    expect((await refresh(service.url, refreshToken)).status).to.equal(200)
    laterMs = 6_000
    expectRefusal(await token(form), '400 invalid_grant')
    laterMs = 0
    expect((await userinfo(bearer(accessToken))).status).to.equal(401)
    expectRefusal(await refresh(service.url, refreshToken), '400 invalid_grant')
  })

  // [RFC 6749 §10.10]
  it('answers expired, unknown, shortened, lengthened and altered codes in the same words [59]', async () => {
    const { form, code } = await obtainCode(service.url)
    const last = code.at(-1) === 'A' ? 'B' : 'A'
    const answers = []
    for (const altered of [
      'x'.repeat(43),
      code.slice(0, -1),
      `${code}A`,
      code.slice(0, -1) + last,
      code.toUpperCase(),
      ` ${code}`,
      `${code}\0`,
      'x'.repeat(10_000),
    ]) {
      answers.push(await token({ ...form, code: altered }))
    }
    const clock = Date.now
    Date.now = () => clock() + 62_000
    try {
      answers.push(await token(form))
    } finally {
      Date.now = clock
    }
    for (const answer of answers) expectRefusal(answer, '400 invalid_grant')
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1)
  })

  it('a failed client authentication does not use the code up [61]', async () => {
    const { form } = await obtainCode(service.url, asPortal)
    const { clientSecret: client_secret } = portal
    for (const fields of [{ client_secret: 'wrong' }, {}]) {
      expectRefusal(await token({ ...form, ...fields }), '401 invalid_client')
    }
    const refused = await token(form, basic(portal.clientId, 'wrong'))
    expectRefusal(refused, '401 invalid_client')
    expect(refused.headers.get('www-authenticate')).to.match(/^Basic /)
    expect((await token({ ...form, client_secret })).status).to.equal(200)
  })
})

describe('token: client authentication [RFC 6749 §2.3] [63, 65]', () => {
  const { clientId: client_id, clientSecret: client_secret } = portal
  const attempt = { grant_type: 'refresh_token', refresh_token: 'x' }
  const base64 = (value: string) => Buffer.from(value).toString('base64')

  for (const [why, value] of [
    ['no colon', `Basic ${base64('no-colon')}`],
    ['no base64', 'Basic %%%'],
    ['a broken percent sign', `Basic ${base64('a%zz:b%')}`],
    ['nothing', 'Basic '],
    ['only a colon', `Basic ${base64(':')}`],
    ['no client', `Basic ${base64(':secret')}`],
    ['no secret', `Basic ${base64('northlight-portal:')}`],
    ['bytes that are no text', `Basic ${Buffer.from([0xff, 0xfe, 0x3a, 0xff]).toString('base64')}`],
    ['another scheme', 'Bearer abc'],
    ['Digest', 'Digest username="x"'],
    ['three words', `Basic ${base64('a:b')} more`],
  ] as const) {
    it(`answers Basic with ${why} as a refusal [63]`, async () => {
      const answer = await token(attempt, ['Authorization', value])
      expectRefusal(answer, ['400 invalid_request', '401 invalid_client'])
    })
  }

  // [RFC 6749 §3.2.1; RFC 9700 §2.5; OpenID Connect Core §3.1.3.1]
  // [Token 2.3; Authentication 2; threat 11]
  it('a confidential client without its secret, and a public one with a secret, are invalid_client [65]', async () => {
    expectRefusal(await token({ ...attempt, client_id }), '401 invalid_client')
    const asNotes = { ...attempt, client_id: notes.clientId }
    expectRefusal(await token({ ...asNotes, client_secret: 'x' }), '401 invalid_client')
    expectRefusal(await token(attempt, basic(notes.clientId, 'x')), '401 invalid_client')
  })

  // [RFC 6749 §2.3.1]
  it('no constant of the service is the secret of a client', async () => {
    for (const guess of ['compared-by-digest', '', ' ', 'undefined', 'null', `${client_secret} `]) {
      const answer = await token({ ...attempt, client_id, client_secret: guess })
      expectRefusal(answer, '401 invalid_client')
    }
  })

  // [RFC 6749 §2.3]
  it('refuses a client that authenticates twice, or as two', async () => {
    const twice = await token(
      { ...attempt, client_id, client_secret },
      basic(client_id, client_secret),
    )
    expectRefusal(twice, '400 invalid_request')
    const two = await token(
      { ...attempt, client_id: notes.clientId },
      basic(client_id, client_secret),
    )
    expectRefusal(two, '400 invalid_request')
  })

  it('an unknown client is told the same as one with a wrong secret', async () => {
    const wrong = await token({ ...attempt, client_id, client_secret: 'wrong' })
    for (const unknown of ['nobody', '__proto__', 'x'.repeat(3000), "' or 1=1 --"]) {
      const answer = await token({ ...attempt, client_id: unknown, client_secret: 'wrong' })
      expect(answer.text).to.equal(wrong.text)
      expect(answer.status).to.equal(wrong.status)
    }
  })

  it('takes no assertion and no client of another kind', async () => {
    const assertion = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'a.b.c',
    }
    const answer = await token({ ...attempt, client_id, ...assertion })
    expectRefusal(answer, ['400 invalid_request', '401 invalid_client'])
    const server = await token({ ...attempt, ...asResourceServer })
    expectRefusal(server, ['400 unauthorized_client', '400 invalid_request'])
  })

  for (const grant of [
    'password',
    'client_credentials',
    'implicit',
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:saml2-bearer',
    'AUTHORIZATION_CODE',
    '__proto__',
    'constructor',
    'toString',
  ]) {
    // [RFC 6749 §4.5; RFC 9700 §2.4; What the service does 16]
    it(`the grant type ${grant} is unsupported (design 25)`, async () => {
      const fields = { grant_type: grant, client_id, client_secret, username: 'x', password: 'y' }
      expectRefusal(await token(fields), '400 unsupported_grant_type')
    })
  }
})

describe('token: refresh [RFC 6749 §6] [67]', () => {
  // [RFC 6749 §6; RFC 6749 §10.4; OpenID Connect Core §12.1]
  it('refuses the token of another client, and of another kind, without a change', async () => {
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    const { clientId: client_id, clientSecret: client_secret } = portal
    const stolen = await refresh(service.url, refreshToken, { client_id, client_secret })
    expectRefusal(stolen, '400 invalid_grant')
    const unknown = await refresh(service.url, refreshToken, { client_id: 'nobody' })
    expectRefusal(unknown, '401 invalid_client')
    expectRefusal(await refresh(service.url, accessToken), '400 invalid_grant')
    expect((await refresh(service.url, refreshToken)).status).to.equal(200)
  })

  // [RFC 6749 §10.4; RFC 9700 §4.14.2]
  it('refuses shortened, lengthened and altered tokens (CVE-2026-27840)', async () => {
    const { refreshToken } = await obtainTokens(service.url)
    for (const altered of alterations(refreshToken)) {
      expectRefusal(await refresh(service.url, altered), [
        '400 invalid_grant',
        '400 invalid_request',
      ])
    }
    expect((await refresh(service.url, refreshToken)).status).to.equal(200)
  })
})

/** Everything that is nearly a token. */
function alterations(value: string): string[] {
  const last = value.at(-1) === 'A' ? 'B' : 'A'
  return [
    ...[1, 2, 10, 21, 42].map((removed) => value.slice(0, -removed)),
    value.slice(1),
    `${value}A`,
    `${value}=`,
    value.slice(0, -1) + last,
    value.toLowerCase() === value ? `${value}x` : value.toLowerCase(),
    [...value].reverse().join(''),
    `${value.slice(0, 20)}%${value.slice(21)}`,
    '*',
    '%',
    '_'.repeat(43),
  ]
}

describe('UserInfo (RFC 6750) [77-81]', () => {
  it('says of each of several people who come at the same moment who they are, and of no other (CVE-2026-82843) [169]', async () => {
    const people = [sam, noor, olivia]
    const turns = [0, 1, 2, 0, 1, 2, 0, 1, 2]
    const codes = await Promise.all(
      turns.map(async (who) => await getCode(service.url, {}, people[who])),
    )
    const answers = await Promise.all(codes.map(async (code) => await exchange(service.url, code)))
    const said = await Promise.all(
      answers.map(async ({ body }) => [
        String(decodeJwt(body.id_token).sub),
        (await userinfo(bearer(body.access_token))).body.sub,
      ]),
    )
    const ids = ['per_sam', 'per_noor', 'per_olivia']
    expect(said).to.deep.equal(turns.map((who) => [ids[who], ids[who]]))
  })

  it('takes no token that comes as something else than a bearer token (CVE-2026-28699) [165]', async () => {
    const { accessToken } = await obtainTokens(service.url)
    const query = encodeURIComponent('{ viewer { id } }')
    for (const headers of [
      ['Authorization', `Basic ${btoa(`${accessToken}:x-oauth-basic`)}`],
      ['Authorization', `Basic ${btoa(`x:${accessToken}`)}`],
      ['Authorization', `OAuth ${accessToken}`],
      ['Authorization', `DPoP ${accessToken}`],
      ['Cookie', `access_token=${accessToken}`],
      ['X-Forwarded-Access-Token', accessToken],
      ['X-Access-Token', accessToken],
    ]) {
      const said = headers.join(' ').slice(0, 40)
      expect((await userinfo(headers)).status, said).to.be.oneOf([400, 401])
      const path = `${paths.graphql}?query=${query}`
      expect((await send(service.url, { path, headers })).status, said).to.equal(401)
    }
  })

  it('refuses malformed headers without failing', async () => {
    const { accessToken } = await obtainTokens(service.url)
    for (const value of [
      'Bearer',
      'Bearer ',
      `Bearer ${accessToken} ${accessToken}`,
      `Bearer ${accessToken},`,
      `Token ${accessToken}`,
      `Basic ${accessToken}`,
      accessToken,
      `Bearer "${accessToken}"`,
      'Bearer é',
    ]) {
      const answer = await userinfo(['Authorization', value])
      expect(answer.status, value).to.be.oneOf([400, 401])
    }
    const twice = ['Authorization', `Bearer x`, 'Authorization', `Bearer ${accessToken}`]
    expect((await userinfo(twice)).status).to.be.oneOf([400, 401])
  })

  // [RFC 6749 §10.3; RFC 6749 §10.10; RFC 6750 §5.2; RFC 6750 §3.1]
  it('refuses shortened, lengthened, altered and random tokens as invalid_token (CVE-2026-27840)', async () => {
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    const header = btoa('{"alg":"none"}').replaceAll('=', '')
    const unsigned = `${header}.${btoa('{"sub":"per_sam"}').replaceAll('=', '')}.`
    for (const wrong of [...alterations(accessToken), refreshToken, unsigned]) {
      const answer = await userinfo(bearer(wrong))
      expect(answer.status, wrong).to.be.oneOf([400, 401])
      expect(answer.headers.get('www-authenticate')).to.include('resource_metadata=')
    }
    expect((await userinfo(bearer(accessToken))).status).to.equal(200)
  })

  it('random tokens never fail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme-ascii', maxLength: 100 }), async (value) => {
        const answer = await userinfo(['Authorization', `Bearer ${value}`])
        expect(answer.status).to.be.oneOf([400, 401])
      }),
      { numRuns: 100 },
    )
  })
})

describe('revocation (RFC 7009) [83, 85]', () => {
  const revoke = async (fields: Fields) => await postForm(service.url + paths.revocation, fields)
  const { clientId: client_id } = notes

  // [RFC 7009 §2.1; RFC 7009 §2.2.1; Revocation 1]
  it('without a token is invalid_request, without a client too, and an unknown client is 401 [83]', async () => {
    expectRefusal(await revoke({ client_id }), '400 invalid_request')
    expectRefusal(await revoke({ token: 'x' }), '400 invalid_request')
    expectRefusal(await revoke({ client_id, token: ['x', 'y'] }), '400 invalid_request')
    expectRefusal(await revoke({ token: 'x', client_id: 'nobody' }), '401 invalid_client')
    const secretless = { token: 'x', client_id: portal.clientId }
    expectRefusal(await revoke(secretless), '401 invalid_client')
  })

  // [RFC 7009 §2.2; RFC 7009 §5]
  it('unknown, altered and foreign tokens and unknown hints are 200 with nothing in it, and change nothing (design 14) [83]', async () => {
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    const stranger = { client_id: portal.clientId, client_secret: portal.clientSecret }
    const attempts: Fields[] = [
      ...alterations(refreshToken).map((altered) => ({ client_id, token: altered })),
      { client_id, token: 'x'.repeat(5000) },
      { client_id, token: 'x', token_type_hint: 'nothing' },
      { ...stranger, token: accessToken },
      { ...stranger, token: refreshToken, token_type_hint: 'refresh_token' },
      { ...stranger, token: refreshToken, token_type_hint: 'access_token' },
    ]
    for (const attempt of attempts) {
      const answer = await revoke(attempt)
      expect([answer.status, answer.text]).to.deep.equal([200, '{}'])
    }
    expect((await userinfo(bearer(accessToken))).status).to.equal(200)
    expect((await refresh(service.url, refreshToken)).status).to.equal(200)
  })

  // [RFC 7009 §2; RFC 7009 §2.1]
  it('a public client ends its refresh token, and its access tokens end at once (CVE-2018-1000211) [85]', async () => {
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    expect((await revoke({ client_id, token: refreshToken })).status).to.equal(200)
    expect((await userinfo(bearer(accessToken))).status).to.equal(401)
    expectRefusal(await refresh(service.url, refreshToken), '400 invalid_grant')
    const seen = (await introspect({ ...asResourceServer, token: accessToken })).body
    expect(seen).to.deep.equal({ active: false })
  })
})

describe('introspection (RFC 7662) [87, 89]', () => {
  // [RFC 7662 §2.3]
  it('without client authentication is 401 and says nothing of the token [87]', async () => {
    const { accessToken } = await obtainTokens(service.url)
    for (const [fields, headers] of [
      [{ token: accessToken }, []],
      [{ token: accessToken }, bearer(accessToken)],
      [{ token: accessToken, client_id: resourceServer.clientId }, []],
      [{ ...asResourceServer, token: accessToken, client_secret: 'wrong' }, []],
      [{ token: accessToken }, basic(resourceServer.clientId, 'wrong')],
    ] as const) {
      const answer = await introspect(fields, headers)
      expect(answer.status).to.equal(401)
      expect(answer.text).to.not.match(/active|per_sam/)
    }
  })

  // [RFC 7662 §2.2]
  it('says of a token of either kind what it is good for [89]', async () => {
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    for (const value of [accessToken, refreshToken]) {
      for (const token_type_hint of [undefined, 'access_token', 'refresh_token', 'nothing']) {
        const seen = (await introspect({ ...asResourceServer, token: value, token_type_hint })).body
        expect(seen).to.include({ active: true, client_id: notes.clientId, sub: 'per_sam' })
        expect(seen['exp']).to.be.a('number')
      }
    }
  })

  // [RFC 7662 §2.2; RFC 7662 §4]
  it('everything else is inactive, and nothing more is said', async () => {
    const { accessToken, code } = await obtainTokens(service.url)
    for (const value of [...alterations(accessToken), code, 'x'.repeat(5000), '\u0000', 'é']) {
      const answer = await introspect({ ...asResourceServer, token: value })
      expect(answer.status, value).to.be.oneOf([200, 400])
      if (answer.status === 200) expect(answer.body).to.deep.equal({ active: false })
    }
  })
})

// [RFC 7009 §5]
describe('client endpoints: size and shape of a request are bounded [121]', () => {
  const endpoints = [paths.token, paths.revocation, paths.introspection]

  for (const path of endpoints) {
    it(`${path} refuses a body of 1 MB and a packed body`, async () => {
      const huge = await postForm(service.url + path, { token: 'x'.repeat(1_000_000) })
      expect(huge.status).to.be.oneOf([400, 401, 413])
      const packed = gzipSync('grant_type=x').toString('latin1')
      const zipped = await send(service.url, {
        ...{ method: 'POST', path, body: packed },
        headers: [...FORM, 'Content-Encoding', 'gzip'],
      })
      expect(zipped.status).to.be.oneOf([400, 401, 415])
      expect((await send(service.url, { path: paths.health })).status).to.equal(200)
    })

    it(`${path} answers broken and odd forms with a refusal`, async () => {
      for (const body of [
        '%',
        '%zz=%zz',
        '&&&&',
        '=',
        'token',
        '\0',
        'a=1&'.repeat(5000),
        '__proto__=x&constructor=y&hasOwnProperty=z',
        'client_id=%ff&token=%ff&grant_type=%ff',
        'grant_type=a;code=b',
      ]) {
        const answer = await send(service.url, { method: 'POST', path, headers: FORM, body })
        expect(answer.status, body).to.be.within(400, 415)
      }
    })
  }

  it('a request with two lengths, or both length and chunks, is refused before it is read', async () => {
    const start = `POST ${paths.token} HTTP/1.1\r\nHost: 127.0.0.1\r\n`
    const smuggled = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
    for (const headers of [
      'Content-Length: 5\r\nContent-Length: 60\r\n',
      'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n',
      'Transfer-Encoding: chunked, identity\r\n',
      'Content-Length: -1\r\n',
      'Content-Length : 5\r\n',
    ]) {
      const answer = await sendBytes(service.url, `${start}${headers}\r\n0\r\n\r\n${smuggled}`)
      expect(answer, headers).to.match(/^HTTP\/1\.1 400/)
      expect(answer, headers).to.not.include('alive')
    }
  })

  it('random forms never fail and give no token', async () => {
    const name = fc.constantFrom(
      ...['grant_type', 'code', 'redirect_uri', 'client_id', 'code_verifier', 'client_secret'],
      ...['refresh_token', 'scope', 'resource', 'token', 'token_type_hint', 'client_assertion'],
    )
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 50 }),
      fc.constantFrom(notes.clientId, 'authorization_code', 'refresh_token', service.url, ''),
    )
    const endpoint = fc.constantFrom(...endpoints)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value)), endpoint, async (pairs, path) => {
        const body = new URLSearchParams(pairs).toString()
        const answer = await send(service.url, { method: 'POST', path, headers: FORM, body })
        expect(answer.status).to.be.below(500)
        expect(answer.text).to.not.match(/access_token|"active":true/)
      }),
      { numRuns: 200 },
    )
  })
})
