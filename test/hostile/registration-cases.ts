import { register } from '../support/client.ts'
import type { Answer } from '../support/wire.ts'
import { answered, type Entries, numbered, tableOf } from './case.ts'

async function sendBody(url: string, body: unknown, type?: string): Promise<Answer> {
  const answer = await register(url, body, type === undefined ? [] : ['Content-Type', type])
  expect(answer.headers.get('cache-control')).to.equal('no-store')
  if (answer.status !== 201) expect(answer.body.error_description).to.be.a('string')
  return answer
}

const cli = { client_name: 'A tool', redirect_uris: ['http://127.0.0.1:9/callback'] }
const FOREIGN = '400 invalid_redirect_uri'
const METADATA = '400 invalid_client_metadata'

const asUserName = 'http://127.0.0.1:9@evil.example/callback'

/** Redirect URIs that are malformed, unsupported, or would leak codes. */
const addresses: Entries<[address: string]> = [
  ['with scheme JAVASCRIPT: (CVE-2026-9086, CVE-2026-22752)', METADATA, 'JAVASCRIPT:alert(1)'],
  ['with scheme javascript: and a tab in it', METADATA, 'java\tscript:alert(1)'],
  ['with scheme data: (CVE-2026-22752)', METADATA, 'data:text/html,<script>alert(1)</script>'],
  ['with scheme vbscript: (CVE-2026-22752)', METADATA, 'vbscript:msgbox(1)'],
  ['with scheme file:', METADATA, 'file:///etc/passwd'],
  ['with a private-use scheme', METADATA, 'com.example.app:/callback'],
  ['with a wildcard (CVE-2026-7504)', FOREIGN, 'https://*.evil.example/callback'],
  ['that is a wildcard', METADATA, '*'],
  ['of a web host', FOREIGN, 'https://evil.example/callback'],
  ['of a web host over http', FOREIGN, 'http://evil.example/callback'],
  ['of this service over https', FOREIGN, 'https://127.0.0.1/callback'],
  ['with the loopback host as user name (CVE-2026-28512)', FOREIGN, asUserName],
  ['with a user name before the loopback host', FOREIGN, 'http://user@127.0.0.1:9/callback'],
  ['with the loopback host as prefix', FOREIGN, 'http://127.0.0.1.evil.example/callback'],
  ['of another loopback host', FOREIGN, 'http://127.0.0.2:9/callback'],
  ['of the unspecified host', FOREIGN, 'http://0.0.0.0:9/callback'],
  ['of the loopback host as a decimal number', FOREIGN, 'http://2130706433:9/callback'],
  ['of the loopback host in hexadecimal', FOREIGN, 'http://0x7f.1:9/callback'],
  ['of the IPv4-mapped loopback host', FOREIGN, 'http://[::ffff:127.0.0.1]:9/callback'],
  ['of the loopback host with a zone', FOREIGN, 'http://[::1%25eth0]:9/callback'],
  ['of a private network', FOREIGN, 'http://192.168.0.1:9/callback'],
  ['of a cloud metadata service', FOREIGN, 'http://169.254.169.254/callback'],
  ['with a query', FOREIGN, 'http://127.0.0.1:9/callback?x=1'],
  ['with a fragment', FOREIGN, 'http://127.0.0.1:9/callback#x'],
  ['with a dot segment', FOREIGN, 'http://127.0.0.1:9/a/../callback'],
  ['with an encoded dot segment', FOREIGN, 'http://127.0.0.1:9/%2e%2e/callback'],
  ['with a backslash', FOREIGN, 'http://127.0.0.1:9\\@evil.example/callback'],
  ['with port 0', FOREIGN, 'http://127.0.0.1:0/callback'],
  ['with an invalid port', FOREIGN, 'http://127.0.0.1:99999/callback'],
  ['with a line break', FOREIGN, 'http://127.0.0.1:9/call\r\nback'],
  ['with a NUL', FOREIGN, 'http://127.0.0.1:9/callback\0'],
  ['with markup in its path', FOREIGN, 'http://127.0.0.1:9/<script>alert(1)</script>'],
  ['that is empty', METADATA, ''],
  ['that is relative', METADATA, '/callback'],
]

const addressRows = numbered(
  { first: 2300, attack: (what) => `redirect URI ${what}` },
  addresses,
  async ({ url }, [address]) => [
    await sendBody(url, { ...cli, redirect_uris: [address] }),
    await sendBody(url, { ...cli, redirect_uris: [...cli.redirect_uris, address] }),
  ],
)

const evil = 'https://evil.example/callback'
const asClaude = (...redirect_uris: string[]) => ({ client_name: 'Claude', redirect_uris })
const twoUris = asClaude('https://claude.ai/api/mcp/auth_callback', evil)
const marks = '\u0338\u0489'.repeat(20)
const ports = Array.from({ length: 11 }, (_, port) => `http://127.0.0.1:${port + 1}/callback`)
const foreignScheme = { client_name: 'Cursor', redirect_uris: ['com.evil.app:/oauth/callback'] }
const uris = JSON.stringify(cli.redirect_uris)
const repeated = `{"client_name":"A tool","redirect_uris":${uris},"redirect_uris":["${evil}"]}`

/** Bodies that must be refused. An object replaces members of a valid body. */
const bodies: Entries<[body: unknown, type?: string]> = [
  ['without a name', METADATA, { client_name: undefined, redirect_uris: [] }],
  ['with the name of a platform and a web redirect URI', FOREIGN, asClaude(evil)],
  ['with the name of a platform, one of its redirect URIs and a foreign one', FOREIGN, twoUris],
  ['with eleven redirect URIs', METADATA, { redirect_uris: ports }],
  ['with an object as redirect URI', METADATA, { redirect_uris: [{ toString: 'x' }] }],
  ['with redirect_uris that is not a list', METADATA, { redirect_uris: cli.redirect_uris[0] }],
  ['with a list as name', METADATA, { client_name: ['Claude'] }],
  ['with a line break in the name', METADATA, { client_name: 'A tool\nby Claude' }],
  ['with a bidi override in the name (U+202E)', METADATA, { client_name: 'A tool \u202eedualC' }],
  ['with a name of 101 characters', METADATA, { client_name: 'x'.repeat(101) }],
  ['with a lone surrogate as name', METADATA, `{"client_name":"\\ud800","redirect_uris":${uris}}`],
  ['with a NUL in the name', METADATA, { client_name: 'A tool\0' }],
  ['for the implicit grant only (CVE-2026-7571)', METADATA, { grant_types: ['implicit'] }],
  ['for client credentials only', METADATA, { grant_types: ['client_credentials'] }],
  ['for response_type token', METADATA, { response_types: ['token'] }],
  ['with a JSON member twice', METADATA, repeated],
  ['with __proto__', METADATA, `{"__proto__":{"redirect_uris":${uris}},"client_name":"A tool"}`],
  ['as a list', METADATA, [cli]],
  ['as null', METADATA, 'null'],
  ['with an empty body', METADATA, ''],
  ['with truncated JSON', METADATA, '{"client_name":'],
  ['nested 5,000 levels deep', METADATA, `${'['.repeat(5000)}${']'.repeat(5000)}`],
  ['of 17 kB', '413 invalid_request', { more: 'x'.repeat(17_000) }],
  ['as a form', '415 invalid_request', 'client_name=x', 'application/x-www-form-urlencoded'],
  ['as text/plain, which foreign pages may send', '415 invalid_request', {}, 'text/plain'],
  ['with the name of a platform and a private-use scheme of another', METADATA, foreignScheme],
  ['with a name of invisible characters (U+3164)', METADATA, { client_name: '\u3164\u3164' }],
  ['with a name of stacked combining marks', METADATA, { client_name: `A t${marks}ool` }],
]

const mergedOf = (body: unknown) =>
  typeof body === 'string' || Array.isArray(body) ? body : { ...cli, ...Object(body) }

const bodyRows = numbered(
  { first: 2350, attack: (what) => `registration ${what}` },
  bodies,
  async ({ url }, [body, type]) => await sendBody(url, mergedOf(body), type),
)

const inside = 'http://127.0.0.1:1/'
const trusted = { origin: 'first_party', x_origin: 'site', x_site_id: 'sit_northlight' }
const by = (token_endpoint_auth_method: string) => ({ token_endpoint_auth_method })
const script = 'javascript:alert(1)'
const privateKeys = { jwks_uri: 'http://169.254.169.254/', ...by('private_key_jwt') }
const afterSignOut = { post_logout_redirect_uris: [script, 'https://evil.example/'] }
const unasked = { skip_consent: true, require_auth_time: false }
const grants = ['authorization_code', 'implicit', 'password', 'client_credentials']
/**
 * Metadata that a client may not choose. It is ignored, because clients send the same body to every server
 * (RFC 7591 §2). The response contains the registered values.
 */
const choices: readonly (readonly [what: string, choice: Record<string, unknown>])[] = [
  ['client_id', { client_id: 'northlight-notes' }],
  ['client_secret (CVE-2026-44476)', { client_secret: 'chosen', ...by('client_secret_post') }],
  ['keys at a private address (CVE-2026-22752)', privateKeys],
  ['a logo at a private address (CVE-2026-5469)', { logo_uri: inside, client_uri: inside }],
  ['a logout URI', { backchannel_logout_uri: inside, frontchannel_logout_uri: script }],
  ['a javascript: URI after sign-out (CVE-2026-22752)', afterSignOut],
  ['member scopes', { scope: 'openid account:read account:write' }],
  ['request_uris', { request_uris: [inside], sector_identifier_uri: inside }],
  ['a software statement', { software_statement: 'a.b.c', initial_access_token: 'x' }],
  ['to be a trusted client (CVE-2026-41427)', { ...trusted, ...unasked }],
  ['further grant types', { grant_types: grants }],
  // Unknown members (RFC 7591 §2) and language tags (§2.2).
  ['unknown members', { 'client_name#de': 'Schlicht', nonsense: { a: 1 } }],
]

const allowed =
  /^(client_id|client_id_issued_at|client_name|application_type|redirect_uris|token_endpoint_auth_method|grant_types|response_types|scope)$/

const choiceRows = numbered(
  { first: 2390, attack: (what) => `registration that chooses ${what}` },
  answered('201', choices),
  async ({ url }, [choice]) => {
    const answer = await sendBody(url, { ...cli, ...choice })
    const { client_id, ...told } = answer.body
    expect(Object.keys(told).filter((name) => !allowed.test(name))).to.deep.equal([])
    expect(told).to.include({ token_endpoint_auth_method: 'none', client_name: 'A tool' })
    expect(client_id).to.not.equal('northlight-notes')
    expect(JSON.stringify(told)).to.not.match(/account:|implicit|password|client_credentials/)
    return answer
  },
)

export const registrationCases = tableOf('Registration', 'registration-cases.ts', [
  ...addressRows,
  ...bodyRows,
  ...choiceRows,
])
