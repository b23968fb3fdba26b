import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { expect } from 'chai'

import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { toolCatalogue } from '../src/api/mcp/tool-catalogue.ts'
import {
  findScope,
  MEMBER_READ,
  MEMBER_WRITE,
  scopeNames,
} from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { notes, olivia, sam } from './support/gatehouse.ts'
import { callTool, operatorToken, problemOf, readTool, send, toolNames } from './support/mcp.ts'
import { memberToken, readOnly } from './support/member-api.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import type { Answer } from './support/wire.ts'

const [, forMembers, forOperators] = toolAddresses
const asking = [forMembers, forOperators]

const memberScopes = `${MEMBER_READ} ${MEMBER_WRITE}`

/** What operators' tools need to read. */
const readingScopes = scopeNames('operator').filter(
  (name) =>
    findScope(name)?.access === 'read' &&
    toolCatalogue.some(({ access }) => access.kind === 'scopes' && access.needed.includes(name)),
)

function parameterOf({ headers }: Answer, name: string): string | undefined {
  return new RegExp(`${name}="([^"]*)"`).exec(headers.get('www-authenticate') ?? '')?.[1]
}

async function metadataOf(answer: Answer) {
  const response = await fetch(parameterOf(answer, 'resource_metadata') ?? '')
  return (await response.json()) as { resource: string; scopes_supported: string[] }
}

describe('the addresses of the tools that ask for a token', () => {
  const running = sharedService()

  for (const { path } of asking) {
    it(`${path} answers every request without a token by 401 [design 23]`, async () => {
      const { url } = running()
      for (const method of ['GET', 'HEAD', 'DELETE', 'POST']) {
        const { status, headers } = await fetch(url + path, { method })
        expect(status, method).to.equal(401)
        expect(headers.get('www-authenticate')).to.include('error="invalid_token"')
      }
      for (const asked of ['initialize', 'tools/list', 'ping', 'server/discover']) {
        expect((await send(url, asked, { path })).status, asked).to.equal(401)
      }
      expect((await callTool(url, 'get_service_info', { path })).status).to.equal(401)
    })

    // [RFC 9728 §3; MCP Authorization §Protected Resource Metadata Discovery Requirements]
    it(`${path} says what to ask for in the challenge and in a document of its own [RFC 9728 §3.3]`, async () => {
      const { url } = running()
      const answer = await send(url, 'initialize', { path })
      const metadata = await metadataOf(answer)
      expect(parameterOf(answer, 'resource_metadata')).to.equal(
        `${url}/.well-known/oauth-protected-resource${path}`,
      )
      expect(metadata.resource).to.equal(url + path)
      expect(metadata.scopes_supported.join(' ')).to.equal(parameterOf(answer, 'scope'))
    })

    // [MCP Authorization §Canonical Server URI]
    it(`${path} is a resource that tokens are bound to the origin for [RFC 8707 §2]`, async () => {
      const { url } = running()
      const { tokens } = await getTokens(url, { scope: readOnly, resource: url + path })
      const viewer = await readTool<{ id: string }>(url, 'get_viewer', {
        token: tokens.access_token,
      })
      expect(viewer.id).to.equal('per_sam')
    })
  }

  it('ask for the scopes of their tools and nothing else, for operators those that read', async () => {
    const { url } = running()
    const scopesAt = async (path: string) =>
      (await metadataOf(await send(url, 'initialize', { path }))).scopes_supported
    expect(await scopesAt(paths.mcpMember)).to.deep.equal([MEMBER_READ, MEMBER_WRITE])
    expect(await scopesAt(paths.mcpAdmin)).to.deep.equal(readingScopes)
  })

  it('show the tools of their audience and the public ones', async () => {
    const { url } = running()
    const open = await toolNames(url)
    const member = await memberToken(url)
    const everywhere = await toolNames(url, member)
    expect(everywhere).to.include.members([...open, 'get_viewer'])
    expect(await toolNames(url, member, { path: paths.mcpMember })).to.deep.equal(everywhere)
    const operator = await operatorToken(url, readingScopes.join(' '))
    const operators = await toolNames(url, operator, { path: paths.mcpAdmin })
    expect(operators).to.deep.equal(await toolNames(url, operator))
    expect(operators).to.include.members([...open, 'list_site_courses'])
  })

  it('know no tool of the other audience', async () => {
    const { url } = running()
    const token = await memberToken(url)
    const { status, body } = await callTool(url, 'list_site_courses', {
      path: paths.mcpMember,
      token,
    })
    expect(status).to.equal(200)
    expect(body.error.code).to.equal(-32602)
  })

  it('refuse a token that opens none of their tools at the first request', async () => {
    const { url } = running()
    const operator = await operatorToken(url, 'courses:read')
    const atMembers = await send(url, 'initialize', { path: paths.mcpMember, token: operator })
    expect(atMembers.status).to.equal(403)
    // A client that registered itself can get no scope of members, and is told what to do.
    expect(parameterOf(atMembers, 'scope')).to.equal(undefined)
    expect(parameterOf(atMembers, 'error_description')).to.include(`${url}/connect`)
    expect(atMembers.body.error_description).to.include(`${url}/connect`)
    const member = await memberToken(url)
    const atOperators = await send(url, 'initialize', { path: paths.mcpAdmin, token: member })
    expect(atOperators.status).to.equal(403)
    expect(parameterOf(atOperators, 'scope')).to.equal(undefined)
    expect(atOperators.body.error_description).to.include(`${url}/mcp/admin`)
    const identity = await getTokens(url, { scope: 'openid profile', resource: url })
    const onlyWho = { path: paths.mcpMember, token: identity.tokens.access_token }
    const stepUp = await send(url, 'initialize', onlyWho)
    expect(stepUp.status).to.equal(403)
    expect(parameterOf(stepUp, 'scope')).to.equal(`openid profile ${memberScopes}`)
  })
})

describe('challenges name scopes that this client can get', () => {
  const running = sharedService()

  // [MCP Authorization §Runtime Insufficient Scope Errors]
  it('for a token of one operator scope and a tool that writes: what it holds and what it needs', async () => {
    const { url } = running()
    const token = await operatorToken(url, 'courses:read')
    const refused = await callTool(url, 'update_course', { token, path: paths.mcpAdmin })
    expect(refused.status).to.equal(403)
    expect(parameterOf(refused, 'scope')).to.equal('openid courses:read courses:write')
  })

  it('for an application of which the operator chose less: none, and whom to ask', async () => {
    const { url, service } = running()
    const { kysely } = service.stores.database
    const token = await memberToken(url, readOnly)
    await kysely
      .deleteFrom('oauth_application_scope')
      .where('client_id', '=', notes.clientId)
      .where('scope', '=', MEMBER_WRITE)
      .execute()
    const refused = await callTool(url, 'mark_all_notifications_read', { token })
    await kysely
      .insertInto('oauth_application_scope')
      .values({ client_id: notes.clientId, scope: MEMBER_WRITE })
      .execute()
    expect(refused.status).to.equal(403)
    expect(parameterOf(refused, 'scope')).to.equal(undefined)
    expect(refused.body.error_description).to.include(
      'the operator of the site can add it to this application',
    )
  })

  it('for sign_in: those of whom the agent acts for', async () => {
    const { url } = running()
    const scopeFor = async (values: Record<string, unknown>, token?: string) =>
      parameterOf(await callTool(url, 'sign_in', { values, token }), 'scope')
    expect(await scopeFor({})).to.equal('openid profile email')
    expect(await scopeFor({ as: 'member' })).to.equal(memberScopes)
    expect(await scopeFor({ as: 'operator' })).to.equal(readingScopes.join(' '))
    const { tokens } = await getTokens(url, { scope: 'openid', resource: url })
    expect(await scopeFor({ as: 'member' }, tokens.access_token)).to.equal(`openid ${memberScopes}`)
    const registered = await operatorToken(url, 'openid')
    const refused = await callTool(url, 'sign_in', { values: { as: 'member' }, token: registered })
    expect(refused.status).to.equal(403)
    expect(parameterOf(refused, 'scope')).to.equal(undefined)
    expect(refused.body.error_description).to.include(`${url}/connect`)
    expect(await scopeFor({ as: 'operator' }, registered)).to.equal(
      `openid ${readingScopes.join(' ')}`,
    )
  })

  it('and sign_in answers a token that is enough with the next step', async () => {
    const { url } = running()
    const { tokens } = await getTokens(url, { scope: 'openid profile', resource: url })
    const identity = await readTool<{ nextStep: string }>(url, 'sign_in', {
      token: tokens.access_token,
    })
    expect(identity.nextStep).to.include('as: "member"').and.include('as: "operator"')
    const values = { as: 'operator' }
    const token = await operatorToken(url, 'courses:write')
    const told = await readTool<{ site: { slug: string } }>(url, 'sign_in', { values, token })
    expect(told.site.slug).to.equal('northlight')
    expect(await problemOf(url, 'sign_in', { values: { as: 'robot' }, token })).to.include('as')
  })

  it('and leads an operator from reading to changing, area by area, before the tools for it are listed', async () => {
    const { url } = running()
    const path = paths.mcpAdmin
    const token = await operatorToken(url, 'courses:read')
    expect(await toolNames(url, token, { path })).to.not.include('create_course')
    const told = await readTool<{ nextStep: string }>(url, 'sign_in', { token })
    expect(told.nextStep).to.include('change')
    const values = { as: 'operator', change: 'courses' }
    const refused = await callTool(url, 'sign_in', { values, token, path })
    expect(refused.status).to.equal(403)
    expect(parameterOf(refused, 'scope')).to.equal('openid courses:read courses:write')
    const more = await operatorToken(url, 'courses:read courses:write')
    await readTool(url, 'sign_in', { values, token: more })
    expect(await toolNames(url, more, { path })).to.include('create_course')
  })

  it('tells of arguments that do not fit before anybody signs in, and takes null for nothing', async () => {
    const { url } = running()
    for (const values of [
      { as: 'root' },
      { change: 'nothing' },
      { as: 'member', change: 'posts' },
    ]) {
      const said = await problemOf(url, 'sign_in', { values })
      expect(said, JSON.stringify(values)).to.match(/as|change/)
    }
    const answer = await callTool(url, 'sign_in', { values: { as: null, change: null } })
    expect(answer.status).to.equal(401)
    const token = await memberToken(url)
    const nulls = { first: null, after: null, sort: null, access: null }
    await readTool(url, 'list_enrolled_courses', { values: nulls, token })
  })

  it('leads a person who opens an address in a browser to the page that says what to do with it', async () => {
    const { url } = running()
    for (const { path } of toolAddresses) {
      const ask = async (accept: string) =>
        await fetch(url + path, { headers: { accept }, redirect: 'manual' })
      const browser = await ask('text/html,application/xhtml+xml,*/*;q=0.8')
      expect([browser.status, browser.headers.get('location')]).to.deep.equal([303, '/connect'])
      for (const accept of ['*/*', 'text/event-stream', 'application/json, text/event-stream']) {
        expect((await ask(accept)).status, accept).to.equal(path === paths.mcp ? 405 : 401)
      }
    }
  })
})

describe('a client that signs in when it is refused at the connection', () => {
  const running = sharedService()

  for (const [path, scope, tool] of [
    [paths.mcpMember, memberScopes, 'list_enrolled_courses'],
    [paths.mcpAdmin, readingScopes.join(' '), 'get_site'],
  ] as const) {
    it(`reaches a useful tool at ${path} without help`, async () => {
      const { url } = running()
      const provider = onePerson(path === paths.mcpMember)
      const connect = async () => {
        const transport = new StreamableHTTPClientTransport(new URL(url + path), {
          authProvider: provider as unknown as OAuthClientProvider,
        })
        const client = new Client({ name: 'test client', version: '1.0.0' })
        return { client, transport, connected: client.connect(transport) }
      }
      const first = await connect()
      const refused = await first.connected.catch((error: unknown) => error)
      expect(refused).to.be.instanceOf(UnauthorizedError)
      expect(provider.asked).to.deep.equal([scope])
      await first.transport.finishAuth(provider.callback())
      const { client, connected } = await connect()
      await connected
      expect((await client.listTools()).tools.map(({ name }) => name)).to.include(tool)
      const answer = await client.callTool({ name: tool, arguments: {} })
      expect(answer.isError).to.not.equal(true)
      await client.close()
    })
  }
})

/** What the SDK keeps: a member's client_id was handed over, an operator's client registers itself. */
function onePerson(isMember: boolean) {
  const redirectUrl = isMember ? notes.redirectUri : 'http://127.0.0.1:9/callback'
  const kept: Record<string, unknown> = {}
  const asked: string[] = []
  return {
    asked,
    callback: () => kept['callback'] as URLSearchParams,
    redirectUrl,
    clientMetadata: { client_name: 'test client', redirect_uris: [redirectUrl] },
    clientInformation: () => (isMember ? { client_id: notes.clientId } : kept['client']),
    saveClientInformation: (client: unknown) => {
      kept['client'] = client
    },
    tokens: () => kept['tokens'],
    saveTokens: (tokens: unknown) => {
      kept['tokens'] = tokens
    },
    async redirectToAuthorization(address: URL) {
      asked.push(address.searchParams.get('scope') ?? '')
      const person = makeHeadlessPerson(isMember ? sam : olivia)
      kept['callback'] = (await person.authorize(address, redirectUrl)).searchParams
    },
    saveCodeVerifier: (verifier: string) => {
      kept['verifier'] = verifier
    },
    codeVerifier: () => kept['verifier'],
    saveDiscoveryState: (state: unknown) => {
      kept['discovery'] = state
    },
    discoveryState: () => kept['discovery'],
  }
}
