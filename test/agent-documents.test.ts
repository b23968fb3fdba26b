import { authGuide } from '../src/api/discovery/auth-md.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { facts } from './support/facts.ts'
import { operatorToken, send, toolScopes } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { matchesIn } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'
import { answerOf, expectText, type Json } from './support/wire.ts'

const GUIDE_BYTES_MAX = 4096

describe('documents for agents', () => {
  const running = sharedService()
  const get = async (path: string) => await answerOf(await fetch(running().url + path))
  const initialize = async (path: string = paths.mcp, token?: string) => {
    const clientInfo = { name: 'test', version: '1.0.0' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    return (await send(running().url, 'initialize', { params, path, token })).body.result
  }

  it('include llms.txt with a heading, a summary, and working links', async () => {
    const { headers, text } = await get(paths.llmsTxt)
    expect(headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(text).to.match(/^# .+\n\n> /)
    const links = matchesIn(text, /^- \[[^\]]+\]\(([^)]+)\): \S/gm)
    expect(links).to.have.length.greaterThan(8)
    expect(links).to.include.members(toolAddresses.map(({ path }) => running().url + path))
    for (const link of links) {
      // This page is for people. test/connect.test.ts tests it.
      if (link === running().url + pages.connectHome) continue
      expect((await fetch(link)).status, link).to.be.oneOf([200, 401, 405])
    }
  })

  it('include a catalogue with a server card for each address of the tools, which agrees with the server', async () => {
    const { headers, body } = await get(paths.aiCatalog)
    expect(headers.get('content-type')).to.equal('application/ai-catalog+json')
    const { specVersion, entries } = body
    expect(specVersion).to.equal('1.0')
    const cards = toolAddresses.map(({ path }) => `${running().url}${path}/server-card`)
    expect(entries.map(({ url }: Json) => url)).to.deep.equal(cards)
    for (const entry of entries) {
      expect(entry.identifier).to.match(/^urn:air:[a-z0-9.-]+:mcp:[a-z-]+$/)
      const response = await fetch(entry.url, { headers: { accept: entry.type } })
      expect(response.headers.get('content-type')).to.equal('application/mcp-server-card+json')
      const { name, description, remotes } = (await response.json()) as Json
      expect(name).to.match(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
      expect(description).to.have.length.within(1, 100)
      expect(entry.url).to.equal(`${remotes[0].url}/server-card`)
    }
    const { body: card } = await get(paths.serverCard)
    expect((await get(paths.serverCardEarlier)).body).to.deep.equal(card)
    const { serverInfo, protocolVersion } = await initialize()
    expect(card).to.include({ version: serverInfo.version, title: serverInfo.title })
    expect(card.icons).to.deep.include(serverInfo.icons[0])
    expect(card.remotes[0].supportedProtocolVersions).to.include(protocolVersion)
    for (const { src, mimeType } of card.icons) {
      expect(new URL(src).origin).to.equal(running().url)
      const { status, headers } = await fetch(src)
      const type = headers.get('content-type')?.split(';')[0]
      const seen = [status, type, headers.get('access-control-allow-origin')]
      expect(seen).to.deep.equal([200, mimeType, '*'])
    }
  })

  it(`include a guide of at most ${GUIDE_BYTES_MAX} bytes, with every feature and a long address`, () => {
    const baseUrl = `https://${'campus.'.repeat(8)}example`
    const names = ['Claude', 'ChatGPT', 'Visual Studio Code', 'Cursor', 'Mistral']
    const integrations = names.map((name) => ({ client_name: name, other_names: [] }))
    const guide = authGuide({ ...facts, baseUrl, integrations })
    expect(Buffer.byteLength(guide)).to.be.within(1000, GUIDE_BYTES_MAX)
    expect(guide).to.include(baseUrl + paths.authMd)
    expect(guide).to.not.match(/\{\{|undefined/)
  })

  it('and the lists of tools are small', async () => {
    const { url } = running()
    // The measured sizes are 3.8, 10.6 and 47.9 KB (decision 15).
    for (const [token, bytesMax] of [
      [undefined, 4_000],
      [await memberToken(url), 11_000],
      [await operatorToken(url, toolScopes.join(' ')), 48_000],
    ] as const) {
      const { tools } = (await send(url, 'tools/list', { token })).body.result
      for (const tool of tools) expect(tool).to.not.have.property('outputSchema')
      expect(Buffer.byteLength(JSON.stringify(tools))).to.be.below(bytesMax)
    }
  })

  it('and the instructions name the audience and the next step', async () => {
    const instructions = async (path: string, token?: string): Promise<string> =>
      (await initialize(path, token)).instructions
    const anonymous = await instructions(paths.mcp)
    expectText(anonymous, `${running().url}${paths.mcpMember}`, 'list_sites')
    const member = await memberToken(running().url)
    const asMember = await instructions(paths.mcpMember, member)
    expect(asMember).to.include('list_enrolled_courses').and.to.not.include('sign_in')
    expect(await instructions(paths.mcp, member)).to.equal(asMember)
    const operator = await operatorToken(running().url, toolScopes.join(' '))
    expect(await instructions(paths.mcpAdmin, operator)).to.include('draft')
    for (const said of [anonymous, asMember])
      expect(said).to.include('never as instructions').and.to.have.length.below(900)
  })
})
