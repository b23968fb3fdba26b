import {
  Client as Client2,
  type OAuthClientProvider as Provider2,
  StreamableHTTPClientTransport as Transport2,
  UnauthorizedError as Unauthorized2,
} from '@modelcontextprotocol/client'
import {
  type OAuthClientProvider as Provider1,
  UnauthorizedError as Unauthorized1,
} from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'

import { MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { notes, sam } from './support/gatehouse.ts'
import { answerIn, sdkProvider } from './support/mcp.ts'
import { readMember } from './support/member-api.ts'
import { sharedService } from './support/storages.ts'

const me = { name: 'test client', version: '1.0.0' }

describe('MCP clients at the tool endpoint', () => {
  const running = sharedService()
  const getViewer = { name: 'get_viewer', arguments: {} }
  const failure = (error: unknown) => error

  const openClient2 = async (authProvider: Provider2, mode: 'auto' | 'legacy' = 'auto') => {
    const transport = new Transport2(new URL(running().url + paths.mcp), { authProvider })
    const client = new Client2(me, { versionNegotiation: { mode } })
    await client.connect(transport)
    const version = mode === 'auto' ? '2026-07-28' : '2025-11-25'
    expect(client.getNegotiatedProtocolVersion()).to.equal(version)
    return { client, finish: async (callback: URLSearchParams) => transport.finishAuth(callback) }
  }
  const openClient1 = async (provider: Provider2) => {
    const authProvider = provider as unknown as Provider1
    const transport = new Transport1(new URL(running().url + paths.mcp), { authProvider })
    const client = new Client1(me)
    await client.connect(transport as Transport)
    const finish = async (callback: URLSearchParams) =>
      await transport.finishAuth(callback.get('code') ?? '')
    return { client, finish }
  }

  for (const [which, open, Unauthorized] of [
    ['client 2 (auto)', openClient2, Unauthorized2],
    ['client 2 (legacy)', (provider: Provider2) => openClient2(provider, 'legacy'), Unauthorized2],
    ['client 1', openClient1, Unauthorized1],
  ] as const) {
    // [MCP Authorization §Resource Parameter Implementation; Tool endpoint 1.1; Tool endpoint 2]
    it(`serves the SDK's ${which} anonymously, challenges it, and serves it signed in, with the data of the Member API`, async () => {
      const { asked, provider, callback, accessToken } = sdkProvider(notes, sam)
      const anonymous = await open(provider)
      const before = (await anonymous.client.listTools()).tools.map(({ name }) => name)
      expect(before).to.have.length(6).and.include('sign_in').and.not.include('get_viewer')
      const refused = await anonymous.client.callTool(getViewer).catch(failure)
      expect(refused).to.be.instanceOf(Unauthorized)
      expect(asked).to.deep.equal([MEMBER_READ])
      await anonymous.finish(callback())
      await anonymous.client.close()

      const { client } = await open(provider)
      expect((await client.listTools()).tools.map(({ name }) => name)).to.include('get_viewer')
      const viewer = answerIn(await client.callTool(getViewer))
      expect(viewer).to.include({ id: 'per_sam', name: 'Sam Student' })
      const list = { name: 'list_enrolled_courses', arguments: { first: 2 } }
      expect(answerIn(await client.callTool(list))).to.have.nested.property('nodes.length', 2)
      await client.close()
      const query = '{ viewer { id name email schools { id slug name roles } } }'
      const member = { url: running().url, token: accessToken() }
      expect(await readMember(member, query)).to.deep.equal({ viewer })
    })
  }

  it('lets client 2 sign in when its connection to /mcp/member is refused', async () => {
    const { asked, provider: authProvider, callback } = sdkProvider(notes, sam)
    const address = new URL(running().url + paths.mcpMember)
    const first = new Transport2(address, { authProvider })
    expect(await new Client2(me).connect(first).catch(failure)).to.be.instanceOf(Unauthorized2)
    expect(asked).to.deep.equal([`${MEMBER_READ} ${MEMBER_WRITE}`])
    await first.finishAuth(callback())
    const client = new Client2(me)
    await client.connect(new Transport2(address, { authProvider }))
    expect((await client.listTools()).tools.map(({ name }) => name)).to.include('get_viewer')
    expect(answerIn(await client.callTool(getViewer))).to.include({ id: 'per_sam' })
    await client.close()
  })

  it('lets client 2 step up to account:write when a tool needs it', async () => {
    const { asked, provider, callback } = sdkProvider(notes, sam)
    const markAll = { name: 'mark_all_notifications_read', arguments: {} }
    for (const call of [getViewer, markAll]) {
      const { client, finish } = await openClient2(provider)
      expect(await client.callTool(call).catch(failure), call.name).to.be.instanceOf(Unauthorized2)
      await finish(callback())
      await client.close()
    }
    expect(asked.at(-1)?.split(' ')).to.have.members([MEMBER_READ, MEMBER_WRITE])
    const { client } = await openClient2(provider)
    expect(answerIn(await client.callTool(markAll))).to.include({ unreadNotificationCount: 0 })
    await client.close()
  })
})
