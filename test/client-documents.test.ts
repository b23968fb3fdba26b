import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize } from './support/client.ts'
import { type DocumentHost, documentAnswer, startDocumentHost } from './support/document-host.ts'
import { olivia, type RunningService, startService } from './support/gatehouse.ts'
import { signIn } from './support/relying-party.ts'
import { requireProgram } from './support/skipped.ts'

const read = (name: string) => {
  const file = join(import.meta.dirname, `data/client-documents/${name}.json`)
  return JSON.parse(readFileSync(file, 'utf8')) as { client_id: string; client_name: string }
}

/** Where each returns to; programs of a person's computer choose the port anew each time. */
const clients: [file: string, redirectUri: string, warns: string][] = [
  ['claude', 'https://claude.ai/api/mcp/auth_callback', 'This application describes itself.'],
  ['claude-code', 'http://localhost:54212/callback', 'This application describes itself.'],
  ['claude-code', 'http://127.0.0.1:3118/callback', 'This application describes itself.'],
  [
    'chatgpt',
    'https://chatgpt.com/connector_platform_oauth_redirect',
    'This application describes itself.',
  ],
  ['codex', 'http://127.0.0.1:41239/callback', 'This application describes itself.'],
  ['vscode', 'http://127.0.0.1:33418/', 'This application describes itself.'],
  ['vscode', 'http://127.0.0.1:50001/', 'This application describes itself.'],
  ['vscode', 'https://vscode.dev/redirect', 'This application describes itself.'],
]

describe('the metadata documents of real clients, in the default configuration (Client registration 5)', () => {
  let host: DocumentHost
  let service: RunningService
  before(async function () {
    host = await startDocumentHost(requireProgram(this, 'openssl'))
    const documents = ['claude', 'claude-code', 'chatgpt', 'codex', 'vscode'].map(read)
    host.serve((request, response) => {
      const address = `https://${request.headers.host}${request.url}`
      const found = documents.find(({ client_id }) => client_id === address)
      if (found) documentAnswer(found)(request, response)
      else response.writeHead(404).end()
    })
    service = await startService({ fetch: host.fetch })
  })
  after(async () => {
    await service?.[Symbol.asyncDispose]()
    await host?.[Symbol.asyncDispose]()
  })

  it('are those of which the configuration has copies', () => {
    const copies = [...service.config.documentCopies.values()].map((text) => JSON.parse(text))
    expect(copies).to.deep.equal(['claude', 'claude-code', 'chatgpt', 'codex', 'vscode'].map(read))
  })

  it('are advertised', async () => {
    for (const path of [paths.authorizationServer, paths.openidConfiguration]) {
      const metadata = (await (await fetch(service.url + path)).json()) as object
      expect(metadata).to.include({ client_id_metadata_document_supported: true })
      expect(Reflect.get(metadata, 'token_endpoint_auth_methods_supported')).to.include('none')
    }
  })

  for (const [file, redirectUri, warns] of clients) {
    const { client_id: clientId, client_name: name } = read(file)
    it(`take ${name} to the consent page and back to ${redirectUri}`, async () => {
      const asking = { clientId, redirectUri, scope: 'openid courses:read', person: olivia }
      const { person, start, exchange } = await signIn(service.url, asking)
      const tokens = await exchange()
      expect(tokens.scope).to.include('courses:read')
      expect(tokens.refresh_token).to.be.a('string')
      const stop = (await person.open(start)).headers.get('location') ?? ''
      expect(stop).to.match(/\/consent$/)
      const page = await (await person.open(new URL(stop, service.url))).text()
      expect(page).to.include(name).and.include(warns)
      expect(page).to.include(new URL(clientId).host)
    })
  }

  // [Client ID Metadata Document §4.5; MCP Authorization §Client ID Metadata Documents]
  it('admit no address that a document does not have', async () => {
    const { client_id } = read('claude-code')
    for (const redirect_uri of [
      'http://127.0.0.1:1/other',
      'http://[::1]:1/callback',
      'https://claude.ai/api/mcp/auth_callback',
    ]) {
      const { text } = await askToAuthorize(service.url, { client_id, redirect_uri })
      expect(text, redirect_uri).to.include('invalid_redirect_uri')
    }
  })

  it('say on a page what is wrong when one cannot be read, or its host is not admitted', async () => {
    const gone = await askToAuthorize(service.url, {
      client_id: 'https://claude.ai/oauth/nothing-here',
      redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
    })
    expect(gone.status).to.equal(400)
    expect(gone.text).to.include('could not be read').and.include('href="/connect"')
    const foreign = await askToAuthorize(service.url, {
      client_id: 'https://client.example/client.json',
      redirect_uri: 'https://client.example/callback',
    })
    expect(foreign.text).to.include('are not admitted here').and.include('href="/connect"')
    expect(host.requests).not.to.include('client.example/client.json')
  })
})

describe('a copy of a metadata document in the configuration', () => {
  const { client_id: clientId } = read('claude')
  const redirectUri = 'https://claude.ai/api/mcp/auth_callback'
  const asking = { clientId, redirectUri, scope: 'openid courses:read', person: olivia }
  const ask = async (url: string) =>
    await askToAuthorize(url, { client_id: clientId, redirect_uri: redirectUri, scope: 'openid' })
  let openssl = ''
  before(function () {
    openssl = requireProgram(this, 'openssl')
  })

  it('stands in where the host turns the service away, which asks again after a minute', async () => {
    await using host = await startDocumentHost(openssl)
    const clock = { ms: Date.now() }
    await using service = await startService({ fetch: host.fetch, now: () => clock.ms })
    host.serve((_request, response) => response.writeHead(403).end('a challenge'))
    const { exchange } = await signIn(service.url, asking)
    expect((await exchange()).access_token).to.be.a('string')
    expect(host.requests).to.have.length(1)
    clock.ms += 61_000
    host.serve({ ...read('claude'), redirect_uris: ['https://claude.ai/another'] })
    expect((await ask(service.url)).text).to.include('invalid_redirect_uri')
    expect(host.requests).to.have.length(2)
  })

  it('does not when the host says that the document is gone, or wrong', async () => {
    await using host = await startDocumentHost(openssl)
    await using service = await startService({ fetch: host.fetch })
    host.serve((_request, response) => response.writeHead(404).end())
    expect((await ask(service.url)).text).to.include('could not be read')
    await using other = await startService({ fetch: host.fetch })
    host.serve({ ...read('claude'), client_id: 'https://claude.ai/other' })
    expect((await ask(other.url)).text).to.include('could not be read')
  })

  it('does not where documents of its host are not admitted', async () => {
    await using service = await startService({
      policy: (policy) => ({
        ...policy,
        metadataDocuments: { hosts: [], openRegistration: false },
      }),
    })
    expect((await ask(service.url)).text).to.include('are not admitted here')
  })
})
