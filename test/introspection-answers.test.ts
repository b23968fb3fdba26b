import { expect } from 'chai'

import { CLIENT_NOT_AUTHENTICATED } from '../src/oauth/clients/authenticate-client.ts'
import { paths } from '../src/platform/http/paths.ts'
import { asClaude, asPortal, asResourceServer, obtain, type Tokens } from './support/client.ts'
import { bindTo, expiredToken } from './support/families.ts'
import { notes, olivia, portal, startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
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
  type WireRequest,
} from './support/wire.ts'

/**
 * Every answer of introspection, header by header. The table was written down while the engine
 * answered there by itself; where ours differs, the block says what for.
 */
interface Held {
  readonly bound: Tokens
  /** Of a plain sign-in. */
  readonly unbound: Tokens
  readonly bare: Tokens
  readonly confidential: Tokens
  readonly foreign: string
  readonly expired: string
}

interface Expected {
  readonly status: number
  /** `WWW-Authenticate`, after the realm. */
  readonly challenge?: string
  /** Without `exp`, `iat` and `iss`, which every active token has. */
  readonly body: object
  /** `Access-Control-Allow-Origin`, where it is not `*`. */
  readonly open?: string | null
}

type Row = readonly [title: string, request: (held: Held) => WireRequest, expected: Expected]

const path = paths.introspection
const asNotes = { client_id: notes.clientId }
const { client_id: rsId, client_secret: rsSecret } = asResourceServer
const asTheServer = basic(rsId, rsSecret)
const page = 'https://app.example'
const origin = ['Origin', page]

const post = (fields: Fields, headers: readonly string[] = []): WireRequest => ({
  ...{ method: 'POST', path, headers: [...FORM, ...headers] },
  body: encode(fields),
})
const asked = (token: string | undefined, fields: Fields = {}) =>
  post({ ...asResourceServer, token, ...fields })
const raw = (text: string) => ['Authorization', `Basic ${Buffer.from(text).toString('base64')}`]

const samAtNotes = {
  ...{ active: true, sub: 'per_sam', org_id: 'sit_northlight', roles: ['student'] },
  ...{ client_id: notes.clientId, scope: 'openid profile email account:read' },
}
const samAtNotesBarely = {
  ...{ active: true, sub: 'per_sam' },
  ...{ client_id: notes.clientId, scope: 'openid' },
}
const oliviaAtClaude = {
  ...{ active: true, sub: 'per_olivia' },
  ...{ client_id: asClaude.client_id, scope: 'openid profile' },
}
const ofAccess = { token_type: 'Bearer' }
const toThisOrigin = { ...ofAccess, aud: '{base}' }

const told = (body: object): Expected => ({ status: 200, body })
const inactive = told({ active: false })
const malformed = (error_description: string): Expected => ({
  ...{ status: 400, body: { error: 'invalid_request', error_description } },
})
const twice = (name: string) => malformed(`'${name}' parameter must not be provided twice`)
const missing = malformed("missing required parameter 'token'")
/** Nobody authenticated: whatever was sent instead, the caller is told how. */
const nobody: Expected = {
  ...{ status: 401, challenge: '' },
  body: { error: 'invalid_client', error_description: 'introspection needs client authentication' },
}
/** Somebody did, and not as they must; a challenge answers an Authorization header only. */
const wrong: Expected = {
  status: 401,
  body: { error: 'invalid_client', error_description: CLIENT_NOT_AUTHENTICATED },
}
const wrongByBasic: Expected = {
  ...wrong,
  challenge: `, error="invalid_client", error_description="${CLIENT_NOT_AUTHENTICATED}"`,
}

const asTheEngine: readonly Row[] = [
  [
    'an access token',
    (held) => asked(held.bound.access_token),
    told({ ...samAtNotes, ...toThisOrigin }),
  ],
  ['a refresh token', (held) => asked(held.bound.refresh_token), told(samAtNotes)],
  [
    'an access token that is called a refresh token',
    (held) => asked(held.bound.access_token, { token_type_hint: 'refresh_token' }),
    told({ ...samAtNotes, ...toThisOrigin }),
  ],
  [
    'a refresh token that is called an access token',
    (held) => asked(held.bound.refresh_token, { token_type_hint: 'access_token' }),
    told(samAtNotes),
  ],
  [
    'a token that is bound to nothing',
    (held) => asked(held.unbound.access_token),
    told({ ...oliviaAtClaude, ...ofAccess }),
  ],
  [
    'a refresh token that is bound to nothing',
    (held) => asked(held.unbound.refresh_token),
    told(oliviaAtClaude),
  ],
  [
    'a token without profile',
    (held) => asked(held.bare.access_token),
    told({ ...samAtNotesBarely, ...toThisOrigin }),
  ],
  [
    'a public client, its own token',
    (held) => post({ ...asNotes, token: held.bound.access_token }),
    told({ ...samAtNotes, ...toThisOrigin }),
  ],
  [
    'a public client, another token',
    (held) => post({ ...asNotes, token: held.unbound.access_token }),
    inactive,
  ],
  [
    'a confidential client, its own token',
    (held) => post({ ...withoutAddress(asPortal), token: held.confidential.access_token }),
    told({ ...samAtNotes, client_id: portal.clientId, ...toThisOrigin }),
  ],
  [
    'a confidential client, another token',
    (held) => post({ ...withoutAddress(asPortal), token: held.bound.access_token }),
    inactive,
  ],
  [
    'a confidential client, another refresh token',
    (held) => post({ ...withoutAddress(asPortal), token: held.bound.refresh_token }),
    inactive,
  ],
  [
    'an access token of a confidential client',
    (held) => asked(held.confidential.access_token),
    told({ ...samAtNotes, client_id: portal.clientId, ...toThisOrigin }),
  ],
  [
    'a refresh token of a confidential client',
    (held) => asked(held.confidential.refresh_token),
    told({ ...samAtNotes, client_id: portal.clientId }),
  ],
  ['an expired token', (held) => asked(held.expired), inactive],
  ['an unknown token', () => asked('nonsense'), inactive],
  ['a long token', () => asked('x'.repeat(2000)), inactive],
  ['a token of odd characters', () => asked('ä ö'), inactive],
  ['the form of a JWT', () => asked('e30.e30.x'), inactive],
  ['a token that is a NUL', () => asked('\0'), inactive],
  ['what looks like a JWT', (held) => asked(held.bound.id_token), inactive],
  [
    'what looks like a JWT, and a wrong secret',
    (held) => asked(held.bound.id_token, { client_secret: 'x' }),
    wrong,
  ],
  ['no token', () => asked(undefined), missing],
  ['an empty token', () => asked(''), missing],
  ['two tokens', () => post({ ...asResourceServer, token: ['a', 'b'] }), twice('token')],
  ['two hints', () => asked('x', { token_type_hint: ['a', 'b'] }), twice('token_type_hint')],
  ['two tokens and no client', () => post({ token: ['a', 'b'] }), nobody],
  ['no client', () => post({ token: 'x' }), nobody],
  ['nothing at all', () => ({ method: 'POST', path }), nobody],
  ['an unknown client', () => post({ token: 'x', client_id: 'nobody' }), wrong],
  ['the address of no document', () => post({ token: 'x', client_id: `${page}/client` }), wrong],
  ['a client that cannot be', () => post({ token: 'x', client_id: '\0é' }), wrong],
  ['no secret', () => post({ token: 'x', client_id: rsId }), wrong],
  ['an empty secret', () => asked('x', { client_secret: '' }), wrong],
  ['a wrong secret', () => asked('x', { client_secret: 'x' }), wrong],
  [
    'a secret of a public client',
    () => post({ ...asNotes, token: 'x', client_secret: 'x' }),
    wrong,
  ],
  ['a secret of nobody', () => post({ token: 'x', client_secret: 'x' }), nobody],
  ['two clients', () => post({ token: 'x', client_id: ['a', 'b'] }), nobody],
  ['two secrets', () => asked('x', { client_secret: ['a', 'b'] }), nobody],
  [
    'Basic',
    (held) => post({ token: held.bare.access_token }, asTheServer),
    told({ ...samAtNotesBarely, ...toThisOrigin }),
  ],
  [
    'Basic, and the client by name',
    () => post({ token: 'x', client_id: rsId }, asTheServer),
    inactive,
  ],
  [
    'Basic, and another client by name',
    () => post({ token: 'x', client_id: 'x' }, asTheServer),
    nobody,
  ],
  ['Basic, and a secret', () => post({ ...asResourceServer, token: 'x' }, asTheServer), nobody],
  ['Basic in any case', () => post({ token: 'x' }, lowerCase(asTheServer)), inactive],
  ['Basic, a wrong secret', () => post({ token: 'x' }, basic(rsId, 'x')), wrongByBasic],
  ['Basic, an unknown client', () => post({ token: 'x' }, basic('nobody', 'x')), wrongByBasic],
  ['Basic, a public client', () => post({ token: 'x' }, basic(notes.clientId, 'x')), wrongByBasic],
  ['Basic, a plus for a space', () => post({ token: 'x' }, raw('a+b:x')), wrongByBasic],
  ['Basic without a colon', () => post({ token: 'x' }, raw('abc')), nobody],
  ['Basic without a secret', () => post({ token: 'x' }, raw(`${rsId}:`)), nobody],
  ['Basic without a client', () => post({ token: 'x' }, raw(':x')), nobody],
  ['Basic that is not encoded', () => post({ token: 'x' }, raw(`${rsId}:%zz`)), nobody],
  ['Basic with odd characters', () => post({ token: 'x' }, raw(`${rsId}:é`)), nobody],
  ['Basic that is no base64', () => post({ token: 'x' }, ['Authorization', 'Basic %%%']), nobody],
  ['Basic alone', () => post({ token: 'x' }, ['Authorization', 'Basic']), nobody],
  ['a bearer token', (held) => post({ token: 'x' }, bearer(held.bound.access_token)), nobody],
  [
    'a JWT assertion, which is not served',
    () => post({ token: 'x', client_assertion: 'x.y.z', client_assertion_type: 'x' }),
    nobody,
  ],
  [
    'in the address',
    () => ({ ...post({}), path: `${path}?${encode({ ...asResourceServer, token: 'x' })}` }),
    nobody,
  ],
  [
    'to somebody who reads pages',
    () => post({ token: 'x', client_id: 'nobody' }, ['Accept', 'text/html']),
    wrong,
  ],
  [
    'a page, a public client',
    (held) => post({ ...asNotes, token: held.bound.access_token }, origin),
    { ...told({ ...samAtNotes, ...toThisOrigin }), open: page },
  ],
  [
    'a page, an unknown client',
    () => post({ token: 'x', client_id: 'nobody' }, origin),
    { ...wrong, open: page },
  ],
]

const notForPages: Expected = {
  ...malformed(
    'the client has a secret, so pages of other origins must not use it; use a public client',
  ),
  open: null,
}

const betterThanTheEngine: Readonly<Record<string, readonly Row[]>> = {
  'says 415 and 413 of a body that it does not read, whoever sent it': [
    [
      'JSON',
      () => ({
        ...{ method: 'POST', path, body: '{"token":"x"}' },
        headers: ['Content-Type', 'application/json', ...asTheServer],
      }),
      { ...malformed('the request body must be application/x-www-form-urlencoded'), status: 415 },
    ],
    [
      'a packed form',
      () => post({ token: 'x' }, ['Content-Encoding', 'gzip']),
      { ...malformed('the request body must be sent without compression'), status: 415 },
    ],
    [
      'more than 56 KiB',
      () => asked('x'.repeat(57 * 1024)),
      { ...malformed('the request body is larger than 57344 bytes'), status: 413 },
    ],
  ],
  'calls inactive what works nowhere': [
    [
      'a token of another origin, which the engine told of',
      (held) => asked(held.foreign),
      inactive,
    ],
  ],
  'repeats nothing that a caller sent': [
    [
      'a page, a confidential client',
      (held) => post({ ...asResourceServer, token: held.bound.access_token }, origin),
      notForPages,
    ],
    [
      'a page, a confidential client with a wrong secret',
      () => post({ ...asResourceServer, client_secret: 'x', token: 'x' }, origin),
      notForPages,
    ],
  ],
  'refuses what is ambiguous': [
    [
      'two Authorization headers, of which the engine read the first',
      () => post({ token: 'x' }, [...asTheServer, ...asTheServer]),
      nobody,
    ],
  ],
}

// [RFC 7662 §2.1; RFC 7662 §2.2; RFC 7662 §2.3; RFC 7662 §4; RFC 7662 §5; Discovery 2.2]
describe('the answers of introspection [design 13]', () => {
  const service = sharedService()
  let held: Held

  before(async () => {
    const { url, service: running } = service()
    const bound = await obtain(url)
    const unbound = await obtain(url, {
      authorization: { ...asClaude, scope: 'openid profile', resource: undefined },
      token: { ...asClaude, resource: undefined },
      person: olivia,
    })
    const bare = await obtain(url, { authorization: { scope: 'openid' } })
    const confidential = await obtain(url, { authorization: asPortal, token: asPortal })
    const foreign = (await obtain(url)).access_token
    await bindTo('https://elsewhere.example', foreign.split('.')[0] ?? '', running.stores.database)
    const expired = await expiredToken(bound.access_token, service())
    held = { bound, unbound, bare, confidential, foreign, expired }
  })

  const answers = (rows: readonly Row[]) => {
    for (const [title, request, expected] of rows) {
      it(title, async () => {
        expectAnswer(await send(service().url, request(held)), expected)
      })
    }
  }

  describe("are those of the engine's own", () => answers(asTheEngine))

  for (const [why, rows] of Object.entries(betterThanTheEngine)) {
    describe(why, () => answers(rows))
  }

  it('to a preflight name the method', async () => {
    const headers = [...origin, 'Access-Control-Request-Method', 'POST']
    const answer = await send(service().url, { method: 'OPTIONS', path, headers })
    expect(answer.status).to.equal(204)
    expect(answer.headers.get('access-control-allow-methods')).to.equal('POST')
    expect(answer.headers.get('access-control-allow-origin')).to.equal(page)
  })

  for (const [method, status] of [
    ['OPTIONS', 404],
    ['GET', 405],
    ['HEAD', 405],
    ['PUT', 405],
  ] as const) {
    it(`to ${method} are ${status}`, async () => {
      expect((await send(service().url, { method, path })).status).to.equal(status)
    })
  }

  it('to a client that was deleted are 401, whatever secret it has', async () => {
    await using changing = await startService()
    const { kysely } = changing.service.stores.database
    await kysely.updateTable('oauth_application').set({ deleted_at: 1 }).execute()
    for (const fields of [asNotes, withoutAddress(asPortal), asResourceServer]) {
      const answer = await postForm(changing.url + path, { ...fields, token: 'x' })
      expect(refusalOf(answer)).to.equal('401 invalid_client')
    }
  })

  function expectAnswer(answer: Answer, { status, challenge, body, open = '*' }: Expected) {
    const { url } = service()
    expect(answer.status).to.equal(status)
    expect(timeless(answer)).to.deep.equal(
      JSON.parse(JSON.stringify(body).replaceAll('{base}', url)),
    )
    expect(answer.headers.get('www-authenticate')).to.equal(
      challenge === undefined ? null : `Basic realm="${url}"${challenge}`,
    )
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.headers.get('content-type')).to.equal('application/json; charset=utf-8')
    expect(answer.headers.get('vary')).to.equal('Origin')
    expect(answer.headers.get('access-control-allow-origin')).to.equal(open)
    expect(answer.headers.get('access-control-expose-headers')).to.equal('WWW-Authenticate')
  }

  /** The body without what differs from one run to the next, once that was looked at. */
  function timeless({ body }: Answer): object {
    if (body.active !== true) return body
    const { exp, iat, iss, ...others } = body
    expect(iss).to.equal(service().url)
    expect(exp - iat).to.be.greaterThan(0)
    return others
  }
})

/** A client as it names itself where nobody is sent anywhere. */
function withoutAddress({ redirect_uri: _, ...fields }: typeof asPortal): Fields {
  return fields
}

function lowerCase([name = '', value = '']: readonly string[]): readonly string[] {
  return [name, value.replace('Basic', 'basic')]
}
