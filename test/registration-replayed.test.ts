import { expect } from 'chai'

import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'

/** Bodies that real clients send, and what became of each where it was seen (design 6). */
type Body = Readonly<Record<string, unknown>>

const common = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/** VS Code and what is built of it send the product's name, and addresses that were others before. */
const vscode = (client_name: string, loopback: readonly string[], more: Body = {}): Body => ({
  client_name,
  client_uri: 'https://code.visualstudio.com',
  ...common,
  grant_types: [...common.grant_types, 'urn:ietf:params:oauth:grant-type:device_code'],
  redirect_uris: [
    'https://insiders.vscode.dev/redirect',
    'https://vscode.dev/redirect',
    ...loopback,
  ],
  application_type: 'native',
  ...more,
})
const newer = ['http://127.0.0.1/', 'http://127.0.0.1:33418/']
const older = [
  ...['http://localhost/', 'http://127.0.0.1/'],
  ...['http://localhost:33418/', 'http://127.0.0.1:33418/'],
]
const oldest = [
  ...['http://localhost', 'http://127.0.0.1'],
  ...['http://localhost:33418', 'http://127.0.0.1:33418'],
]

const cursorAddresses = [
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'https://www.cursor.com/agents/mcp/oauth/callback',
  'http://localhost:8787/callback',
]
const cursor = { client_name: 'Cursor', ...common, redirect_uris: cursorAddresses }
const mistral = {
  ...common,
  redirect_uris: ['https://callback.mistral.ai/v1/integrations_auth/oauth2_callback'],
  token_endpoint_auth_method: 'client_secret_basic',
}
const chatgpt = (redirect_uri: string) => ({
  client_name: 'ChatGPT',
  ...common,
  redirect_uris: [redirect_uri],
})
const connector = 'https://chatgpt.com/connector/oauth/FLLrQdlez6Uf'

/** With the client_id that the platform has. */
const platforms: [title: string, body: Body, clientId: string][] = [
  ['Cursor with its own scheme', cursor, 'integration-cursor'],
  [
    'Cursor with an own scheme that is not listed',
    { ...cursor, redirect_uris: [...cursorAddresses, 'cursor://somebody.else/callback'] },
    'integration-cursor',
  ],
  [
    'Cursor with nothing but its own scheme',
    { ...cursor, redirect_uris: cursorAddresses.slice(0, 1) },
    'integration-cursor',
  ],
  [
    'Cursor where another program has its port',
    { ...cursor, redirect_uris: ['http://localhost:8788/callback'] },
    'integration-cursor',
  ],
  ['VS Code', vscode('Visual Studio Code', newer), 'integration-vscode'],
  ['VS Code of 2025', vscode('Visual Studio Code', older), 'integration-vscode'],
  ['VS Code without paths', vscode('Visual Studio Code', oldest), 'integration-vscode'],
  ['VS Code Insiders', vscode('Visual Studio Code - Insiders', newer), 'integration-vscode'],
  ['VSCodium', vscode('VSCodium', older), 'integration-vscode'],
  ['Positron', vscode('Positron', newer), 'integration-vscode'],
  ['Code - OSS', vscode('Code - OSS', newer), 'integration-vscode'],
  [
    'VS Code without scopes to ask for',
    vscode('Visual Studio Code', newer, { scope: null }),
    'integration-vscode',
  ],
  [
    'ChatGPT',
    chatgpt('https://chatgpt.com/connector_platform_oauth_redirect'),
    'integration-chatgpt',
  ],
  ['a connector of ChatGPT', chatgpt(connector), 'integration-chatgpt'],
  ['Mistral', { client_name: 'Mistral', ...mistral }, 'integration-mistral'],
  ['Mistral AI', { client_name: 'Mistral AI', ...mistral }, 'integration-mistral'],
  ['Le Chat', { client_name: 'Le Chat', ...mistral }, 'integration-mistral'],
  ['Mistral Studio', { client_name: 'mistral-mcp-client', ...mistral }, 'integration-mistral'],
  [
    'Claude',
    {
      client_name: 'Claude',
      ...common,
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    },
    'integration-claude',
  ],
  [
    'Claude that writes null for what it has not',
    {
      client_name: 'Claude',
      redirect_uris: null,
      scope: null,
      application_type: null,
      grant_types: null,
      response_types: null,
    },
    'integration-claude',
  ],
]

/** With a client_id of their own. */
const programs: [title: string, body: Body][] = [
  [
    'Claude Code',
    {
      client_name: 'Claude Code (campus)',
      ...common,
      redirect_uris: ['http://localhost:3118/callback'],
      application_type: 'native',
    },
  ],
  [
    'Codex',
    {
      client_name: 'Codex',
      ...common,
      redirect_uris: ['http://127.0.0.1:37819/callback/6MFBM1In3Ey-'],
      application_type: 'native',
    },
  ],
  [
    'Gemini CLI',
    {
      client_name: 'Gemini CLI MCP Client',
      ...common,
      redirect_uris: ['http://localhost:7777/oauth/callback'],
      scope: scopeNames().join(' '),
    },
  ],
  ['a program without scopes', { redirect_uris: ['http://127.0.0.1:1/cb'], scope: null }],
  ['a program without a name', { client_name: null, redirect_uris: ['http://127.0.0.1:1/cb'] }],
  [
    'a program under the name of a platform',
    { client_name: 'Claude', redirect_uris: ['http://127.0.0.1:1/callback'] },
  ],
]

/** Not admitted, and told where to go. */
const refused: [title: string, body: Body, error: string, says: RegExp][] = [
  ...[
    ['n8n cloud', 'n8n', 'https://oauth.n8n.cloud/oauth2/callback'],
    ['Postman', 'Postman', 'https://oauth.pstmn.io/v1/callback'],
    [
      'Copilot Studio',
      'Microsoft Copilot Studio',
      'https://global.consent.azure-apim.net/redirect/x',
    ],
    ['Perplexity', 'Perplexity', 'https://www.perplexity.ai/rest/connections/oauth_callback'],
    ['Docker', 'MCP Gateway - campus', 'https://mcp.docker.com/oauth/callback'],
    ['Raycast', 'Raycast', 'https://raycast.com/redirect?packageName=Extension'],
    ['a page with use-mcp', 'use-mcp', 'https://playground.example/oauth/callback'],
  ].map(([title = '', client_name, uri]): (typeof refused)[number] => [
    title,
    { client_name, ...common, redirect_uris: [uri] },
    'invalid_redirect_uri',
    /Ask an operator of the site for a client_id at \S+\/connect, or publish a client ID metadata document/,
  ]),
  [
    'a loopback address without a path',
    { redirect_uris: ['http://localhost:3142'] },
    'invalid_redirect_uri',
    /needs a path: send http:\/\/localhost:3142\/callback, for example/,
  ],
  [
    'a listed address beside one that is not',
    { ...cursor, redirect_uris: [...cursorAddresses, 'https://cursor.example/callback'] },
    'invalid_redirect_uri',
    /\/connect/,
  ],
  [
    'a listed address beside a loopback one that is not',
    vscode('Visual Studio Code', ['http://127.0.0.1:33418/other']),
    'invalid_redirect_uri',
    /\/connect/,
  ],
  [
    'the connector of another host',
    chatgpt('https://chatgpt.example/connector/oauth/FLLrQdlez6Uf'),
    'invalid_redirect_uri',
    /\/connect/,
  ],
  [
    'a connector under another name',
    { ...chatgpt(connector), client_name: 'ChatGPT Connector' },
    'invalid_redirect_uri',
    /\/connect/,
  ],
  [
    'an own scheme under a name that is not known',
    { ...cursor, client_name: 'Cursor 2', redirect_uris: cursorAddresses.slice(0, 1) },
    'invalid_client_metadata',
    /\/connect/,
  ],
  [
    'an own scheme that the platform has not',
    { ...cursor, redirect_uris: ['cursor://somebody.else/callback'] },
    'invalid_client_metadata',
    /none of the redirect_uris belongs to the platform.*\/connect/,
  ],
  ['nobody', { client_name: 'Nobody' }, 'invalid_client_metadata', /\/connect/],
]

async function register(url: string, body: Body) {
  const response = await fetch(url + paths.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, answer: (await response.json()) as Body }
}

describe('registration replayed: bodies of real clients (Client registration 1 to 4)', () => {
  const service = sharedService({
    policy: (policy) => ({
      ...policy,
      registration: { ...policy.registration, registrationsPerAddressMax: 1000 },
    }),
  })

  for (const [title, body, clientId] of platforms) {
    it(`answers ${title} with the client_id of its platform`, async () => {
      const { status, answer } = await register(service().url, body)
      expect([status, answer['client_id']]).to.deep.equal([201, clientId])
      const sent = (body['redirect_uris'] ?? []) as string[]
      const listed = sent.filter((uri) => !uri.startsWith('cursor://somebody.else'))
      expect(answer['redirect_uris']).to.include.members(listed)
      expect(answer['redirect_uris']).not.to.include('cursor://somebody.else/callback')
      expect(answer).not.to.have.any.keys('client_secret')
    })
  }

  for (const [title, body] of programs) {
    it(`gives ${title} a client_id of its own`, async () => {
      const { status, answer } = await register(service().url, body)
      expect(status).to.equal(201)
      expect(answer['client_id']).to.match(/^loopback_/)
      expect(answer['redirect_uris']).to.deep.equal(body['redirect_uris'])
    })
  }

  for (const [title, body, error, says] of refused) {
    // [Client registration 4]
    it(`refuses ${title} with ${error}, and says what to do`, async () => {
      const { status, answer } = await register(service().url, body)
      expect([status, answer['error']]).to.deep.equal([400, error])
      expect(answer['error_description']).to.match(says)
      // RFC 7591 §3.2.2 takes the characters of RFC 6749 §5.2.
      expect(answer['error_description']).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    })
  }

  it('advises a metadata document only where one could be admitted', async () => {
    await using strict = await startService({
      policy: (policy) => ({
        ...policy,
        metadataDocuments: { hosts: [], openRegistration: false },
      }),
    })
    const { answer } = await register(strict.url, { client_name: 'Nobody' })
    expect(answer['error_description']).to.include(`${strict.url}/connect`)
    expect(answer['error_description']).not.to.include('metadata document')
  })
})
