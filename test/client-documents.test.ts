import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { askToAuthorize } from './support/client.ts'
import { documentAnswer, startDocumentHost } from './support/document-host.ts'
import { claude, configFolder, olivia, policyWith, startService } from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import { getTokens, signIn } from './support/relying-party.ts'
import { shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'
import { expectAnswer } from './support/wire.ts'

type Described = Readonly<Record<'client_id' | 'client_name', string>>

const documents: readonly Described[] = JSON.parse(
  readFileSync(join(configFolder, 'metadata-documents.json'), 'utf8'),
)

// The redirect URIs that the clients send. Local programs may use another port at each sign-in.
const redirects = [
  ['Claude', claude.redirectUri],
  ['Claude Code', 'http://localhost:54212/callback'],
  ['Claude Code', 'http://127.0.0.1:3118/callback'],
  ['ChatGPT', 'https://chatgpt.com/connector_platform_oauth_redirect'],
  ['Codex', 'http://127.0.0.1:41239/callback'],
  ['Visual Studio Code', 'http://127.0.0.1:33418/'],
  ['Visual Studio Code', 'http://127.0.0.1:50001/'],
  ['Visual Studio Code', 'https://vscode.dev/redirect'],
  ['Zed', 'http://127.0.0.1:50002/callback'],
  ['goose', 'http://127.0.0.1:50003/oauth_callback'],
  ['opencode', 'http://127.0.0.1:50004/callback'],
  ['GitHub Copilot CLI', 'http://127.0.0.1:61876/'],
  ['GitHub Copilot CLI', 'http://127.0.0.1:38923/callback'],
] as const

function named(name: string): Described {
  const found = documents.find(({ client_name }) => client_name === name)
  if (!found) throw new Error(`the configuration has no document of ${name}`)
  return found
}

describe('metadata documents of real clients, in the default configuration (Client registration 5)', () => {
  const host = shared(async () => {
    const started = await startDocumentHost()
    started.serve((request, response) => {
      const address = `https://${request.headers.host}${request.url}`
      const found = documents.find(({ client_id }) => client_id === address)
      if (found) documentAnswer(found)(request, response)
      else response.writeHead(404).end()
    })
    return started
  })
  const service = sharedService(undefined, () => startService({ fetch: host().fetch }))

  it('are those with copies in the configuration', () => {
    const copies = [...service().config.documentCopies.values()].map((text) => JSON.parse(text))
    expect(copies).to.deep.equal(documents)
    const names = documents.map(({ client_name }) => client_name)
    expect(names).to.have.members([...new Set(redirects.map(([name]) => name))])
  })

  for (const [name, redirectUri] of redirects) {
    const { client_id: clientId } = named(name)
    it(`take ${name} to the consent page and back to ${redirectUri}`, async () => {
      const asking = { clientId, redirectUri, scope: 'openid courses:read', person: olivia }
      const { person, start, exchange } = await signIn(service().url, asking)
      const tokens = await exchange()
      expect(tokens.scope).to.include('courses:read')
      expect(tokens.refresh_token).to.be.a('string')
      const { url, status, text } = await follow(person, start)
      expect(url.pathname).to.match(/\/consent$/)
      const words = [name, 'We have not checked this app.', new URL(clientId).host]
      expectAnswer({ status, text }, 200, ...words)
    })
  }

  // [Client ID Metadata Document §4.5; Client ID Metadata Document §6.1; MCP Authorization §Client ID Metadata Documents]
  it('permit only the redirect URIs of the document', async () => {
    const { client_id } = named('Claude Code')
    const others = ['http://127.0.0.1:1/other', 'http://[::1]:1/callback', claude.redirectUri]
    for (const redirect_uri of others) {
      const { text } = await askToAuthorize(service().url, { client_id, redirect_uri })
      expect(text, redirect_uri).to.include('invalid_redirect_uri')
    }
  })

  // [Client registration 5.4]
  it('are explained on a page if they cannot be read or are not admitted', async () => {
    const ask = async (client_id: string) =>
      await askToAuthorize(service().url, { client_id, redirect_uri: claude.redirectUri })
    const gone = await ask('https://claude.ai/oauth/nothing-here')
    expectAnswer(gone, 400, 'could not be read', 'href="/connect"')
    const others = ['client.example/client.json', 'github.com/evil/cli/client-metadata.json']
    const advice = ['Ask an operator of your school to add this app', 'href="/connect"']
    for (const other of others) {
      const refusal = `does not accept apps from ${other.split('/')[0]}`
      expectAnswer(await ask(`https://${other}`), 400, refusal, ...advice)
      expect(host().requests).not.to.include(other)
    }
  })
})

describe('a copy of a metadata document in the configuration', () => {
  const document = named('Claude')
  const asked = { client_id: document.client_id, redirect_uri: claude.redirectUri }
  const ask = async (url: string) => (await askToAuthorize(url, { ...asked, scope: 'openid' })).text
  it('replaces the document while its host refuses, and is refreshed after a minute', async () => {
    await using host = await startDocumentHost()
    const clock = { ms: Date.now() }
    await using service = await startService({ fetch: host.fetch, now: () => clock.ms })
    host.serve((_request, response) => response.writeHead(403).end('a challenge'))
    const asking = { ...claude, clientId: document.client_id, scope: 'openid courses:read' }
    const { tokens } = await getTokens(service.url, { ...asking, person: olivia })
    expect(tokens.access_token).to.be.a('string')
    expect(host.requests).to.have.length(1)
    clock.ms += 61_000
    host.serve({ ...document, redirect_uris: ['https://claude.ai/another'] })
    expect(await ask(service.url)).to.include('invalid_redirect_uri')
    expect(host.requests).to.have.length(2)
  })

  it('does not replace a document that is gone or invalid', async () => {
    await using host = await startDocumentHost()
    await using service = await startService({ fetch: host.fetch })
    host.serve((_request, response) => response.writeHead(404).end())
    expect(await ask(service.url)).to.include('could not be read')
    await using other = await startService({ fetch: host.fetch })
    host.serve({ ...document, client_id: 'https://claude.ai/other' })
    expect(await ask(other.url)).to.include('could not be read')
  })

  it('is not used where documents of its host are not admitted', async () => {
    const metadataDocuments = { sources: [], openRegistration: false }
    await using service = await startService({ policy: policyWith({ metadataDocuments }) })
    expect(await ask(service.url)).to.include('does not accept apps from claude.ai')
  })
})
