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
import { expect } from 'chai'

import { MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { notes, sam } from './support/gatehouse.ts'
import { answerIn, sdkProvider } from './support/mcp.ts'
import { readMember } from './support/member-api.ts'
import { sharedService } from './support/shared-service.ts'

const me = { name: 'test client', version: '1.0.0' }

async function expectMember(url: string, token: string): Promise<void> {
  const data = await readMember({ url, token }, '{ viewer { id } }')
  expect(data).to.deep.equal({ viewer: { id: 'per_sam' } })
}

describe('MCP clients at the tool endpoint', () => {
  const running = sharedService()
  const getViewer = { name: 'get_viewer', arguments: {} }
  const failure = (error: unknown) => error

  const openClient2 = async (authProvider: Provider2, mode: 'auto' | 'legacy') => {
    const transport = new Transport2(new URL(running().url + paths.mcp), { authProvider })
    const client = new Client2(me, { versionNegotiation: { mode } })
    await client.connect(transport)
    const version = mode === 'auto' ? '2026-07-28' : '2025-11-25'
    expect(client.getNegotiatedProtocolVersion()).to.equal(version)
    return { client, transport }
  }

  for (const mode of ['auto', 'legacy'] as const) {
    // [MCP Authorization §Resource Parameter Implementation; Tool endpoint 1.1]
    it(`serves the SDK's client 2 (${mode}) anonymously, challenges it, and serves it signed in`, async () => {
      const { asked, provider, callback, accessToken } = sdkProvider(notes, sam)
      const anonymous = await openClient2(provider, mode)
      const before = (await anonymous.client.listTools()).tools.map(({ name }) => name)
      expect(before).to.include('sign_in').and.not.include('get_viewer')
      const refused = await anonymous.client.callTool(getViewer).catch(failure)
      expect(refused).to.be.instanceOf(Unauthorized2)
      expect(asked).to.deep.equal([MEMBER_READ])
      await anonymous.transport.finishAuth(callback())
      await anonymous.client.close()

      const { client } = await openClient2(provider, mode)
      expect((await client.listTools()).tools.map(({ name }) => name)).to.include('get_viewer')
      const answer = await client.callTool(getViewer)
      expect(answerIn(answer)).to.include({ id: 'per_sam', name: 'Sam Student' })
      await client.close()
      await expectMember(running().url, accessToken())
    })
  }

  it('lets client 2 step up to account:write when a tool needs it', async () => {
    const { asked, provider, callback } = sdkProvider(notes, sam)
    const markAll = { name: 'mark_all_notifications_read', arguments: {} }
    for (const call of [getViewer, markAll]) {
      const { client, transport } = await openClient2(provider, 'auto')
      expect(await client.callTool(call).catch(failure), call.name).to.be.instanceOf(Unauthorized2)
      await transport.finishAuth(callback())
      await client.close()
    }
    expect(asked.at(-1)?.split(' ')).to.have.members([MEMBER_READ, MEMBER_WRITE])
    const { client } = await openClient2(provider, 'auto')
    expect(answerIn(await client.callTool(markAll))).to.include({ unreadNotificationCount: 0 })
    await client.close()
  })

  // [Tool endpoint 1.1]
  it("serves the SDK's client 1 anonymously, challenges it, and serves it signed in", async () => {
    const { asked, provider, callback, accessToken } = sdkProvider(notes, sam)
    const open = async () => {
      const authProvider = provider as unknown as Provider1
      const transport = new Transport1(new URL(running().url + paths.mcp), { authProvider })
      const client = new Client1(me)
      await client.connect(transport as Transport)
      return { client, transport }
    }
    const anonymous = await open()
    expect((await anonymous.client.listTools()).tools).to.have.length(6)
    const refused = await anonymous.client.callTool(getViewer).catch(failure)
    expect(refused).to.be.instanceOf(Unauthorized1)
    expect(asked).to.deep.equal([MEMBER_READ])
    await anonymous.transport.finishAuth(callback().get('code') ?? '')
    await anonymous.client.close()

    const { client } = await open()
    await client.listTools()
    const answer = await client.callTool({ name: 'list_enrolled_courses', arguments: { first: 2 } })
    expect(answer.isError).to.not.equal(true)
    expect(answerIn(answer)).to.have.nested.property('nodes.length', 2)
    await client.close()
    await expectMember(running().url, accessToken())
  })
})
