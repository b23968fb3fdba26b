import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { register } from './support/client.ts'
import { withoutLimits } from './support/limits.ts'
import { sharedService } from './support/storages.ts'
import { refusalOf } from './support/wire.ts'

/** A body that a real client sends (design 6). */
type Body = Record<string, unknown> & { redirect_uris?: readonly string[] | null }

const common = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

const bodyOf = (
  client_name: string | null,
  redirect_uris: string | readonly string[],
  more: Body = {},
): Body => ({ client_name, ...common, redirect_uris: [redirect_uris].flat(), ...more })

const vscodeUris = ['https://insiders.vscode.dev/redirect', 'https://vscode.dev/redirect']
/** VS Code and its derivatives send the product name and, over time, different redirect URIs. */
const vscode = (client_name: string, loopback: readonly string[], more: Body = {}) =>
  bodyOf(client_name, [...vscodeUris, ...loopback], {
    client_uri: 'https://code.visualstudio.com',
    grant_types: [...common.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
    application_type: 'native',
    ...more,
  })
const newer = ['http://127.0.0.1/', 'http://127.0.0.1:33418/']
const older = ['http://localhost/', 'http://localhost:33418/', ...newer]
const withoutPaths = older.map((uri) => uri.slice(0, -1))

const cursorUris = [
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'https://www.cursor.com/agents/mcp/oauth/callback',
  'http://localhost:8787/callback',
]
const cursor = (...redirect_uris: string[]) => bodyOf('Cursor', redirect_uris)
const onlyScheme = cursor(...cursorUris.slice(0, 1))
const foreignScheme = 'cursor://somebody.else/callback'
const mistralUri = 'https://callback.mistral.ai/v1/integrations_auth/oauth2_callback'
const mistral = (client_name: string) =>
  bodyOf(client_name, mistralUri, { token_endpoint_auth_method: 'client_secret_basic' })
const connector = 'https://chatgpt.com/connector/oauth/FLLrQdlez6Uf'
const foreignConnector = 'https://chatgpt.example/connector/oauth/FLLrQdl'
const ownN8nUri = 'https://n8n.example/rest/oauth2-credential/callback'
const n8nUri = 'https://oauth.n8n.cloud/oauth2/callback'
const olderClineUri = 'vscode://saoudrizwan.claude-dev/mcp-auth/callback/5f2d8c'
const unlisted = 'http://127.0.0.1:33418/other'
const nulls = { scope: null, application_type: null, grant_types: null, response_types: null }

const platforms: Readonly<Record<string, readonly [title: string, body: Body][]>> = {
  'integration-cursor': [
    ['Cursor', cursor(...cursorUris)],
    ['Cursor with a custom scheme that is not listed', cursor(...cursorUris, foreignScheme)],
    ['Cursor with only its custom scheme', onlyScheme],
    ['Cursor on another port', cursor('http://localhost:8788/callback')],
  ],
  'integration-vscode': [
    ['VS Code', vscode('Visual Studio Code', newer)],
    ['VS Code of 2025', vscode('Visual Studio Code', older)],
    ['VS Code without paths', vscode('Visual Studio Code', withoutPaths)],
    ['VS Code Insiders', vscode('Visual Studio Code - Insiders', newer)],
    ['VSCodium', vscode('VSCodium', older)],
    ['Positron', vscode('Positron', newer)],
    ['Code - OSS', vscode('Code - OSS', newer)],
    ['VS Code with a null scope', vscode('Visual Studio Code', newer, { scope: null })],
  ],
  'integration-chatgpt': [
    ['ChatGPT', bodyOf('ChatGPT', 'https://chatgpt.com/connector_platform_oauth_redirect')],
    ['a connector of ChatGPT', bodyOf('ChatGPT', connector)],
  ],
  'integration-mistral': [
    ['Mistral', mistral('Mistral')],
    ['Mistral AI', mistral('Mistral AI')],
    ['Le Chat', mistral('Le Chat')],
    ['Mistral Studio', mistral('mistral-mcp-client')],
  ],
  'integration-n8n': [['n8n cloud', { client_name: 'n8n', redirect_uris: [n8nUri] }]],
  'integration-cline': [
    ['Cline', bodyOf('Cline', 'http://127.0.0.1:1457/mcp/oauth/callback')],
    ['older Cline', bodyOf('Cline', olderClineUri)],
  ],
  'integration-claude': [
    ['Claude', bodyOf('Claude', 'https://claude.ai/api/mcp/auth_callback')],
    ['Claude with nulls', { client_name: 'Claude', redirect_uris: null, ...nulls }],
    ['Claude without redirect URIs', { client_name: 'Claude' }],
    ['Claude in spaces, with an empty list', { client_name: '  Claude ', redirect_uris: [] }],
  ],
}

const geminiUri = 'http://localhost:7777/oauth/callback'
const everyScope = { scope: scopeNames().join(' ') }
const byPost = { token_endpoint_auth_method: 'client_secret_post' }
const programs: readonly [title: string, body: Body][] = [
  ['Claude Code', bodyOf('Claude Code (campus)', 'http://localhost:3118/callback')],
  ['Codex', { client_name: 'Codex', redirect_uris: ['http://127.0.0.1:37819/callback/6MFBM1In-'] }],
  ['Gemini CLI', bodyOf('Gemini CLI MCP Client', geminiUri, everyScope)],
  [
    'mcp-remote',
    bodyOf('MCP CLI Proxy', 'http://localhost:3335/oauth/callback', {
      ...{ application_type: 'native', client_uri: 'https://github.com/x/mcp-cli' },
      ...{ software_id: '2e6dc280-f3c3-4e01-99a7-8181dbd1d23d', software_version: '0.15.1' },
      scope: 'account:read offline_access',
    }),
  ],
  ['Inspector', bodyOf('MCP Inspector', 'http://localhost:6274/oauth/callback', { scope: '' })],
  ['OpenCode', bodyOf('OpenCode', 'http://127.0.0.1:19876/mcp/oauth/callback', byPost)],
  ['a program with a null scope', bodyOf('A', 'http://127.0.0.1:1/cb', { scope: null })],
  ['a program without a name', bodyOf(null, 'http://127.0.0.1:1/cb')],
  ['a program with the name of a platform', bodyOf('Claude', 'http://127.0.0.1:1/callback')],
]

const advice =
  /Ask an operator of the site for a client_id, as described at \S+\/connect, or publish a client ID metadata document/
const needsPath = /needs a path: send http:\/\/localhost:3142\/callback, for example/
const noneOf = /none of the redirect_uris belongs to the platform that client_name names.*\/connect/
const refused: Readonly<Record<string, readonly [title: string, body: Body, says?: RegExp][]>> = {
  invalid_redirect_uri: [
    ['n8n of another host', bodyOf('n8n', ownN8nUri), advice],
    ['Postman', bodyOf('Postman', 'https://oauth.pstmn.io/v1/callback'), advice],
    ['Raycast', bodyOf('Raycast', 'https://raycast.com/redirect?packageName=X'), advice],
    ['Docker', bodyOf('MCP Gateway - campus', 'https://mcp.docker.com/oauth/callback'), advice],
    ['use-mcp', bodyOf('use-mcp', 'https://playground.example/oauth/callback'), advice],
    ['a loopback URI without a path', { redirect_uris: ['http://localhost:3142'] }, needsPath],
    ['an unlisted URI with listed ones', cursor(...cursorUris, 'https://cursor.example/callback')],
    ['an unlisted loopback URI beside listed URIs', vscode('Visual Studio Code', [unlisted])],
    ['the connector of another host', bodyOf('ChatGPT', foreignConnector)],
    ['a connector under another name', bodyOf('ChatGPT Connector', connector)],
  ],
  invalid_client_metadata: [
    ['a custom scheme under an unknown name', { ...onlyScheme, client_name: 'Cursor 2' }],
    ['an unlisted custom scheme of a platform', cursor(foreignScheme), noneOf],
    ['an unknown name without redirect URIs', { client_name: 'Nobody' }],
  ],
}

describe('registration with bodies of real clients (Client registration 1 to 4)', () => {
  const service = sharedService({ policy: withoutLimits })

  for (const [clientId, bodies] of Object.entries(platforms)) {
    for (const [title, sent] of bodies) {
      // [Client registration record 1; Client registration record 5; Client registration 1.1]
      // [Client registration 1.2; Client registration 0.2]
      it(`gives ${title} the client_id of its platform (Client registration 1)`, async () => {
        const { status, body } = await register(service().url, sent)
        const client_name = bodies[0]?.[1]['client_name']
        expect({ status, ...body }).to.include({ status: 201, client_id: clientId, client_name })
        const listed = (sent.redirect_uris ?? []).filter((uri) => uri !== foreignScheme)
        expect(body.redirect_uris).to.include.members(listed).and.not.include(foreignScheme)
        expect(body).not.to.have.any.keys('client_secret', 'client_id_issued_at')
      })
    }
  }

  for (const [title, sent] of programs) {
    // [RFC 7591 §3; RFC 7591 §3.1; RFC 7591 §3.2.1; RFC 7591 §2; RFC 6749 §2.1; RFC 6749 §9;
    // RFC 6749 §10.1; RFC 8252 §8.4; MCP Authorization §Dynamic Client Registration]
    // [Client registration record 2; Client registration record 4; Client registration 3.2]
    // [Client ID Metadata Document §6.9; RFC 8252 §8.5; class token handling]
    it(`gives ${title} a new public native client (Client registration 3)`, async () => {
      const { status, body, headers } = await register(service().url, sent)
      expect([status, headers.get('cache-control')]).to.deep.equal([201, 'no-store'])
      expect(body).to.deep.include({
        ...{ application_type: 'native', token_endpoint_auth_method: 'none' },
        ...{ redirect_uris: sent.redirect_uris, grant_types: common.grant_types },
        ...(sent['client_name'] !== null && { client_name: sent['client_name'] }),
      })
      expect(body.client_id_issued_at).to.be.closeTo(Date.now() / 1000, 5)
      expect(body).not.to.have.any.keys('client_secret', 'registration_access_token')
      expect(body.scope.split(' ')).not.to.include('account:read')
      expect(body.client_id).to.match(/^loopback_/)
      expect(body.client_id).to.not.equal((await register(service().url, sent)).body.client_id)
    })
  }

  for (const [error, bodies] of Object.entries(refused)) {
    for (const [title, sent, says = /\/connect/] of bodies) {
      it(`refuses ${title} with ${error} and advice [Client registration 4]`, async () => {
        const answer = await register(service().url, sent)
        expect(refusalOf(answer)).to.equal(`400 ${error}`)
        expect(answer.body.error_description).to.match(says)
        // RFC 7591 §3.2.2 requires ASCII. We use the characters of RFC 6749 §5.2, as in other errors.
        expect(answer.body.error_description).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
      })
    }
  }
})
