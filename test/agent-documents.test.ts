import { expect } from 'chai'

import { authGuide } from '../src/api/discovery/auth-md.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { toolCatalogue } from '../src/api/mcp/tool-catalogue.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { facts } from './support/facts.ts'
import { operatorToken, readTool, send } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { sharedService } from './support/shared-service.ts'

const GUIDE_BYTES_MAX = 4096

interface Card {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly version: string
  readonly icons: readonly { readonly src: string; readonly mimeType: string }[]
  readonly remotes: readonly {
    readonly url: string
    readonly supportedProtocolVersions: string[]
  }[]
}

describe('what an agent finds at the origin', () => {
  const running = sharedService()
  const get = async (path: string) => await fetch(running().url + path)

  it('is llms.txt: a heading, a summary, and links that all lead somewhere', async () => {
    const { url } = running()
    const response = await get(paths.llmsTxt)
    expect(response.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    const text = await response.text()
    expect(text).to.match(/^# .+\n\n> /)
    const links = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, link = '']) => link)
    expect(links).to.have.length.greaterThan(8)
    for (const { path } of toolAddresses) expect(links).to.include(url + path)
    for (const link of links) {
      // A page for people, with tests of its own.
      if (link === url + pages.connectHome) continue
      const { status } = await fetch(link)
      expect(status, link).to.be.oneOf([200, 401, 405])
    }
  })

  it('is a catalogue whose server cards say where each client that is refused or served connects', async () => {
    const { url } = running()
    const catalog = await get(paths.aiCatalog)
    expect(catalog.headers.get('content-type')).to.equal('application/ai-catalog+json')
    const { specVersion, entries } = (await catalog.json()) as {
      specVersion: string
      entries: { identifier: string; type: string; url: string }[]
    }
    expect(specVersion).to.equal('1.0')
    const served: string[] = []
    for (const entry of entries) {
      expect(entry.identifier).to.match(/^urn:air:[a-z0-9.-]+:mcp:[a-z-]+$/)
      const response = await fetch(entry.url, { headers: { accept: entry.type } })
      expect(response.headers.get('content-type')).to.equal('application/mcp-server-card+json')
      const card = (await response.json()) as Card
      expect(card.name).to.match(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
      expect(card.description).to.have.length.within(1, 100)
      const [remote] = card.remotes
      expect(entry.url).to.equal(`${remote?.url}/server-card`)
      served.push(remote?.url ?? '')
    }
    expect(served).to.deep.equal(toolAddresses.map(({ path }) => url + path))
    expect(await (await get(paths.serverCardEarlier)).text()).to.equal(
      await (await get(paths.serverCard)).text(),
    )
  })

  it('is a card that does not contradict what the server says of itself', async () => {
    const { url } = running()
    const card = (await (await get(paths.serverCard)).json()) as Card
    const { body } = await send(url, 'initialize', {
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test', version: '1.0.0' },
      },
    })
    const { serverInfo, protocolVersion } = body.result
    expect(card.version).to.equal(serverInfo.version)
    expect(card.title).to.equal(serverInfo.title)
    expect(card.icons).to.deep.include(serverInfo.icons[0])
    expect(card.remotes[0]?.supportedProtocolVersions).to.include(protocolVersion)
  })

  it('is an icon of this origin, in both formats, that any page may show', async () => {
    const card = (await (await get(paths.serverCard)).json()) as Card
    for (const { src, mimeType } of card.icons) {
      expect(new URL(src).origin).to.equal(running().url)
      const response = await fetch(src)
      expect([response.status, response.headers.get('content-type')?.split(';')[0]]).to.deep.equal([
        ...[200, mimeType],
      ])
      expect(response.headers.get('access-control-allow-origin')).to.equal('*')
    }
  })
})

describe('the short guide', () => {
  it(`has at most ${GUIDE_BYTES_MAX} bytes, also at a long address with everything switched on`, () => {
    const baseUrl = `https://${'campus.'.repeat(8)}example`
    const integrations = ['Claude', 'ChatGPT', 'Visual Studio Code', 'Cursor', 'Mistral'].map(
      (name) => ({ client_name: name, other_names: [] }),
    )
    const guide = authGuide({ ...facts, baseUrl, integrations })
    expect(Buffer.byteLength(guide)).to.be.within(1000, GUIDE_BYTES_MAX)
    expect(guide)
      .to.include(`${baseUrl}${paths.authMd}`)
      .and.to.not.match(/\{\{|undefined/)
  })
})

describe('what an agent is told at once', () => {
  const running = sharedService()
  const operatorScopes = scopeNames('operator').filter((scope) =>
    toolCatalogue.some(({ access }) => access.kind === 'scopes' && access.needed.includes(scope)),
  )

  it('is small: the lists of tools, the guide, and no answer twice', async () => {
    const { url } = running()
    const bytesOf = async (token?: string) => {
      const { body } = await send(url, 'tools/list', { token })
      for (const tool of body.result.tools) expect(tool).to.not.have.property('outputSchema')
      return Buffer.byteLength(JSON.stringify(body.result.tools))
    }
    // Measured 3.2, 8.2 and 36.7 KB, of 6.2, 25.5 and 87.3 before (decision 15).
    expect(await bytesOf()).to.be.below(3_600)
    expect(await bytesOf(await memberToken(url))).to.be.below(9_000)
    expect(await bytesOf(await operatorToken(url, operatorScopes.join(' ')))).to.be.below(40_000)
    expect(Buffer.byteLength(await readTool<string>(url, 'get_auth_guide'))).to.be.below(
      GUIDE_BYTES_MAX,
    )
  })

  it('is for whom it acts and what to do next, in instructions of its audience', async () => {
    const { url } = running()
    const instructions = async (path: string, token?: string) => {
      const clientInfo = { name: 'test', version: '1.0.0' }
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
      const { body } = await send(url, 'initialize', { params, path, token })
      return body.result.instructions as string
    }
    const anonymous = await instructions(paths.mcp)
    expect(anonymous).to.include(`${url}${paths.mcpMember}`).and.to.include('list_sites')
    const member = await memberToken(url)
    const asMember = await instructions(paths.mcpMember, member)
    expect(asMember).to.include('list_enrolled_courses').and.to.not.include('sign_in')
    expect(await instructions(paths.mcp, member)).to.equal(asMember)
    const operator = await operatorToken(url, operatorScopes.join(' '))
    expect(await instructions(paths.mcpAdmin, operator)).to.include('draft')
    for (const said of [anonymous, asMember]) {
      expect(said).to.include('never as instructions').and.to.have.length.below(900)
    }
  })
})
