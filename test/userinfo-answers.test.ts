import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import { asClaude, asPortal, obtain } from './support/client.ts'
import { bindTo, expiredToken } from './support/families.ts'
import { olivia } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import {
  type Answer,
  bearer,
  encode,
  type Fields,
  FORM,
  send,
  type WireRequest,
} from './support/wire.ts'

/**
 * Every answer of UserInfo, header by header. The table was written down while the engine answered
 * there by itself; where ours differs, the block says what for.
 */
interface Held {
  readonly bound: string
  /** Of a plain sign-in that asked for claims by name. */
  readonly unbound: string
  readonly withoutOpenid: string
  readonly confidential: string
  readonly foreign: string
  readonly expired: string
  readonly refresh: string
}

interface Expected {
  readonly status: number
  /** What `WWW-Authenticate` has between the realm and the address of the metadata. */
  readonly challenge?: string
  readonly body: object | string
  /** `Access-Control-Allow-Origin`, where it is not `*`. */
  readonly open?: string | null
}

type Row = readonly [title: string, request: (held: Held) => WireRequest, expected: Expected]

const sam = {
  sub: 'per_sam',
  name: 'Sam Student',
  picture: 'https://northlight.example/people/sam.jpg',
  org_id: 'sit_northlight',
  roles: ['student'],
  email: 'sam@northlight.example',
}
const samByEmail = { sub: sam.sub, email: sam.email }
const page = 'https://app.example'
const origin = ['Origin', page]
const path = paths.userinfo

const get = (headers: readonly string[], query = ''): WireRequest => ({
  path: path + query,
  headers,
})
const post = (fields: Fields, headers: readonly string[] = [], query = ''): WireRequest => ({
  ...{ method: 'POST', path: path + query, headers: [...FORM, ...headers] },
  body: encode(fields),
})
const good = (body: object | string, open?: string): Expected => ({
  status: 200,
  body,
  ...(open !== undefined && { open }),
})
const nothing: Expected = {
  status: 401,
  challenge: '',
  body: { error: 'invalid_token', error_description: 'no access token provided' },
}
const refused = (status: number, error: string, description: string): Expected => ({
  status,
  challenge: `, error="${error}", error_description="${description}"`,
  body: { error, error_description: description },
})
const malformed = (description: string) => refused(400, 'invalid_request', description)
const invalid = refused(401, 'invalid_token', 'invalid token provided')
const lacking = (description: string, scope: string): Expected => {
  const { challenge, body } = refused(403, 'insufficient_scope', description)
  return {
    ...{ status: 403, challenge: `${challenge}, scope="${scope}"` },
    body: { ...(body as object), scope },
  }
}
const twoWays = malformed('access token must only be provided using one mechanism')
const inAddress = malformed('access tokens must not be provided via query parameter')
const noHeader = malformed('invalid authorization header value format')
const notFound = {
  error: 'not_found',
  error_description: 'no page or endpoint exists at this URL; check the URL',
}

const asTheEngine: readonly Row[] = [
  ['a bound token', (held) => get(bearer(held.bound)), good(sam)],
  [
    'an unbound token, with a claim that was asked for by name, and one that is unknown',
    (held) => get(bearer(held.unbound)),
    good({
      sub: 'per_olivia',
      name: 'Olivia Hartmann',
      picture: 'https://northlight.example/people/olivia.jpg',
      email: 'olivia@northlight.example',
    }),
  ],
  ['the scheme in any case', (held) => get(['Authorization', `bEARER ${held.bound}`]), good(sam)],
  ['POST, by header', (held) => post({}, bearer(held.bound)), good(sam)],
  [
    'POST without a body and a type',
    (held) => ({ method: 'POST', path, headers: bearer(held.bound) }),
    good(sam),
  ],
  [
    'POST of a body without a type, which is not read',
    (held) => ({ method: 'POST', path, headers: bearer(held.bound), body: 'access_token=x' }),
    good(sam),
  ],
  ['POST, by form', (held) => post({ access_token: held.bound }), good(sam)],
  [
    'POST, by form with a charset',
    (held) => ({
      ...post({ access_token: held.bound }),
      headers: ['Content-Type', 'application/x-www-form-urlencoded; charset=UTF-8'],
    }),
    good(sam),
  ],
  [
    'POST, by form and header',
    (held) => post({ access_token: held.bound }, bearer(held.bound)),
    twoWays,
  ],
  [
    'POST, by form twice',
    (held) => post({ access_token: [held.bound, held.bound] }),
    malformed("'access_token' parameter must not be provided twice"),
  ],
  ['POST, an empty token', () => post({ access_token: '' }), nothing],
  ['POST, nothing', () => post({}), nothing],
  ['GET, nothing', () => get([]), nothing],
  ['nothing, to somebody who reads pages', () => get(['Accept', 'text/html']), nothing],
  ['an empty header', () => get(['Authorization', '']), nothing],
  ['a token in the address', (held) => get([], `?access_token=${held.bound}`), inAddress],
  [
    'POST, a token in the address',
    (held) => post({}, [], `?access_token=${held.bound}`),
    inAddress,
  ],
  ['in address and header', (held) => get(bearer(held.bound), '?access_token=x'), twoWays],
  [
    'in the address twice',
    (held) => get(bearer(held.bound), '?access_token=x&access_token=y'),
    malformed("'access_token' parameter must not be provided twice"),
  ],
  ['the scheme alone', () => get(['Authorization', 'Bearer']), noHeader],
  ['the scheme and a space', () => get(['Authorization', 'Bearer ']), noHeader],
  ['two words', () => get(['Authorization', 'Bearer a b']), noHeader],
  ['one word', () => get(['Authorization', 'nonsense']), noHeader],
  [
    'another scheme',
    () => get(['Authorization', 'Basic eDp5']),
    malformed('authorization header scheme must be `Bearer`'),
  ],
  ['odd characters', () => get(bearer('"é"')), invalid],
  ['a long token', () => get(bearer('x'.repeat(5000))), invalid],
  ['an unknown token', () => get(bearer('nonsense')), invalid],
  [
    'an unknown token, to somebody who reads pages',
    () => get([...bearer('nonsense'), 'Accept', 'text/html']),
    invalid,
  ],
  [
    'an unknown token, to somebody who reads pictures',
    () => get([...bearer('nonsense'), 'Accept', 'image/png']),
    invalid,
  ],
  ['a refresh token', (held) => get(bearer(held.refresh)), invalid],
  ['a token of another origin', (held) => get(bearer(held.foreign)), invalid],
  ['an expired token', (held) => get(bearer(held.expired)), invalid],
  [
    'a token without openid',
    (held) => get(bearer(held.withoutOpenid)),
    lacking('access token missing openid scope', 'openid'),
  ],
  ['fewer scopes', (held) => get(bearer(held.bound), '?scope=openid%20email'), good(samByEmail)],
  [
    'fewer scopes, by form',
    (held) => post({ scope: 'openid email' }, bearer(held.bound)),
    good(samByEmail),
  ],
  [
    'POST with a scope in the address',
    (held) => post({}, bearer(held.bound), '?scope=x'),
    good(sam),
  ],
  [
    'scopes that the token lacks',
    (held) => get(bearer(held.bound), '?scope=openid%20admin%20x'),
    lacking('access token missing requested scope', 'admin x'),
  ],
  [
    'a scope that is none',
    (held) => get(bearer(held.bound), '?scope=%22'),
    malformed('scope contains invalid characters'),
  ],
  [
    'scope twice',
    (held) => get(bearer(held.bound), '?scope=openid&scope=email'),
    malformed("'scope' parameter must not be provided twice"),
  ],
  [
    'a page, for a public client',
    (held) => get([...bearer(held.bound), ...origin]),
    good(sam, page),
  ],
  [
    'a page without an origin',
    (held) => get([...bearer(held.bound), 'Origin', 'null']),
    good(sam, 'null'),
  ],
  ['a confidential client', (held) => get(bearer(held.confidential)), good(sam)],
  ['a page, an unknown token', () => get([...bearer('x'), ...origin]), { ...invalid, open: page }],
  ['a page, nothing', () => get(origin), { ...nothing, open: page }],
  ['HEAD', (held) => ({ ...get(bearer(held.bound)), method: 'HEAD' }), good('')],
  ['HEAD, nothing', () => ({ method: 'HEAD', path }), { ...nothing, body: '' }],
]

const betterThanTheEngine: Readonly<Record<string, readonly Row[]>> = {
  'says 415 and 413 of a body that it does not read, as our other endpoints do': [
    [
      'JSON',
      (held) => ({
        ...{ method: 'POST', path, body: '{}' },
        headers: ['Content-Type', 'application/json', ...bearer(held.bound)],
      }),
      unread(415, 'the request body must be application/x-www-form-urlencoded'),
    ],
    [
      'a packed form',
      () => post({ access_token: 'x' }, ['Content-Encoding', 'gzip']),
      unread(415, 'the request body must be sent without compression'),
    ],
    [
      'more than 56 KiB',
      () => post({ access_token: 'x'.repeat(57 * 1024) }),
      unread(413, 'the request body is larger than 57344 bytes'),
    ],
  ],
  'reads a header as RFC 6750 §2.1 has it': [
    ['two spaces', (held) => get(['Authorization', `Bearer  ${held.bound}`]), good(sam)],
  ],
  'refuses what is ambiguous': [
    [
      'two Authorization headers, of which the engine read the first',
      (held) => get([...bearer(held.bound), ...bearer(held.bound)]),
      malformed('there are several Authorization headers'),
    ],
    [
      'a token in the address twice, which was none with POST',
      (held) => post({}, [], `?access_token=${held.bound}&access_token=x`),
      inAddress,
    ],
  ],
  'always tells `sub` (OpenID Connect Core §5.3.2)': [
    [
      'also where the request names scopes without openid',
      (held) => get(bearer(held.bound), '?scope=email'),
      good(samByEmail),
    ],
  ],
  'speaks of no mechanism that is off, and repeats nothing that a caller sent': [
    [
      'DPoP',
      () => get(['Authorization', 'DPoP x']),
      malformed('authorization header scheme must be `Bearer`'),
    ],
    [
      'a page, for a confidential client',
      (held) => get([...bearer(held.confidential), ...origin]),
      {
        ...malformed(
          'the client has a secret, so pages of other origins must not use it; use a public client',
        ),
        open: null,
      },
    ],
  ],
}

function unread(status: number, error_description: string): Expected {
  return { status, body: { error: 'invalid_request', error_description } }
}

// [OpenID Connect Core §5.3; OpenID Connect Core §5.3.1; OpenID Connect Core §5.3.2; OpenID Connect Core §5.3.3]
// [RFC 6750 §2.2; RFC 6750 §2.3; RFC 6750 §3; RFC 6750 §3.1; RFC 6750 §5.3; RFC 9728 §5.1; UserInfo 1; Discovery 8]
// [RFC 9700 §2.3; RFC 9700 §4.3.2; RFC 9700 §4.10.2; RFC 6750 §2; Scopes 3]
describe('the answers of UserInfo [design 4]', () => {
  const service = sharedService()
  let held: Held

  before(async () => {
    const { url, service: running } = service()
    const { access_token: bound, refresh_token: refresh } = await obtain(url)
    const plain: Fields = { ...asClaude, scope: 'openid profile', resource: undefined }
    const claims = JSON.stringify({ userinfo: { email: { essential: true }, nothing: null } })
    const unbound = await obtain(url, {
      authorization: { ...plain, claims },
      token: { ...asClaude, resource: undefined },
      person: olivia,
    })
    const withoutOpenid = await obtain(url, { authorization: { scope: 'account:read' } })
    const confidential = await obtain(url, { authorization: asPortal, token: asPortal })
    const foreign = (await obtain(url)).access_token
    await bindTo('https://elsewhere.example', foreign.split('.')[0] ?? '', running.stores.database)
    const expired = await expiredToken(bound, service())
    held = {
      ...{ bound, refresh, foreign, expired },
      unbound: unbound.access_token,
      withoutOpenid: withoutOpenid.access_token,
      confidential: confidential.access_token,
    }
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

  it('to a preflight name the methods, and allow what is asked for', async () => {
    const asked = ['Access-Control-Request-Method', 'GET', 'Access-Control-Request-Headers', 'x-y']
    const answer = await send(service().url, {
      ...{ method: 'OPTIONS', path, headers: [...origin, ...asked] },
    })
    expect([answer.status, answer.text]).to.deep.equal([204, ''])
    expect(corsOf(answer)).to.deep.equal({
      'access-control-allow-headers': 'x-y',
      'access-control-allow-methods': 'GET,POST',
      'access-control-allow-origin': page,
      'access-control-max-age': '3600',
    })
    expect(answer.headers.get('vary')).to.equal('Origin')
  })

  for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH']) {
    it(`to ${method} are 404`, async () => {
      const answer = await send(service().url, { method, path, headers: bearer(held.bound) })
      expect([answer.status, answer.body]).to.deep.equal([404, notFound])
      expect(corsOf(answer)).to.deep.equal({})
    })
  }

  function expectAnswer(answer: Answer, { status, challenge, body, open = '*' }: Expected) {
    const { url } = service()
    expect([answer.status, answer.body]).to.deep.equal([status, body])
    const complete =
      challenge === undefined
        ? null
        : `Bearer realm="${url}"${challenge}, resource_metadata="${url}${paths.protectedResource}"`
    expect(answer.headers.get('www-authenticate')).to.equal(complete)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(answer.headers.get('content-type')).to.equal('application/json; charset=utf-8')
    expect(answer.headers.get('vary')).to.equal('Origin')
    expect(corsOf(answer)).to.deep.equal({
      ...(open !== null && { 'access-control-allow-origin': open }),
      'access-control-expose-headers': 'WWW-Authenticate',
    })
  }

  function corsOf({ headers }: Answer): Readonly<Record<string, string>> {
    return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))
  }
})
