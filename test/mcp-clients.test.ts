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
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { notes, sam } from './support/gatehouse.ts'
import { answerIn } from './support/mcp.ts'
import { readMember } from './support/member-api.ts'
import { sharedService } from './support/shared-service.ts'

const me = { name: 'test client', version: '1.0.0' }

interface Kept {
  tokens?: { access_token: string }
  verifier: string
  callback: URL | undefined
  discovery: unknown
}

/**
 * What an application keeps for its user, with a member application's client_id in it. A person at
 * a browser without a screen goes where the client sends them.
 */
function keepsake() {
  const kept: Kept = { verifier: '', callback: undefined, discovery: undefined }
  const asked: string[] = []
  const provider = {
    redirectUrl: notes.redirectUri,
    clientMetadata: { client_name: me.name, redirect_uris: [notes.redirectUri] },
    clientInformation: () => ({ client_id: notes.clientId }),
    tokens: () => kept.tokens,
    saveTokens(tokens: { access_token: string }) {
      kept.tokens = tokens
    },
    async redirectToAuthorization(address: URL) {
      asked.push(address.searchParams.get('scope') ?? '')
      kept.callback = await makeHeadlessPerson(sam).authorize(address, notes.redirectUri)
    },
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier,
    saveDiscoveryState(state: unknown) {
      kept.discovery = state
    },
    discoveryState: () => kept.discovery,
  }
  return { kept, asked, provider }
}

describe('MCP clients at the tool endpoint', () => {
  const running = sharedService()

  for (const mode of ['auto', 'legacy'] as const) {
    // [MCP Authorization §Resource Parameter Implementation; Tool endpoint 1.1]
    it(`serves the SDK's client 2 (${mode}) anonymously, challenges it, and serves it signed in`, async () => {
      const { url } = running()
      const { kept, asked, provider } = keepsake()
      const open = () => openClient2(url, provider, mode)
      const anonymous = await open()
      const before = (await anonymous.client.listTools()).tools.map(({ name }) => name)
      expect(before).to.include('sign_in').and.not.include('get_viewer')
      const refused = await anonymous.client
        .callTool({ name: 'get_viewer', arguments: {} })
        .catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(Unauthorized2)
      expect(asked).to.deep.equal([MEMBER_READ])
      await anonymous.transport.finishAuth(kept.callback?.searchParams ?? new URLSearchParams())
      await anonymous.client.close()

      const { client } = await open()
      expect((await client.listTools()).tools.map(({ name }) => name)).to.include('get_viewer')
      const answer = await client.callTool({ name: 'get_viewer', arguments: {} })
      expect(answerIn(answer)).to.include({ id: 'per_sam', name: 'Sam Student' })
      await client.close()
      await expectMemberApiTakes(url, kept.tokens?.access_token)
    })
  }

  it('lets client 2 step up to account:write when a tool needs it', async () => {
    const { url } = running()
    const { kept, asked, provider } = keepsake()
    const open = () => openClient2(url, provider, 'auto')
    for (const name of ['get_viewer', 'mark_all_notifications_read']) {
      const { client, transport } = await open()
      const refused = await client
        .callTool({ name, arguments: {} })
        .catch((error: unknown) => error)
      expect(refused, name).to.be.instanceOf(Unauthorized2)
      await transport.finishAuth(kept.callback?.searchParams ?? new URLSearchParams())
      await client.close()
    }
    expect(asked.at(-1)?.split(' ')).to.have.members([MEMBER_READ, MEMBER_WRITE])
    const { client } = await open()
    const answer = await client.callTool({ name: 'mark_all_notifications_read', arguments: {} })
    expect(answerIn(answer)).to.include({ unreadNotificationCount: 0 })
    await client.close()
  })

  // [Tool endpoint 1.1]
  it("serves the SDK's client 1 anonymously, challenges it, and serves it signed in", async () => {
    const { url } = running()
    const { kept, asked, provider } = keepsake()
    const open = async () => {
      const transport = new Transport1(new URL(url + paths.mcp), {
        authProvider: provider as unknown as Provider1,
      })
      const client = new Client1(me)
      await client.connect(transport as Transport)
      return { client, transport }
    }
    const anonymous = await open()
    expect((await anonymous.client.listTools()).tools).to.have.length(6)
    const refused = await anonymous.client
      .callTool({ name: 'get_viewer', arguments: {} })
      .catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Unauthorized1)
    expect(asked).to.deep.equal([MEMBER_READ])
    await anonymous.transport.finishAuth(kept.callback?.searchParams.get('code') ?? '')
    await anonymous.client.close()

    const { client } = await open()
    // The client holds each answer against the output schema of its tool.
    await client.listTools()
    const answer = await client.callTool({ name: 'list_enrolled_courses', arguments: { first: 2 } })
    expect(answer.isError).to.not.equal(true)
    expect(answerIn(answer)).to.have.nested.property('nodes.length', 2)
    await client.close()
    await expectMemberApiTakes(url, kept.tokens?.access_token)
  })
})

async function openClient2(url: string, provider: unknown, mode: 'auto' | 'legacy') {
  const transport = new Transport2(new URL(url + paths.mcp), {
    authProvider: provider as Provider2,
  })
  const client = new Client2(me, { versionNegotiation: { mode } })
  await client.connect(transport)
  expect(client.getNegotiatedProtocolVersion()).to.equal(
    mode === 'auto' ? '2026-07-28' : '2025-11-25',
  )
  return { client, transport }
}

async function expectMemberApiTakes(url: string, token: string | undefined): Promise<void> {
  expect(await readMember({ url, token }, '{ viewer { id } }')).to.deep.equal({
    viewer: { id: 'per_sam' },
  })
}
