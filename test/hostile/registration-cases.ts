import { paths } from '../../src/platform/http/paths.ts'
import { type Answer, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'

async function register(url: string, body: unknown, type = 'application/json'): Promise<Answer> {
  return await send(url, {
    method: 'POST',
    path: paths.registration,
    headers: ['Content-Type', type],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

const cli = { client_name: 'A tool', redirect_uris: ['http://127.0.0.1:9/callback'] }
const FOREIGN = '400 invalid_redirect_uri'
const METADATA = '400 invalid_client_metadata'

/** An address that somebody else's code would be sent to. */
const addresses: readonly (readonly [what: string, answer: string, address: string])[] = [
  [
    'that runs script, in capitals (CVE-2026-9086, CVE-2026-22752)',
    METADATA,
    'JAVASCRIPT:alert(1)',
  ],
  ['that runs script, with a tab in it', METADATA, 'java\tscript:alert(1)'],
  ['that is data (CVE-2026-22752)', METADATA, 'data:text/html,<script>alert(1)</script>'],
  ['that runs the script of another kind (CVE-2026-22752)', METADATA, 'vbscript:msgbox(1)'],
  ['that is a file', METADATA, 'file:///etc/passwd'],
  ['of an application’s own scheme', METADATA, 'com.example.app:/callback'],
  ['with a wildcard (CVE-2026-7504)', FOREIGN, 'https://*.evil.example/callback'],
  ['that is a wildcard', METADATA, '*'],
  ['of the web', FOREIGN, 'https://evil.example/callback'],
  ['of the web, over http', FOREIGN, 'http://evil.example/callback'],
  ['of the service itself, over https', FOREIGN, 'https://127.0.0.1/callback'],
  [
    'with a name before the loopback host (CVE-2026-28512)',
    FOREIGN,
    'http://127.0.0.1:9@evil.example/callback',
  ],
  ['with a name before the loopback host itself', FOREIGN, 'http://user@127.0.0.1:9/callback'],
  ['that begins like the loopback host', FOREIGN, 'http://127.0.0.1.evil.example/callback'],
  ['of another loopback host', FOREIGN, 'http://127.0.0.2:9/callback'],
  ['of the unspecified host', FOREIGN, 'http://0.0.0.0:9/callback'],
  ['of the loopback host as one number', FOREIGN, 'http://2130706433:9/callback'],
  ['of the loopback host in hexadecimal', FOREIGN, 'http://0x7f.1:9/callback'],
  ['of the loopback host, mapped into IPv6', FOREIGN, 'http://[::ffff:127.0.0.1]:9/callback'],
  ['of the loopback host with a zone', FOREIGN, 'http://[::1%25eth0]:9/callback'],
  ['of a private network', FOREIGN, 'http://192.168.0.1:9/callback'],
  ['of the metadata of a cloud', FOREIGN, 'http://169.254.169.254/callback'],
  ['with a query', FOREIGN, 'http://127.0.0.1:9/callback?x=1'],
  ['with a fragment', FOREIGN, 'http://127.0.0.1:9/callback#x'],
  ['with a dot segment', FOREIGN, 'http://127.0.0.1:9/a/../callback'],
  ['with an encoded dot segment', FOREIGN, 'http://127.0.0.1:9/%2e%2e/callback'],
  ['with a backslash', FOREIGN, 'http://127.0.0.1:9\\@evil.example/callback'],
  ['at port 0', FOREIGN, 'http://127.0.0.1:0/callback'],
  ['at a port that there is not', FOREIGN, 'http://127.0.0.1:99999/callback'],
  ['with a line break', FOREIGN, 'http://127.0.0.1:9/call\r\nback'],
  ['with a NUL', FOREIGN, 'http://127.0.0.1:9/callback\0'],
  ['with markup in its path', FOREIGN, 'http://127.0.0.1:9/<script>alert(1)</script>'],
  ['that is empty', METADATA, ''],
  ['that is relative', METADATA, '/callback'],
]

const addressRows = addresses.flatMap(([what, answer, address], position): Row[] => [
  [
    2300 + position,
    `a registration of an address ${what}`,
    answer,
    async ({ url }) => [
      await register(url, { ...cli, redirect_uris: [address] }),
      await register(url, { ...cli, redirect_uris: [...cli.redirect_uris, address] }),
    ],
  ],
])

/** A body that is none, or more than one. */
const bodies: readonly (readonly [what: string, answer: string, body: unknown, type?: string])[] = [
  ['with no name', METADATA, { redirect_uris: [] }],
  [
    'by the name of a platform, with an address of the web',
    FOREIGN,
    { ...cli, client_name: 'Claude', redirect_uris: ['https://evil.example/callback'] },
  ],
  [
    'by the name of a platform, with one of its addresses and one of the web',
    FOREIGN,
    {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://evil.example/'],
    },
  ],
  [
    'of eleven addresses',
    METADATA,
    {
      ...cli,
      redirect_uris: Array.from(
        { length: 11 },
        (_, port) => `http://127.0.0.1:${port + 1}/callback`,
      ),
    },
  ],
  ['of an address that is no text', METADATA, { ...cli, redirect_uris: [{ toString: 'x' }] }],
  [
    'of addresses that are no list',
    METADATA,
    { ...cli, redirect_uris: 'http://127.0.0.1:9/callback' },
  ],
  ['with a name that is a list', METADATA, { ...cli, client_name: ['Claude'] }],
  ['with a name that has a line break', METADATA, { ...cli, client_name: 'A tool\nby Claude' }],
  [
    'with a name that is written the other way round (U+202E)',
    METADATA,
    { ...cli, client_name: 'A tool \u202eedualC' },
  ],
  ['with a name of 10,000 letters', METADATA, { ...cli, client_name: 'x'.repeat(10_000) }],
  [
    'with a lone surrogate for a name',
    METADATA,
    '{"client_name":"\\ud800","redirect_uris":["http://127.0.0.1:9/callback"]}',
  ],
  ['with a NUL in its name', METADATA, { ...cli, client_name: 'A tool\0' }],
  ['for the implicit grant alone (CVE-2026-7571)', METADATA, { ...cli, grant_types: ['implicit'] }],
  ['for client credentials alone', METADATA, { ...cli, grant_types: ['client_credentials'] }],
  ['for tokens from the authorization endpoint', METADATA, { ...cli, response_types: ['token'] }],
  [
    'with a member twice',
    METADATA,
    '{"client_name":"A tool","redirect_uris":["http://127.0.0.1:9/callback"],"redirect_uris":["https://evil.example/"]}',
  ],
  [
    'with the prototype of every object',
    METADATA,
    '{"__proto__":{"redirect_uris":["http://127.0.0.1:9/callback"]},"client_name":"A tool"}',
  ],
  ['of a list', METADATA, [cli]],
  ['of null', METADATA, 'null'],
  ['of nothing', METADATA, ''],
  ['of half an object', METADATA, '{"client_name":'],
  ['nested 5,000 levels deep', METADATA, `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ['of 17 kB', '413 invalid_request', { ...cli, more: 'x'.repeat(17_000) }],
  ['as a form', '415 invalid_request', 'client_name=x', 'application/x-www-form-urlencoded'],
  [
    'as text, which a page of another site may send',
    '415 invalid_request',
    JSON.stringify(cli),
    'text/plain',
  ],
  [
    'by the name of a platform, with an address of an app that is none of it',
    METADATA,
    { ...cli, client_name: 'Cursor', redirect_uris: ['com.evil.app:/oauth/callback'] },
  ],
  [
    'with a name of letters that show as nothing (U+3164)',
    METADATA,
    { ...cli, client_name: '\u3164\u3164' },
  ],
  [
    'with a name whose marks cover the lines above',
    METADATA,
    { ...cli, client_name: `A t${'\u0338\u0489'.repeat(20)}ool` },
  ],
]

const bodyRows = bodies.map(
  ([what, answer, body, type], position): Row => [
    2350 + position,
    `a registration ${what}`,
    answer,
    async ({ url }) => await register(url, body, type),
  ],
)

/**
 * What a client may not choose for itself. It is registered without, because clients send one body to
 * every server (RFC 7591 §2); the answer says what it got.
 */
const choices: readonly (readonly [what: string, choice: Record<string, unknown>])[] = [
  ['its id', { client_id: 'northlight-notes' }],
  [
    'its secret (CVE-2026-44476)',
    { client_secret: 'chosen', token_endpoint_auth_method: 'client_secret_post' },
  ],
  [
    'keys at an inner address (CVE-2026-22752)',
    { jwks_uri: 'http://169.254.169.254/', token_endpoint_auth_method: 'private_key_jwt' },
  ],
  [
    'a logo at an inner address (CVE-2026-5469)',
    { logo_uri: 'http://127.0.0.1:1/', client_uri: 'http://127.0.0.1:1/' },
  ],
  [
    'an address for sign-outs',
    {
      backchannel_logout_uri: 'http://127.0.0.1:1/',
      frontchannel_logout_uri: 'javascript:alert(1)',
    },
  ],
  [
    'an address after sign-outs that runs script (CVE-2026-22752)',
    { post_logout_redirect_uris: ['javascript:alert(1)', 'https://evil.example/'] },
  ],
  ['the scopes of members', { scope: 'openid account:read account:write' }],
  [
    'requests by reference',
    { request_uris: ['http://127.0.0.1:1/'], sector_identifier_uri: 'http://127.0.0.1:1/' },
  ],
  ['a statement of somebody', { software_statement: 'a.b.c', initial_access_token: 'x' }],
  [
    'to be trusted (CVE-2026-41427)',
    {
      origin: 'first_party',
      x_origin: 'site',
      x_site_id: 'sit_northlight',
      skip_consent: true,
      require_auth_time: false,
    },
  ],
  [
    'grants beyond its own',
    { grant_types: ['authorization_code', 'implicit', 'password', 'client_credentials'] },
  ],
]

const allowed =
  /^(client_id|client_id_issued_at|client_name|application_type|redirect_uris|token_endpoint_auth_method|grant_types|response_types|scope)$/

const choiceRows = choices.map(
  ([what, choice], position): Row => [
    2390 + position,
    `a registration that chooses ${what}`,
    '201',
    async ({ url }) => {
      const answer = await register(url, { ...cli, ...choice })
      const { body } = answer
      const strange = Object.keys(body).filter((name) => !allowed.test(name))
      const told = JSON.stringify({ ...body, client_id: body.client_id.slice(0, 4) })
      if (strange.length > 0) throw new Error(`the record has ${strange.join()}`)
      if (body.token_endpoint_auth_method !== 'none' || body.client_id === 'northlight-notes') {
        throw new Error(`the client chose: ${told}`)
      }
      if (/account:|implicit|password|client_credentials/.test(told)) throw new Error(told)
      return answer
    },
  ],
)

export const registrationCases = tableOf('Who registers', 'registration-cases.ts', [
  ...addressRows,
  ...bodyRows,
  ...choiceRows,
])
