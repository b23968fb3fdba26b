import { paths } from '../../src/platform/http/paths.ts'
import { asResourceServer } from '../support/client.ts'
import { notes, portal, resourceServer } from '../support/gatehouse.ts'
import { type Answer, basic, encode, type Fields, FORM, postForm, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { World } from './world.ts'

/** Endpoints with client authentication, and a request that would succeed there. */
interface Endpoint {
  readonly first: number
  readonly at: string
  readonly path: string
  /** Without the authentication. */
  readonly request: (world: World) => Promise<Fields>
  readonly clientId: string
  readonly clientSecret: string
  /** What still works after the request. */
  readonly unharmed: string
}

const asked = { ...portal, unharmed: '; the code still works' }
const endpoints: readonly Endpoint[] = [
  {
    first: 1700,
    at: 'at a code exchange',
    path: paths.token,
    ...asked,
    request: async (world) => await exchangeOf(world),
  },
  {
    first: 1720,
    at: 'at a refresh',
    path: paths.token,
    ...portal,
    unharmed: '',
    request: async () => ({ grant_type: 'refresh_token', refresh_token: 'x'.repeat(43) }),
  },
  {
    first: 1740,
    at: 'at a revocation',
    path: paths.revocation,
    ...portal,
    unharmed: '; the tokens still work',
    request: async (world) => ({ token: (await world.tokens()).accessToken }),
  },
  {
    first: 1760,
    at: 'at an introspection',
    path: paths.introspection,
    ...resourceServer,
    unharmed: '; the tokens still work',
    request: async (world) => ({ token: (await world.tokens()).accessToken }),
  },
]

async function exchangeOf(world: World): Promise<Fields> {
  return { ...(await world.code('portal')), client_id: undefined, client_secret: undefined }
}

type Authentication = (endpoint: Endpoint) => readonly [fields: Fields, headers?: readonly string[]]

/** Failed authentications of a confidential client. */
const impostors: readonly (readonly [
  what: string,
  answer: string,
  authentication: Authentication,
])[] = [
  [
    'secret of another client',
    '401 invalid_client',
    ({ clientId }) => [
      {
        client_id: clientId,
        client_secret:
          clientId === portal.clientId ? resourceServer.clientSecret : portal.clientSecret,
      },
    ],
  ],
  [
    'empty secret',
    '401 invalid_client',
    ({ clientId }) => [{ client_id: clientId, client_secret: '' }],
  ],
  [
    'secret with a trailing line break',
    '401 invalid_client',
    ({ clientId, clientSecret }) => [{ client_id: clientId, client_secret: `${clientSecret}\n` }],
  ],
  [
    'secret with a trailing NUL',
    '401 invalid_client',
    ({ clientId, clientSecret }) => [{ client_id: clientId, client_secret: `${clientSecret}\0` }],
  ],
  [
    'truncated secret',
    '401 invalid_client',
    ({ clientId, clientSecret }) => [
      { client_id: clientId, client_secret: clientSecret.slice(0, -1) },
    ],
  ],
  [
    'secret in upper case',
    '401 invalid_client',
    ({ clientId, clientSecret }) => [
      { client_id: clientId, client_secret: clientSecret.toUpperCase() },
    ],
  ],
  [
    'client_id in upper case',
    '401 invalid_client',
    ({ clientId, clientSecret }) => [
      { client_id: clientId.toUpperCase(), client_secret: clientSecret },
    ],
  ],
  [
    'secret with the client_id of a public client',
    '401 invalid_client',
    ({ clientSecret }) => [{ client_id: notes.clientId, client_secret: clientSecret }],
  ],
  [
    'wrong secret in the header',
    '401 invalid_client',
    ({ clientId }) => [{}, basic(clientId, 'wrong')],
  ],
  [
    'right secret in the header, another in the form (CVE-2026-44476)',
    '400 invalid_request',
    ({ clientId, clientSecret }) => [
      { client_id: clientId, client_secret: 'wrong' },
      basic(clientId, clientSecret),
    ],
  ],
  [
    'two clients, one in the header and one in the form',
    '400 invalid_request',
    ({ clientId, clientSecret }) => [{ client_id: notes.clientId }, basic(clientId, clientSecret)],
  ],
  [
    'unsigned assertion',
    '401 invalid_client',
    ({ clientId }) => [
      {
        client_id: clientId,
        client_assertion_type: assertionType,
        client_assertion: assertionOf(clientId),
      },
    ],
  ],
  [
    'client_id twice',
    '400 invalid_request',
    ({ clientId, clientSecret }) => [
      { client_id: [clientId, clientId], client_secret: clientSecret },
    ],
  ],
  [
    'two secrets, the right one first',
    '400 invalid_request',
    ({ clientId, clientSecret }) => [
      { client_id: clientId, client_secret: [clientSecret, 'wrong'] },
    ],
  ],
  [
    'secret in the query only (RFC 6749 §2.3.1)',
    '401 invalid_client',
    ({ clientId }) => [{ client_id: clientId }],
  ],
]

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

function assertionOf(clientId: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ iss: clientId, sub: clientId, aud: 'x', exp: 9e9, jti: 'x' })}.`
}

const impostorRows = endpoints.flatMap((endpoint) =>
  impostors.map(
    ([what, answer, authentication], position): Row => [
      endpoint.first + position,
      [what, endpoint.at],
      (endpoint.path === paths.introspection ? '401 invalid_client' : answer) + endpoint.unharmed,
      async (world) => {
        const [fields, headers = []] = authentication(endpoint)
        const query = what.includes('query') ? `?client_secret=${endpoint.clientSecret}` : ''
        const form = { ...(await endpoint.request(world)), ...fields }
        return await postForm(world.url + endpoint.path + query, form, headers)
      },
    ],
  ),
)

/** Malformed forms, sent to each endpoint. */
const carriers: readonly (readonly [
  what: string,
  headers: readonly string[],
  body: (form: Fields) => string,
])[] = [
  ['request as JSON', ['Content-Type', 'application/json'], (form) => JSON.stringify(form)],
  [
    'request as text/plain, which foreign pages may send',
    ['Content-Type', 'text/plain'],
    (form) => encode(form).toString(),
  ],
  [
    'request as multipart',
    ['Content-Type', 'multipart/form-data; boundary=x'],
    (form) =>
      Object.entries(form)
        .map(
          ([name, value]) =>
            `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
        )
        .join(''),
  ],
  ['request without Content-Type', [], (form) => encode(form).toString()],
  ['parameters in the query only', FORM, () => ''],
  [
    'parameter names in upper case',
    FORM,
    (form) =>
      encode(form)
        .toString()
        .replaceAll(/(^|&)(\w+)=/g, (whole) => whole.toUpperCase()),
  ],
  [
    'parameters separated by semicolons',
    FORM,
    (form) => encode(form).toString().replaceAll('&', ';'),
  ],
  [
    'a Content-Type of two types',
    ['Content-Type', 'text/plain, application/x-www-form-urlencoded'],
    (form) => encode(form).toString(),
  ],
]

const open: readonly (readonly [
  first: number,
  at: string,
  path: string,
  request: (world: World) => Promise<Fields>,
  unharmed: string,
])[] = [
  [
    1800,
    'at a code exchange',
    paths.token,
    async (world) => await world.code(),
    'the code still works',
  ],
  [
    1810,
    'at a refresh',
    paths.token,
    async (world) => ({
      grant_type: 'refresh_token',
      refresh_token: (await world.tokens()).refreshToken,
      client_id: notes.clientId,
    }),
    'the tokens still work',
  ],
  [
    1820,
    'at a revocation',
    paths.revocation,
    async (world) => ({ token: (await world.tokens()).refreshToken, client_id: notes.clientId }),
    'the tokens still work',
  ],
  [
    1830,
    'at an introspection',
    paths.introspection,
    async (world) => ({ ...asResourceServer, token: (await world.tokens()).accessToken }),
    'the tokens still work',
  ],
]

const carrierRows = open.flatMap(([first, at, path, request, unharmed]) =>
  carriers.map(
    ([what, headers, body], position): Row => [
      first + position,
      [what, at],
      `${refusalOfCarrier(path, what)}; ${unharmed}`,
      async (world) => {
        const form = await request(world)
        const query = what.includes('query') ? `?${encode(form)}` : ''
        return await send(world.url, {
          method: 'POST',
          path: path + query,
          headers,
          body: body(form),
        })
      },
    ],
  ),
)

/** Introspection is our own route and answers 415; the engine does not check the media type. */
function refusalOfCarrier(path: string, what: string): string {
  // Without a media type it reads no body.
  const isForm = /query|upper case|semicolons|without/.test(what)
  if (path !== paths.introspection) return '400 invalid_request'
  return isForm ? '401 invalid_client' : '415 invalid_request'
}

/** Unsupported methods. */
const methodRows = open.map(
  ([, at, path, request, unharmed], position): Row => [
    1840 + position,
    ['GET, PUT, PATCH, DELETE and TRACE', at],
    `405 invalid_request; ${unharmed}`,
    async (world) => {
      const form = await request(world)
      const answers: Answer[] = []
      for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'TRACE']) {
        answers.push(await send(world.url, { method, path: `${path}?${encode(form)}` }))
      }
      return answers
    },
  ],
)

/** Repeated parameters. */
const twice: readonly (readonly [
  first: number,
  at: string,
  path: string,
  request: (world: World) => Promise<Fields>,
  names: readonly string[],
  unharmed: string,
])[] = [
  [
    1850,
    'at a code exchange',
    paths.token,
    async (world) => await world.code(),
    ['grant_type', 'code', 'redirect_uri', 'client_id', 'code_verifier'],
    'the code still works',
  ],
  [
    1860,
    'at a refresh',
    paths.token,
    async (world) => ({
      grant_type: 'refresh_token',
      refresh_token: (await world.tokens()).refreshToken,
      client_id: notes.clientId,
      scope: 'openid',
    }),
    ['grant_type', 'refresh_token', 'client_id', 'scope'],
    'the tokens still work',
  ],
  [
    1870,
    'at a revocation',
    paths.revocation,
    async (world) => ({
      token: (await world.tokens()).refreshToken,
      client_id: notes.clientId,
      token_type_hint: 'refresh_token',
    }),
    ['token', 'client_id', 'token_type_hint'],
    'the tokens still work',
  ],
  [
    1880,
    'at an introspection',
    paths.introspection,
    async (world) => ({
      ...asResourceServer,
      token: (await world.tokens()).accessToken,
      token_type_hint: 'access_token',
    }),
    ['token', 'client_id', 'client_secret', 'token_type_hint'],
    'the tokens still work',
  ],
]

const twiceRows = twice.flatMap(([first, at, path, request, names, unharmed]) =>
  names.map(
    (name, position): Row => [
      first + position,
      `${name} twice ${at}, equal and different (RFC 6749 §3.2)`,
      `${at === 'at an introspection' && name.startsWith('client') ? '401 invalid_client' : '400 invalid_request'}; ${unharmed}`,
      async (world) => {
        const form = await request(world)
        const value = String(form[name])
        return [
          await postForm(world.url + path, { ...form, [name]: [value, value] }),
          await postForm(world.url + path, { ...form, [name]: [value, 'another'] }),
          await postForm(world.url + path, { ...form, [name]: ['another', value] }),
          await postForm(world.url + path, { ...form, [name]: [value, ''] }),
        ]
      },
    ],
  ),
)

export const clientEndpointCases = tableOf(
  'Client authentication and forms',
  'client-endpoint-cases.ts',
  [...impostorRows, ...carrierRows, ...methodRows, ...twiceRows],
)
