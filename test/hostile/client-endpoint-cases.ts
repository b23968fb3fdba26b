import { paths } from '../../src/platform/http/paths.ts'
import { asResourceServer } from '../support/client.ts'
import { notes, portal, resourceServer } from '../support/gatehouse.ts'
import { byAssertion, unsignedJwt } from '../support/proofs.ts'
import { basic, encode, type Fields, FORM, postForm, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** An endpoint with client authentication, and well-formed requests to it. */
interface Endpoint {
  readonly at: string
  readonly path: string
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  /** A well-formed request by `client`, without its authentication. */
  readonly request: (world: World) => Promise<Fields>
  /** A complete, valid request, possibly by another client. */
  readonly complete: (world: World) => Promise<Fields>
  /** The end of an expected answer that says what must still work after the request. */
  readonly alive: string
  /** Parameters of `complete` to send twice, one in each test. */
  readonly names: readonly string[]
}

const [codeWorks, tokensWork] = ['; the code still works', '; the tokens still work']
const ofNotes = { client_id: notes.clientId }
const accessToken = async (world: World) => ({ token: (await world.tokens()).accessToken })
const refresh = async (world: World) => ({
  ...{ grant_type: 'refresh_token', refresh_token: (await world.tokens()).refreshToken },
})

const endpoints: readonly Endpoint[] = [
  {
    at: 'at a code exchange',
    path: paths.token,
    client: portal,
    request: async (world) => {
      const { client_id, client_secret, ...form } = await world.code('portal')
      return form
    },
    complete: async (world) => await world.code(),
    alive: codeWorks,
    names: ['grant_type', 'code', 'redirect_uri', 'client_id', 'code_verifier'],
  },
  {
    at: 'at a refresh',
    path: paths.token,
    client: portal,
    request: refresh,
    complete: async (world) => ({ ...(await refresh(world)), scope: 'openid', ...ofNotes }),
    alive: tokensWork,
    names: ['grant_type', 'refresh_token', 'client_id', 'scope'],
  },
  {
    at: 'at a revocation',
    path: paths.revocation,
    client: portal,
    request: accessToken,
    complete: async (world) => {
      const { refreshToken } = await world.tokens()
      return { token: refreshToken, token_type_hint: 'refresh_token', ...ofNotes }
    },
    alive: tokensWork,
    names: ['token', 'client_id', 'token_type_hint'],
  },
  {
    at: 'at an introspection',
    path: paths.introspection,
    client: resourceServer,
    request: accessToken,
    complete: async (world) => ({
      ...{ ...asResourceServer, ...(await accessToken(world)), token_type_hint: 'access_token' },
    }),
    alive: tokensWork,
    names: ['token', 'client_id', 'client_secret', 'token_type_hint'],
  },
]

type Impostor = (id: string, secret: string) => readonly [Fields, headers?: readonly string[]]

const form = (client_id: Fields[string], client_secret?: Fields[string]) =>
  [{ client_id, client_secret }] as const
const twoSecrets: Impostor = (id, secret) => [...form(id, 'wrong'), basic(id, secret)]
const twoClients: Impostor = (id, secret) => [ofNotes, basic(id, secret)]
const foreignSecret = (id: string) =>
  id === portal.clientId ? resourceServer.clientSecret : portal.clientSecret
const MALFORMED = '400 invalid_request'

/** Client authentications that must fail. The expected answer is invalid_client by default. */
const impostors: readonly (readonly [what: string, Impostor, answer?: string])[] = [
  ['secret of another client', (id) => form(id, foreignSecret(id))],
  ['empty secret', (id) => form(id, '')],
  ['secret with a trailing line break', (id, secret) => form(id, `${secret}\n`)],
  ['secret with a trailing NUL', (id, secret) => form(id, `${secret}\0`)],
  ['truncated secret', (id, secret) => form(id, secret.slice(0, -1))],
  ['secret in upper case', (id, secret) => form(id, secret.toUpperCase())],
  ['client_id in upper case', (id, secret) => form(id.toUpperCase(), secret)],
  ['secret with the client_id of a public client', (_id, secret) => form(notes.clientId, secret)],
  ['wrong secret in the header', (id) => [{}, basic(id, 'wrong')]],
  ['right secret in the header, another in the form (CVE-2026-44476)', twoSecrets, MALFORMED],
  ['two clients, one in the header and one in the form', twoClients, MALFORMED],
  ['unsigned assertion', (id) => [unsignedAssertion(id)]],
  ['client_id twice', (id, secret) => form([id, id], secret), MALFORMED],
  ['two secrets, the right one first', (id, secret) => form(id, [secret, 'wrong']), MALFORMED],
  ['secret in the query only (RFC 6749 §2.3.1)', (id) => form(id)],
  ['secret of a public client in the header', () => [{}, basic(notes.clientId, 'x')]],
  ['secret with a trailing space', (id, secret) => form(id, `${secret} `)],
  ['the engine’s placeholder for the secret', (id) => form(id, 'compared-by-digest')],
  ['secret that is the word undefined', (id) => form(id, 'undefined')],
]

function unsignedAssertion(client_id: string): Fields {
  const claims = { iss: client_id, sub: client_id, aud: 'x', exp: 9e9, jti: 'x' }
  return { ...byAssertion(unsignedJwt(claims)), client_id }
}

const impostorRows = endpoints.flatMap(({ at, path, client, request, alive }, index) =>
  impostors.map(
    ([what, authentication, answer = '401 invalid_client'], position): Row => [
      1700 + 20 * index + position,
      [what, at],
      (path === paths.introspection ? '401 invalid_client' : answer) + alive,
      async (world) => {
        const [fields, headers = []] = authentication(client.clientId, client.clientSecret)
        const query = what.includes('query') ? `?client_secret=${client.clientSecret}` : ''
        const sent = { ...(await request(world)), ...fields }
        return await postForm(world.url + path + query, sent, headers)
      },
    ],
  ),
)

const type = (value: string) => ['Content-Type', value]
const asForm = (fields: Fields) => encode(fields).toString()
const withUpperNames = (fields: Fields) =>
  asForm(fields).replaceAll(/(^|&)(\w+)=/g, (whole) => whole.toUpperCase())

type Carrier = readonly [what: string, headers: readonly string[], body: (form: Fields) => string]

/** Malformed forms, sent to each endpoint. */
const carriers: readonly Carrier[] = [
  ['request as JSON', type('application/json'), (fields) => JSON.stringify(fields)],
  ['request as text/plain, which foreign pages may send', type('text/plain'), asForm],
  ['request as multipart', type('multipart/form-data; boundary=x'), asParts],
  ['request without Content-Type', [], asForm],
  ['parameters in the query only', FORM, () => ''],
  ['parameter names in upper case', FORM, withUpperNames],
  ['parameters divided by semicolons', FORM, (fields) => asForm(fields).replaceAll('&', ';')],
  ['a Content-Type of two types', type('text/plain, application/x-www-form-urlencoded'), asForm],
]

function asParts(fields: Fields): string {
  const head = '--x\r\nContent-Disposition: form-data; name='
  const list = Object.entries(fields).map(([name, value]) => `${head}"${name}"\r\n\r\n${value}\r\n`)
  return list.join('')
}

const carrierRows = endpoints.flatMap(({ at, path, complete, alive }, index) =>
  carriers.map(
    ([what, headers, body], position): Row => [
      1800 + 10 * index + position,
      [what, at],
      refusalOfCarrier(path, what) + alive,
      async (world) => {
        const fields = await complete(world)
        const query = what.includes('query') ? `?${encode(fields)}` : ''
        const request = { method: 'POST', path: path + query, headers, body: body(fields) }
        return await send(world.url, request)
      },
    ],
  ),
)

/**
 * Returns the expected response to a malformed form. Introspection responds with 401 if it finds no credentials. It
 * ignores a body without a Content-Type, so it finds none there either.
 */
function refusalOfCarrier(path: string, what: string): string {
  const isForm = /query|upper case|semicolons|without/.test(what)
  return path === paths.introspection && isForm ? '401 invalid_client' : MALFORMED
}

const overrides = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].flatMap(
  (name) => [name, 'POST'],
)

const methodRows = endpoints.map(
  ({ at, path, complete, alive }, index): Row => [
    1840 + index,
    ['GET, PUT, PATCH, DELETE and TRACE', at],
    `405 invalid_request${alive}`,
    async (world) => {
      const request = { path: `${path}?${encode(await complete(world))}`, headers: overrides }
      return await Array.fromAsync(['GET', 'PUT', 'PATCH', 'DELETE', 'TRACE'], (method) =>
        send(world.url, { ...request, method }),
      )
    },
  ],
)

const twiceRows = endpoints.flatMap(({ at, path, complete, names, alive }, index) =>
  names.map((name, position): Row => {
    const isOurs = path === paths.introspection && name.startsWith('client')
    return [
      1850 + 10 * index + position,
      `${name} twice ${at}, equal and different (RFC 6749 §3.2)`,
      (isOurs ? '401 invalid_client' : MALFORMED) + alive,
      async (world) => {
        const fields = await complete(world)
        const value = String(fields[name])
        const post = async (...values: string[]) =>
          await postForm(world.url + path, { ...fields, [name]: values })
        return [
          await post(value, value),
          await post(value, 'another'),
          await post('another', value),
          await post(value, ''),
        ]
      },
    ]
  }),
)

export const clientEndpointCases = tableOf(
  'Client authentication and forms',
  'client-endpoint-cases.ts',
  [...impostorRows, ...carrierRows, ...methodRows, ...twiceRows],
)
