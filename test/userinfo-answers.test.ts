import { decodeJwt } from 'jose'

import { paths } from '../src/platform/http/paths.ts'
import { type Expected, type Group, group, type Held, runGroups } from './support/answer-table.ts'
import { exchange, getCode, obtain, userinfo } from './support/client.ts'
import { change, insert, remove } from './support/database.ts'
import { noor, startService } from './support/gatehouse.ts'
import { sharedService } from './support/storages.ts'
import { bearer, encode, type Fields, FORM, send, type WireRequest } from './support/wire.ts'

const sam = {
  sub: 'per_sam',
  name: 'Sam Student',
  picture: 'https://northlight.example/people/sam.jpg',
  org_id: 'sit_northlight',
  roles: ['student'],
  email: 'sam@northlight.example',
  email_verified: false,
}
const unknown = bearer('nonsense')
const page = 'https://app.example'
const origin = ['Origin', page]
const path = paths.userinfo

const get = (headers: readonly string[], query = '') => ({ path: path + query, headers })
const post = (fields: Fields, headers: readonly string[] = [], query = ''): WireRequest => ({
  ...{ method: 'POST', path: path + query, headers: [...FORM, ...headers] },
  body: encode(fields),
})
/** Creates a request with a held token as its Bearer token, and with further headers. */
const sent =
  (name: Exclude<keyof Held, 'idToken'>, ...others: readonly string[]) =>
  (held: Held) =>
    get([...bearer(held[name]), ...others])
const withQuery =
  (query: string) =>
  ({ bound }: Held) =>
    get(bearer(bound), query)
const credentials = (value: string) => () => get(['Authorization', value])
const good = (body: object): Expected => ({ status: 200, body })
const metadata = `resource_metadata="{base}${paths.protectedResource}"`
const challenge = (middle: string) => `Bearer realm="{base}"${middle}, ${metadata}`
const required = 'an access token is required; send it in the Authorization header'
const nothing: Expected = {
  ...{ status: 401, challenge: challenge('') },
  body: { error: 'invalid_token', error_description: required },
}
const refused = (status: number, error: string, error_description: string, scope?: string) => {
  const described = `, error="${error}", error_description="${error_description}"`
  const needed = scope === undefined ? '' : `, scope="${scope}"`
  const body = { error, error_description, ...(scope !== undefined && { scope }) }
  return { status, challenge: challenge(described + needed), body }
}
const malformed = (description: string) => refused(400, 'invalid_request', description)
const unusable = 'the access token is malformed, unknown, expired or revoked; authorize again'
const invalid = refused(401, 'invalid_token', unusable)
const invalidOnPage = { ...invalid, open: page }
const missing = 'the access token lacks the scope openid; request it'
const withoutOpenid = refused(403, 'insufficient_scope', missing, 'openid')
const noSecret = 'scripts in a browser must not use a confidential client; use a public client'
const hasSecret = { ...malformed(noSecret), open: null }
const unread = (status: number, error_description: string): Expected => ({
  ...{ status, body: { error: 'invalid_request', error_description } },
})

const groups: readonly Group[] = [
  group(good(sam), {
    'a bound token': sent('bound'),
    'the scheme in any case': ({ bound }) => get(['Authorization', `bEARER ${bound}`]),
    'two spaces after the scheme': ({ bound }) => get(['Authorization', `Bearer  ${bound}`]),
    'POST by header': ({ bound }) => post({}, bearer(bound)),
    'POST without a body': ({ bound }) => ({ method: 'POST', path, headers: bearer(bound) }),
    'POST of a body without a type, which is not read': ({ bound }) => ({
      ...{ method: 'POST', path, headers: bearer(bound), body: 'access_token=x' },
    }),
    'POST by form': ({ bound }) => post({ access_token: bound }),
    'POST by form with a charset': ({ bound }) => ({
      ...post({ access_token: bound }),
      headers: ['Content-Type', 'application/x-www-form-urlencoded; charset=UTF-8'],
    }),
    'POST with a scope in the query': ({ bound }) => post({}, bearer(bound), '?scope=x'),
    'scopes, which are ignored': withQuery('?scope=email&scope=%22'),
    'a confidential client': sent('confidential'),
  }),
  [
    good({
      ...{ sub: 'per_olivia', name: 'Olivia Hartmann', email: 'olivia@northlight.example' },
      picture: 'https://northlight.example/people/olivia.jpg',
    }),
    { 'an unbound token, with a claim requested by name and an unknown one': sent('unbound') },
  ],
  [{ ...good(sam), open: page }, { 'a public client from a page': sent('bound', ...origin) }],
  [{ ...good(sam), open: 'null' }, { 'a page without an origin': sent('bound', 'Origin', 'null') }],
  [{ status: 200, body: '' }, { HEAD: ({ bound }) => ({ ...get(bearer(bound)), method: 'HEAD' }) }],
  group(nothing, {
    'POST of an empty token': () => post({ access_token: '' }),
    'POST without a token': () => post({}),
    'GET without a token': () => get([]),
    'GET without a token that accepts HTML': () => get(['Accept', 'text/html']),
    'an empty header': credentials(''),
  }),
  [{ ...nothing, body: '' }, { 'HEAD without a token': () => ({ method: 'HEAD', path }) }],
  [{ ...nothing, open: page }, { 'a page without a token': () => get(origin) }],
  group(malformed('the request has several access tokens; send one'), {
    'POST by form and header': ({ bound }) => post({ access_token: bound }, bearer(bound)),
    'in query and header': withQuery('?access_token=x'),
  }),
  group(malformed("'access_token' parameter must not be provided twice"), {
    'POST by form twice': ({ bound }) => post({ access_token: [bound, bound] }),
    'in the query twice': withQuery('?access_token=x&access_token=y'),
  }),
  group(malformed('send the access token in the Authorization header, not in the URL'), {
    'in the query': ({ bound }) => get([], `?access_token=${bound}`),
    'POST, in the query': ({ bound }) => post({}, [], `?access_token=${bound}`),
    'POST, in the query twice': ({ bound }) =>
      post({}, [], `?access_token=${bound}&access_token=x`),
  }),
  group(refused(401, 'invalid_token', 'the Authorization header has no Bearer token'), {
    'the scheme alone': credentials('Bearer'),
    'two words': credentials('Bearer a b'),
    Basic: credentials('Basic eDp5'),
  }),
  group(refused(401, 'invalid_token', 'the request has several Authorization headers; send one'), {
    'two Authorization headers': ({ bound }) => get([...bearer(bound), ...bearer(bound)]),
  }),
  group(invalid, {
    'odd characters': () => get(bearer('"é"')),
    'an unknown token': () => get(unknown),
    'an unknown token that accepts HTML': () => get([...unknown, 'Accept', 'text/html']),
    'a token of another origin': sent('foreign'),
    'an expired token': sent('expired'),
  }),
  [invalidOnPage, { 'an unknown token from a page': () => get([...unknown, ...origin]) }],
  [withoutOpenid, { 'a token without openid': sent('withoutOpenid') }],
  [hasSecret, { 'a confidential client from a page': sent('confidential', ...origin) }],
  group(malformed('the request body must be application/x-www-form-urlencoded'), {
    JSON: ({ bound }) => ({
      ...{ method: 'POST', path, body: '{}' },
      headers: ['Content-Type', 'application/json', ...bearer(bound)],
    }),
  }),
  group(unread(415, 'the request body must be sent without compression'), {
    'a compressed form': () => post({ access_token: 'x' }, ['Content-Encoding', 'gzip']),
  }),
  group(unread(413, 'the request body is larger than 57344 bytes; send less'), {
    'a body above 56 KiB': () => post({ access_token: 'x'.repeat(57 * 1024) }),
  }),
]

// [OpenID Connect Core §5.3; OpenID Connect Core §5.3.1; OpenID Connect Core §5.3.2; OpenID Connect Core §5.3.3]
// [RFC 6750 §2.2; RFC 6750 §2.3; RFC 6750 §3; RFC 6750 §3.1; RFC 6750 §5.3; RFC 9728 §5.1; UserInfo 1; Discovery 8]
// [RFC 9700 §2.3; RFC 9700 §4.3.2; RFC 9700 §4.10.2; RFC 6750 §2; Scopes 3; 77, 79]
describe('UserInfo responses [design 4]', () => {
  const service = sharedService({ now: () => Date.now() })

  runGroups(service, groups)

  it('to a preflight allow methods and the requested headers, to other methods are 405 with Allow, and to other OPTIONS are 404', async () => {
    const asked = ['Access-Control-Request-Method', 'GET', 'Access-Control-Request-Headers', 'x-y']
    const headers = [...origin, ...asked]
    const answer = await send(service().url, { method: 'OPTIONS', path, headers })
    expect([answer.status, answer.text]).to.deep.equal([204, ''])
    expect(Object.fromEntries(answer.headers)).to.include({
      'access-control-allow-headers': 'x-y',
      'access-control-allow-methods': 'GET,POST',
      'access-control-allow-origin': page,
      'access-control-max-age': '3600',
      vary: 'Origin',
    })
    expect(answer.headers.has('access-control-allow-credentials')).to.equal(false)
    const wrongMethod = [405, 'invalid_request', 'GET, POST, OPTIONS']
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const request = { method, path, headers: bearer('x') }
      const { status, body, headers } = await send(service().url, request)
      const expected = method === 'OPTIONS' ? [404, 'not_found', null] : wrongMethod
      expect([status, body.error, headers.get('allow')], method).to.deep.equal(expected)
      expect(Object.keys(body)).to.have.members(['error', 'error_description'])
      expect([...headers.keys()].join()).not.to.include('access-control')
    }
  })

  for (const [scope, claims] of Object.entries({
    openid: ['sub'],
    'openid email': ['sub', 'email', 'email_verified'],
    'openid profile': ['sub', 'name', 'picture', 'org_id', 'roles'],
    'openid account:read': ['sub'],
  })) {
    // [OpenID Connect Core §5.4; Scopes 4; Scopes 5]
    it(`release for ${scope} only ${claims.join(', ')}`, async () => {
      const tokens = await obtain(service().url, { authorization: { scope } })
      expect((await userinfo(service().url, tokens.access_token)).body).to.have.all.keys(...claims)
    })
  }

  // [OpenID Connect Core §5.4; UserInfo 2; UserInfo / id_token claims 1; Authentication 6.1]
  it('release every known claim, the same in the id_token [OpenID Connect Core §5.1]', async () => {
    const { url } = service()
    const authorization = { scope: 'openid profile email' }
    const tokens = await obtain(url, { authorization, person: noor })
    const { body } = await userinfo(url, tokens.access_token)
    expect(body).to.include({
      ...{ email_verified: true, preferred_username: 'noor', locale: 'nl-NL' },
      zoneinfo: 'Europe/Amsterdam',
    })
    expect((Date.now() / 1000 - body.updated_at) / 86_400).to.be.within(29, 31)
    expect(decodeJwt(tokens.id_token ?? '')).to.deep.include(body)
  })

  it('have the current roles, name and picture, and the id_token the current roles [design 15]', async () => {
    await using changing = await startService()
    const code = await getCode(changing.url)
    const ofSam = { person_id: 'per_sam', site_id: 'sit_northlight', granted_at: 1 }
    await insert(changing.kysely, 'site_role', { ...ofSam, role: 'admin' })
    const { access_token, id_token } = (await exchange(changing.url, code)).body
    const { body } = await userinfo(changing.url, access_token)
    for (const { roles } of [body, decodeJwt<{ roles: string[] }>(id_token)])
      expect(roles).to.deep.equal(['admin', 'student'])
    await remove(changing.kysely, 'site_role', { person_id: 'per_sam', role: 'student' })
    await change(changing.kysely, 'person', { id: 'per_sam' }, { name: 'Samuel', picture: null })
    expect((await userinfo(changing.url, access_token)).body)
      .to.deep.include({ roles: ['admin'], name: 'Samuel' })
      .and.not.have.property('picture')
  })
})
