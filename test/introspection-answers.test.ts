import { CLIENT_NOT_AUTHENTICATED } from '../src/oauth/clients/authenticate-client.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type Expected, type Group, group, type Held, runGroups } from './support/answer-table.ts'
import {
  asClaude,
  asPortal,
  asResourceServer,
  introspect,
  obtain,
  refresh,
} from './support/client.ts'
import { notes, portal } from './support/gatehouse.ts'
import { sharedService } from './support/storages.ts'
import {
  type Answer,
  basic,
  bearer,
  encode,
  type Fields,
  FORM,
  send,
  type WireRequest,
} from './support/wire.ts'

const path = paths.introspection
const asNotes = { client_id: notes.clientId }
const { redirect_uri: _, ...asPortalHere } = asPortal
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
/** Creates a request by which the demo's resource server introspects a held token. */
const of =
  (name: keyof Held, fields: Fields = {}) =>
  (held: Held) =>
    asked(held[name], fields)
/** Creates a request by which `client` introspects a held token. */
const by = (client: Fields, name: keyof Held, headers?: readonly string[]) => (held: Held) =>
  post({ ...client, token: held[name] }, headers)
const hint = (token_type_hint: string) => ({ token_type_hint })
const withWrongSecret = { ...asResourceServer, client_secret: 'x' }
const x = (fields: Fields, headers?: readonly string[]) => () =>
  post({ token: 'x', ...fields }, headers)
const raw = (text: string) => ['Authorization', `Basic ${Buffer.from(text).toString('base64')}`]

const active = (body: object): Expected => ({ status: 200, body: { active: true, ...body } })
const toThisOrigin = { token_type: 'Bearer', aud: '{base}' }
const samAtNotes = {
  ...{ sub: 'per_sam', org_id: 'sit_northlight', roles: ['student'] },
  ...{ client_id: notes.clientId, scope: 'openid profile email account:read' },
}
const samAtPortal = { ...samAtNotes, client_id: portal.clientId }
const oliviaAtClaude = { sub: 'per_olivia', client_id: asClaude.client_id, scope: 'openid profile' }
const toNotes = active({ ...samAtNotes, ...toThisOrigin })
const inactive: Expected = { status: 200, body: { active: false } }
const malformed = (error_description: string, status = 400): Expected => ({
  ...{ status, body: { error: 'invalid_request', error_description } },
})
const twice = (name: string) => malformed(`'${name}' parameter must not be provided twice`)
const needed =
  'the request has no valid client credentials; authenticate as a client or a resource server'
/** The response to a request without client authentication. */
const anonymous: Expected = {
  ...{ status: 401, challenge: 'Basic realm="{base}"' },
  body: { error: 'invalid_client', error_description: needed },
}
const wrong: Expected = {
  status: 401,
  body: { error: 'invalid_client', error_description: CLIENT_NOT_AUTHENTICATED },
}
/** A wrong secret causes a challenge only if it was in an Authorization header. */
const wrongByBasic: Expected = {
  ...wrong,
  challenge: `Basic realm="{base}", error="invalid_client", error_description="${CLIENT_NOT_AUTHENTICATED}"`,
}
const hasSecret = {
  ...malformed('scripts in a browser must not use a confidential client; use a public client'),
  open: null,
}

const groups: readonly Group[] = [
  group(toNotes, {
    'an access token': of('bound'),
    'an access token with the hint refresh_token': of('bound', hint('refresh_token')),
    'an access token with an unknown hint': of('bound', hint('nothing')),
    'a public client, its own token': by(asNotes, 'bound'),
  }),
  group(active(samAtNotes), {
    'a refresh token': of('boundRefresh'),
    'a refresh token with the hint access_token': of('boundRefresh', hint('access_token')),
  }),
  [active({ ...oliviaAtClaude, token_type: 'Bearer' }), { 'an unbound token': of('unbound') }],
  [active(oliviaAtClaude), { 'an unbound refresh token': of('unboundRefresh') }],
  [
    active({ sub: 'per_sam', client_id: notes.clientId, scope: 'openid', ...toThisOrigin }),
    { 'a token without profile': of('bare'), Basic: by({}, 'bare', asTheServer) },
  ],
  group(active({ ...samAtPortal, ...toThisOrigin }), {
    'a confidential client, its own token': by(asPortalHere, 'confidential'),
    'an access token of a confidential client': of('confidential'),
  }),
  [active(samAtPortal), { 'a refresh token of a confidential client': of('confidentialRefresh') }],
  group(inactive, {
    'a confidential client, another refresh token': by(asPortalHere, 'boundRefresh'),
    'a confidential client, another access token': by(asPortalHere, 'bound'),
    'a public client, another access token': by(asNotes, 'confidential'),
    'an expired token': of('expired'),
    'a token of another origin': of('foreign'),
    'an unknown token': () => asked('nonsense'),
    'a token of odd characters': () => asked('ä ö'),
    'a token that is a NUL': () => asked('\0'),
    'Basic and the client_id': x({ client_id: rsId }, asTheServer),
    'Basic in lower case': x({}, ['Authorization', `basic ${asTheServer[1]?.slice(6)}`]),
  }),
  [
    malformed("missing required parameter 'token'"),
    { 'no token': () => asked(undefined), 'an empty token': () => asked('') },
  ],
  [twice('token'), { 'two tokens': x({ ...asResourceServer, token: ['a', 'b'] }) }],
  [twice('token_type_hint'), { 'two hints': () => asked('x', { token_type_hint: ['a', 'b'] }) }],
  group(anonymous, {
    'two tokens and no client': x({ token: ['a', 'b'] }),
    'no client': x({}),
    'nothing at all': () => ({ method: 'POST', path }),
    'a secret without a client': x({ client_secret: 'x' }),
    'Basic without a colon': x({}, raw('abc')),
    'Basic without a secret': x({}, raw(`${rsId}:`)),
    'Basic without a client': x({}, raw(':x')),
    'Basic that is not encoded': x({}, raw(`${rsId}:%zz`)),
    'Basic with odd characters': x({}, raw(`${rsId}:é`)),
    'Basic that is not base64': x({}, ['Authorization', 'Basic %%%']),
    'Basic alone': x({}, ['Authorization', 'Basic']),
    'two Authorization headers': x({}, [...asTheServer, ...asTheServer]),
    'the token as the credentials': ({ bound }) => post({ token: bound }, bearer(bound)),
    'a JWT assertion': x({ client_assertion: 'x.y.z', client_assertion_type: 'x' }),
  }),
  group(wrong, {
    'an id_token and a wrong secret': of('idToken', { client_secret: 'x' }),
    'an unknown client': x({ client_id: 'nobody' }),
    'an unknown client that accepts HTML': x({ client_id: 'nobody' }, ['Accept', 'text/html']),
    'a document URL without a document': x({ client_id: `${page}/client` }),
    'an impossible client_id': x({ client_id: '\0é' }),
    'no secret': x({ client_id: rsId }),
    'a wrong secret': () => asked('x', { client_secret: 'x' }),
  }),
  group(wrongByBasic, {
    'Basic with a wrong secret': x({}, basic(rsId, 'x')),
    'Basic of an unknown client': x({}, basic('nobody', 'x')),
    'Basic of a public client': x({}, basic(notes.clientId, 'x')),
    'Basic with a plus for a space': x({}, raw('a+b:x')),
  }),
  [{ ...toNotes, open: page }, { 'a public client from a page': by(asNotes, 'bound', origin) }],
  [{ ...wrong, open: page }, { 'unknown client from a page': x({ client_id: 'nobody' }, origin) }],
  group(hasSecret, {
    'a confidential client from a page': by(asResourceServer, 'bound', origin),
    'a confidential client from a page, with a wrong secret': x(withWrongSecret, origin),
  }),
  group(malformed('the request body must be application/x-www-form-urlencoded'), {
    JSON: () => ({
      ...{ method: 'POST', path, body: '{"token":"x"}' },
      headers: ['Content-Type', 'application/json', ...asTheServer],
    }),
  }),
  group(malformed('the request body must be sent without compression', 415), {
    'a compressed form': x({}, ['Content-Encoding', 'gzip']),
  }),
  group(malformed('the request body is larger than 57344 bytes; send less', 413), {
    'a body above 56 KiB': () => asked('x'.repeat(57 * 1024)),
  }),
]

// [RFC 7662 §2.1; RFC 7662 §2.2; RFC 7662 §2.3; RFC 7662 §4; RFC 7662 §5; Discovery 2.2; Authentication 5.3; 87, 89]
describe('introspection responses [design 13]', () => {
  const service = sharedService({ now: () => Date.now() })

  runGroups(service, groups, ({ body }: Answer) => {
    if (body.active !== true) return body
    const { exp, iat, iss, acr, auth_time, ...others } = body
    expect(acr).to.equal('urn:gatehouse:password')
    expect(auth_time).to.be.within(iat - 60, iat)
    expect(iss).to.equal(service().url)
    expect(exp - iat).to.be.greaterThan(0)
    return others
  })

  it('calls a used refresh token inactive, and its successor active', async () => {
    const { url } = service()
    const { refresh_token } = await obtain(url)
    const next = (await refresh(url, refresh_token)).body
    expect((await introspect(url, refresh_token)).body).to.deep.equal({ active: false })
    expect((await introspect(url, next.refresh_token)).body).to.include({ active: true })
  })

  it('to OPTIONS are 404, because pages cannot introspect', async () => {
    expect((await send(service().url, { method: 'OPTIONS', path })).status).to.equal(404)
  })
})
