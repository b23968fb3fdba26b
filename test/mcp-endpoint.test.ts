import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'

import { expect } from 'chai'

import type { Exchange } from '../src/api/mcp/call-tool.ts'
import { makeAdmission } from '../src/api/mcp/host-and-origin.ts'
import { makeToolServer } from '../src/api/mcp/server.ts'
import type { ToolCall } from '../src/api/mcp/tool.ts'
import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { readConfig } from '../src/config/config.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../src/directory/scopes/catalogue.ts'
import type { AccessToken } from '../src/oauth/token/tokens.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeCursors } from '../src/platform/store/cursor.ts'
import { accessToken } from './support/access-token.ts'
import { revoke } from './support/client.ts'
import { configFolder, noor, notes, sam, startService } from './support/gatehouse.ts'
import { inTime } from './support/in-time.ts'
import {
  callTool,
  eras,
  messageOf,
  postRaw,
  postWithHeaders,
  readTool,
  send,
  toolNames,
} from './support/mcp.ts'
import { memberToken, readMember, readOnly, readWrite } from './support/member-api.ts'
import { responseValidator } from './support/openapi.ts'
import { startPostgres } from './support/postgres.ts'
import { configWith } from './support/process.ts'
import { eventually } from './support/programs.ts'
import { startRedis } from './support/redis.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/shared-service.ts'
import { requireProgram } from './support/skipped.ts'
import { describeOnServers } from './support/stores-of-run.ts'
import type { Answer } from './support/wire.ts'

const json = { 'content-type': 'application/json' }

/** The challenge of the tool endpoint, to the byte. */
function challenge(url: string, [error, description, scope]: readonly string[]): string {
  const scopes = scope === undefined ? '' : ` scope="${scope}",`
  const metadata = `resource_metadata="${url}${paths.protectedResource}/mcp"`
  return `Bearer error="${error}", error_description="${description}",${scopes} ${metadata}`
}

const REFUSED =
  'the access token is malformed, expired, revoked, or was not issued for this service; request it ' +
  'with resource at both the authorization and the token endpoint'

function expectInvalidToken(answer: Answer, url: string, scope = 'openid profile email'): void {
  expect(answer.status).to.equal(401)
  expect(answer.headers.get('www-authenticate')).to.equal(
    challenge(url, ['invalid_token', REFUSED, scope]),
  )
  expect(answer.body).to.deep.equal({ error: 'invalid_token', error_description: REFUSED })
  expect(answer.headers.get('cache-control')).to.equal('no-store')
}

describe('the tool endpoint', () => {
  const running = sharedService()

  for (const era of eras) {
    describe(`in revision ${era}`, () => {
      // [What the service does 14; Tool endpoint 1.2; Errors 5.1]
      it('serves a request without a token as anonymous, with public tools only [Errors 5]', async () => {
        const { url } = running()
        expect(await toolNames(url, undefined, { era })).to.deep.equal([
          'get_service_info',
          'get_auth_guide',
          'list_sites',
          'list_public_courses',
          'get_public_course',
          'sign_in',
        ])
        const info = await readTool<{ issuer: string }>(url, 'get_service_info', { era })
        expect(info.issuer).to.equal(url)
      })

      // [MCP Authorization §Scope Selection Strategy; MCP Authorization §Error Handling; 111]
      it('answers an anonymous call of a member tool with 401 and the scope it needs', async () => {
        const { url } = running()
        const answer = await callTool(url, 'get_viewer', { era })
        expect(answer.status).to.equal(401)
        expect(answer.headers.get('www-authenticate')).to.equal(
          challenge(url, ['invalid_token', 'an access token is required', MEMBER_READ]),
        )
      })

      it('answers an anonymous call of sign_in with a challenge for the identity scopes', async () => {
        const { url } = running()
        const answer = await callTool(url, 'sign_in', { era })
        expect(answer.status).to.equal(401)
        expect(answer.headers.get('www-authenticate')).to.equal(
          challenge(url, ['invalid_token', 'an access token is required', 'openid profile email']),
        )
      })

      // [MCP Authorization §Runtime Insufficient Scope Errors; MCP Authorization §Error Handling]
      // [Errors 4.2; 111]
      it('answers 403 insufficient_scope to a valid token that lacks the scope, and names those held too [Errors 4]', async () => {
        const { url } = running()
        const token = await memberToken(url, readOnly)
        const answer = await callTool(url, 'mark_all_notifications_read', { era, token })
        expect(answer.status).to.equal(403)
        expect(answer.headers.get('www-authenticate')).to.equal(
          challenge(url, [
            'insufficient_scope',
            `this needs the scope ${MEMBER_WRITE}`,
            `openid ${MEMBER_READ} ${MEMBER_WRITE}`,
          ]),
        )
        expect(answer.body.error).to.equal('insufficient_scope')
      })

      // [MCP Authorization §Error Handling; Errors 4.1]
      it('answers 401 invalid_token to every method with a malformed token [Errors 4]', async () => {
        const { url } = running()
        expectInvalidToken(await send(url, 'tools/list', { era, token: 'nonsense' }), url)
      })

      it('lists with a lifetime of zero, for this caller only', async () => {
        const { url } = running()
        const { body, headers } = await send(url, 'tools/list', { era })
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('vary')?.toLowerCase()).to.include('authorization')
        if (era === '2026-07-28') {
          expect(body.result).to.include({ ttlMs: 0, cacheScope: 'private' })
        }
      })

      it('answers -32602 for a tool that does not exist', async () => {
        const { body } = await callTool(running().url, 'no_such_tool', { era })
        expect(body.error.code).to.equal(-32602)
      })
    })
  }

  it('changes nothing when a mutation comes with account:read only', async () => {
    await using fresh = await startService()
    const { url } = fresh
    const token = await memberToken(url, readOnly)
    const unread = '{ unreadNotificationCount }'
    const before = await readMember({ url, token }, unread)
    expect(before).to.not.deep.equal({ unreadNotificationCount: 0 })
    expect((await callTool(url, 'mark_all_notifications_read', { token })).status).to.equal(403)
    expect(await readMember({ url, token }, unread)).to.deep.equal(before)
    const allowed = await memberToken(url, readWrite)
    await readTool(url, 'mark_all_notifications_read', { token: allowed })
    expect(await readMember({ url, token }, unread)).to.deep.equal({ unreadNotificationCount: 0 })
  })

  // [MCP Authorization §Token Handling]
  it('answers 401 invalid_token to a truncated token and to a revoked one [Errors 4]', async () => {
    const { url } = running()
    const token = await memberToken(url)
    await readTool(url, 'get_viewer', { token })
    expectInvalidToken(await callTool(url, 'get_viewer', { token: token.slice(0, -1) }), url)
    await revoke(url, token)
    const former = `openid profile email ${MEMBER_READ} ${MEMBER_WRITE}`
    expectInvalidToken(await callTool(url, 'get_viewer', { token }), url, former)
  })

  // [MCP Authorization §Token Handling; MCP Authorization §Token Audience Binding and Validation;
  // MCP Authorization §Access Token Privilege Restriction]
  // [113]
  it('answers 401 invalid_token to a token of another origin, also for a public tool', async () => {
    await using elsewhere = await startService()
    const { url } = running()
    const foreign = await memberToken(elsewhere.url)
    expectInvalidToken(await callTool(url, 'get_service_info', { token: foreign }), url)
  })

  // [MCP Authorization §Token Audience Binding and Validation]
  it('answers 401 invalid_token to a token that is bound to no resource', async () => {
    const { url } = running()
    const { tokens } = await getTokens(url, { scope: 'openid profile', resource: false })
    expectInvalidToken(await callTool(url, 'sign_in', { token: tokens.access_token }), url)
  })

  // [MCP Authorization §Token Requirements]
  it('reads the token from the Authorization header and from nowhere else [RFC 6750 §2]', async () => {
    const { url } = running()
    const token = await memberToken(url)
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_viewer' } }
    const inQuery = await fetch(`${url}${paths.mcp}?access_token=${token}`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(call),
    })
    expect(inQuery.status).to.equal(401)
    const inBody = await postRaw(url, JSON.stringify({ ...call, access_token: token }))
    expect(inBody.status).to.equal(401)
    const twice = await postWithHeaders(url, {
      ...json,
      authorization: [`Bearer ${token}`, `Bearer ${token}`],
    })
    expectInvalidToken(twice, url)
    expectInvalidToken(await postRaw(url, '{}', { authorization: 'Basic c2FtOnNhbQ==' }), url)
  })

  it('judges the token before the method, so that a probe by GET is challenged too', async () => {
    const { url } = running()
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT']) {
      const bad = await fetch(url + paths.mcp, { method, headers: { authorization: 'Bearer x' } })
      expect(bad.status, method).to.equal(401)
      const none = await fetch(url + paths.mcp, { method })
      expect(none.status, method).to.equal(405)
      expect(none.headers.get('allow')).to.equal('POST, OPTIONS')
    }
  })

  // [RFC 9700 §4.9.3]
  it('logs who called which tool and why a call was refused, and never a token', async () => {
    await using service = await startService()
    const { url } = service
    const token = await memberToken(url)
    await readTool(url, 'get_viewer', { token })
    const truncated = token.slice(0, -1)
    await callTool(url, 'get_viewer', { token: truncated })
    const lines = service.log
      .map((line) => JSON.parse(line))
      .filter(({ route }) => route === paths.mcp)
    expect(lines[0]).to.include({ tool: 'get_viewer', person: 'per_sam', client: notes.clientId })
    expect(lines[1]).to.include({ status: 401, error: 'invalid_token' })
    expect(lines[1].detail).to.include('unknown')
    expect(service.log.join('')).to.not.include(truncated)
  })

  it('answers what openapi.json says of it', async () => {
    await using service = await startService({
      policy: (policy) => ({ ...policy, mcp: { ...policy.mcp, requestsPerAddressMax: 11 } }),
    })
    const { url } = service
    const document = (await (await fetch(url + paths.openApi)).json()) as object
    const differences = responseValidator(document)
    const token = await memberToken(url, readOnly)
    const answers = [
      await callTool(url, 'get_service_info'),
      await callTool(url, 'no_such_tool'),
      await postRaw(url, '{"jsonrpc":"2.0","method":"notifications/initialized"}'),
      await postRaw(url, '[]'),
      await callTool(url, 'get_viewer'),
      await callTool(url, 'mark_all_notifications_read', { token }),
      await send(url, 'ping', { headers: { origin: 'https://evil.example' } }),
      await send(url, 'no/such/method', { era: '2026-07-28' }),
      await postRaw(url, 'x'.repeat(300_000)),
      await postRaw(url, '', { 'content-type': 'text/plain' }),
      await send(url, 'ping'),
      await send(url, 'ping'),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([
      ...[200, 200, 202, 400, 401, 403, 403, 404, 413, 415, 200, 429],
    ])
    for (const { status, body } of answers) {
      expect(differences(paths.mcp, 'post', status, body)).to.deep.equal([])
    }
  })

  // [Tool endpoint 2]
  it('serves the same token at /mcp and at /member/graphql', async () => {
    const { url } = running()
    const token = await memberToken(url)
    const viewer = await readTool(url, 'get_viewer', { token })
    const query = '{ viewer { id name email schools { id slug name roles } } }'
    expect(await readMember({ url, token }, query)).to.deep.equal({ viewer })
  })
})

describe('the route of the tool endpoint', () => {
  const running = sharedService()

  it('refuses a batch, whatever is in it', async () => {
    const { url } = running()
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_viewer' } }
    for (const batch of [[], [call], [{ jsonrpc: '2.0', id: 1, method: 'ping' }, call]]) {
      const { status, body } = await postRaw(url, JSON.stringify(batch))
      expect(status).to.equal(400)
      expect(body.error.code).to.equal(-32600)
    }
  })

  // [threat 21]
  it('opens no scoped tool to anybody by an unusual spelling of the message', async () => {
    const { url } = running()
    const spellings = [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_viewer","name":"get_service_info","name":"get_viewer"}}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"get_viewer"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools\\u002fcall","params":{"name":"get\\u005fviewer"}}',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_viewer"}}',
      // A parser that ends a name at a NUL reads another one (GHSA-q382-vc8q-7jhj).
      '{"jsonrpc":"2.0","id":1,"method\\u0000":"ping","method":"tools/call","params":{"name":"get_viewer"}}',
    ]
    for (const spelling of spellings) {
      expect((await postRaw(url, spelling)).status, spelling).to.equal(401)
    }
    const names = [['get_viewer'], { toString: 'get_viewer' }, 'GET_VIEWER', 'get_viewer ']
    for (const name of [...names, 'get_viewer\0']) {
      const { body } = await send(url, 'tools/call', { params: { name } })
      expect(body.error, JSON.stringify(name)).to.have.property('code')
      expect(body).to.not.have.property('result')
    }
  })

  it('tells the sender of parameters that are not as the protocol has them, and no fault of its own [163]', async () => {
    const { url, log } = running()
    const wrong: readonly [method: string, params: Record<string, unknown>][] = [
      ['completion/complete', {}],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'find_a_course' } }],
      ['prompts/get', {}],
      ['prompts/get', { name: 'find_a_course', arguments: { about: 5 } }],
      ['prompts/list', { cursor: [] }],
      ['resources/read', {}],
      ['resources/list', { cursor: 5 }],
      ['resources/templates/list', { cursor: {} }],
      ['tools/list', { cursor: 5 }],
      ['tools/call', { name: 'get_service_info', arguments: [] }],
    ]
    const linesBefore = log.length
    for (const era of eras) {
      for (const [method, params] of wrong) {
        const { status, body } = await send(url, method, { era, params })
        const said = `${era} ${method} ${JSON.stringify(body)}`
        expect(status, said).to.equal(200)
        expect(body.error.code, said).to.equal(-32602)
        expect(body.error.message, said).to.include(method)
      }
    }
    expect(log.slice(linesBefore).filter((line) => line.includes('"level":50'))).to.deep.equal([])
  })

  it('answers each of several people whose messages have the same id (CVE-2026-25536) [164]', async () => {
    const { url } = running()
    const people = [sam, noor] as const
    const tokens = await Promise.all(
      people.map(async (person) => await memberToken(url, readOnly, { person })),
    )
    const answers = await Promise.all(
      Array.from({ length: 48 }, async (_, turn) => {
        const [era, token] = [eras[turn % 2], tokens[(turn >> 1) % 2]]
        const usual = { name: 'get_viewer', arguments: {} }
        // What is not in the usual form is answered by the SDK.
        const params = turn % 3 === 0 ? { ...usual, more: true } : usual
        const { body } = await send(url, 'tools/call', { ...(era && { era }), token, params })
        return [people[(turn >> 1) % 2]?.login, body.result.content[0].text] as const
      }),
    )
    for (const [login, text] of answers) expect(JSON.parse(text).email).to.equal(login)
  })

  it('refuses a header that names another tool than the body [2026-07-28]', async () => {
    const { url } = running()
    const { status, body } = await callTool(url, 'get_service_info', {
      era: '2026-07-28',
      headers: { 'mcp-name': 'get_auth_guide' },
    })
    expect(status).to.equal(400)
    expect(body.error.code).to.equal(-32020)
  })

  // [threat 20]
  it('refuses a foreign Host and a foreign Origin with 403', async () => {
    const { url } = running()
    const { port } = new URL(url)
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'x@127.0.0.1',
      '127.0.0.1.nip.io',
    ]) {
      const answer = await postWithHeaders(url, { ...json, host })
      expect(answer.status, host).to.equal(403)
      expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
    }
    for (const origin of ['https://evil.example', 'null', `http://127.0.0.1.nip.io:${port}`]) {
      const answer = await postWithHeaders(url, { ...json, host: new URL(url).host, origin })
      expect(answer.status, origin).to.equal(403)
      expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
    }
    const token = await memberToken(url)
    const withToken = await send(url, 'ping', {
      token,
      headers: { origin: 'https://evil.example' },
    })
    expect(withToken.status).to.equal(403)
  })

  it('lets a page of an admitted origin call it, without credentials [design 28]', async () => {
    const { url } = running()
    const origin = 'http://localhost:6274'
    const preflight = await fetch(url + paths.mcp, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,mcp-protocol-version',
      },
    })
    expect(preflight.status).to.equal(204)
    expect(preflight.headers.get('access-control-allow-origin')).to.be.oneOf([origin, '*'])
    expect(preflight.headers.get('access-control-allow-methods')).to.include('POST')
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).to.include(
      'mcp-protocol-version',
    )
    expect(preflight.headers.get('access-control-allow-credentials')).to.equal(null)

    const refused = await callTool(url, 'get_viewer', { headers: { origin } })
    expect(refused.status).to.equal(401)
    expect(refused.headers.get('access-control-allow-origin')).to.be.oneOf([origin, '*'])
    expect(refused.headers.get('access-control-expose-headers')).to.include('WWW-Authenticate')
    expect(refused.headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('answers OPTIONS that is no preflight with the methods that it has', async () => {
    const answer = await fetch(running().url + paths.mcp, { method: 'OPTIONS' })
    expect(answer.status).to.equal(204)
    expect(answer.headers.get('allow')).to.equal('POST, OPTIONS')
  })

  it('reads JSON in UTF-8 of at most 256 KiB, and nothing else', async () => {
    const { url, config } = running()
    expect(config.service.mcp.bodyBytesMax).to.equal(256 * 1024)
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    expect((await postRaw(url, ping, { 'content-type': 'text/plain' })).status).to.equal(415)
    expect((await postRaw(url, ping, { 'content-encoding': 'gzip' })).status).to.equal(415)
    expect((await postRaw(url, `${ping}${' '.repeat(256 * 1024)}`)).status).to.equal(413)
    expect((await postRaw(url, ping.padEnd(256 * 1024))).status).to.equal(200)
    const notUtf8 = new Uint8Array([...new TextEncoder().encode('"'), 0xff, 0x22])
    for (const body of ['{', '', notUtf8]) {
      const answer = await postRaw(url, body)
      expect(answer.status).to.equal(400)
      expect(answer.body.error.code).to.equal(-32700)
    }
    for (const body of ['null', '5', '"x"', '{}', '{"jsonrpc":"1.0","id":1,"method":"ping"}']) {
      const answer = await postRaw(url, body)
      expect(answer.status, body).to.equal(400)
      expect(answer.body.error.code, body).to.be.oneOf([-32600, -32700])
    }
  })

  it('survives arguments that are nested as deep as the body is long', async () => {
    const { url } = running()
    const depth = 120_000
    const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_service_info","arguments":{"x":${nested}}}}`
    const { status, body } = await postRaw(url, call)
    expect(status).to.be.oneOf([200, 400])
    expect(body.error ?? body.result.isError).to.not.equal(undefined)
    expect((await send(url, 'ping')).status).to.equal(200)
  })

  it('keeps no session, and knows none', async () => {
    const { url } = running()
    const { status, headers } = await send(url, 'initialize', {
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'test', version: '1.0.0' },
      },
    })
    expect(status).to.equal(200)
    expect(headers.get('mcp-session-id')).to.equal(null)
    const answer = await send(url, 'tools/list', { headers: { 'mcp-session-id': 'of-old' } })
    expect(answer.status).to.equal(200)
  })

  it('speaks the revisions of design 23, and answers an older client with one of them', async () => {
    const { url } = running()
    const negotiate = async (protocolVersion: string) => {
      const clientInfo = { name: 'test', version: '1.0.0' }
      const { body } = await send(url, 'initialize', {
        params: { protocolVersion, capabilities: {}, clientInfo },
      })
      return body.result.protocolVersion
    }
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26']) {
      expect(await negotiate(version)).to.equal(version)
    }
    for (const version of ['2024-11-05', '2099-01-01']) {
      expect(await negotiate(version)).to.equal('2025-11-25')
    }
    const discovered = await send(url, 'server/discover', { era: '2026-07-28' })
    expect(discovered.body.result.supportedVersions).to.include('2026-07-28')
    const old = await send(url, 'ping', { headers: { 'mcp-protocol-version': '2024-11-05' } })
    expect(old.status).to.equal(400)
  })

  it('answers JSON whatever the caller accepts', async () => {
    const { headers } = await send(running().url, 'ping', { headers: { accept: '*/*' } })
    expect(headers.get('content-type')).to.match(/^application\/json/)
  })
})

describe('the limits of the tool endpoint', () => {
  // [Not shown 12]
  it('answers 429 with Retry-After when one address asks too often', async () => {
    await using service = await startService({
      policy: (policy) => ({ ...policy, mcp: { ...policy.mcp, requestsPerAddressMax: 3 } }),
    })
    const statuses = []
    for (let asked = 0; asked < 4; asked += 1)
      statuses.push((await send(service.url, 'ping')).status)
    expect(statuses).to.deep.equal([200, 200, 200, 429])
    const { headers, body } = await send(service.url, 'ping')
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
    expect(headers.get('www-authenticate')).to.equal(null)
    expect(body.error.data.error).to.equal('too_many_requests')
  })

  it('counts a caller by person and client, so that a second token is no second allowance', async () => {
    await using service = await startService({
      policy: (policy) => ({ ...policy, mcp: { ...policy.mcp, requestsPerCallerMax: 2 } }),
    })
    const { url } = service
    const [first, second] = [await memberToken(url), await memberToken(url)]
    expect((await send(url, 'ping', { token: first })).status).to.equal(200)
    expect((await send(url, 'ping', { token: second })).status).to.equal(200)
    expect((await send(url, 'ping', { token: first })).status).to.equal(429)
    expect((await send(url, 'ping', { token: second })).status).to.equal(429)
    expect((await send(url, 'ping')).status).to.equal(200)
  })
})

describe('admission of hosts and origins', () => {
  const home = 'https://id.campus.example'

  it('admits at a public address its own host only, and every origin [design 28]', () => {
    const { admitsHost, admitsOrigin } = makeAdmission({ baseUrl: home, allowedOrigins: [] })
    const hosts = ['id.campus.example', 'ID.campus.example', 'id.campus.example:443']
    for (const host of hosts) expect(admitsHost(host), host).to.equal(true)
    const foreign = [
      '',
      undefined,
      'localhost',
      '127.0.0.1:3000',
      'campus.example',
      'id.campus.example:444',
    ]
    for (const host of foreign) expect(admitsHost(host), String(host)).to.equal(false)
    for (const origin of [home, 'http://localhost:6274', 'https://anywhere.example', 'null']) {
      expect(admitsOrigin(origin), origin).to.equal(true)
    }
  })

  it('admits at a loopback address the origins of the configuration, and all of them with *', () => {
    const page = 'https://inspector.example'
    const baseUrl = 'http://127.0.0.1:3000'
    const none = makeAdmission({ baseUrl, allowedOrigins: [] })
    expect(none.admitsOrigin(page)).to.equal(false)
    const listed = makeAdmission({ baseUrl, allowedOrigins: [page] })
    expect(listed.admitsOrigin(page)).to.equal(true)
    for (const origin of [`${page}/`, 'https://other.example', 'null']) {
      expect(listed.admitsOrigin(origin), origin).to.equal(false)
    }
    const all = makeAdmission({ baseUrl, allowedOrigins: ['*'] })
    expect(all.admitsOrigin('https://anywhere.example')).to.equal(true)
    expect(all.admitsOrigin('null')).to.equal(true)
    expect(all.admitsHost('evil.example')).to.equal(false)
  })
})

describe('the configuration of the tool endpoint', () => {
  const readWith = (...allowedOrigins: string[]) =>
    readConfig(
      {
        CONFIG_DIR: configWith((policy) => ({ ...policy, mcp: { ...policy.mcp, allowedOrigins } })),
      },
      configFolder,
    ).service.mcp.allowedOrigins

  it('takes origins as a browser spells them, and says what is wrong with any other', () => {
    const origins = ['*', 'https://inspector.example', 'http://localhost:6274']
    expect(readWith(...origins)).to.deep.equal(origins)
    for (const origin of ['https://inspector.example/', 'inspector.example', 'null', '']) {
      expect(() => readWith(origin), origin).to.throw(/mcp\.allowedOrigins/)
    }
  })
})

/** It has the form of an access token, so that a store is asked for it. */
const UNKNOWN_TOKEN = `${'a'.repeat(43)}.0.1..${'a'.repeat(43)}`

describeOnServers('the tool endpoint while PostgreSQL is out of reach', () => {
  // [Errors 7.1]
  it('answers 503 temporarily_unavailable without WWW-Authenticate, and the client retries [Errors 7]', async function () {
    await using postgres = await startPostgres(requireProgram(this, 'postgres'))
    await using service = await startService({
      inTime: true,
      environment: {
        DATABASE_URL: await postgres.createDatabase(),
        DEMO_DATA: 'on',
        SECRET: 'only-for-tests-only-for-tests-only-for-tests',
      },
    })
    const { url } = service
    postgres.freeze()
    const token = UNKNOWN_TOKEN
    for (const era of eras) {
      expectUnavailable(await inTime(500, () => callTool(url, 'get_viewer', { era, token })))
      // No verdict is needed for a public tool; its own question finds no answer.
      const values = { site: 'northlight' }
      expectUnavailable(await callTool(url, 'list_public_courses', { values, era }))
      expect((await callTool(url, 'get_service_info', { era })).status).to.equal(200)
      expect((await callTool(url, 'get_viewer', { era })).status).to.equal(401)
    }
    postgres.thaw()
    await eventually(20_000, async () => {
      expect((await send(url, 'ping', { token: UNKNOWN_TOKEN })).status).to.equal(401)
    })
  })
})

describeOnServers('the tool endpoint while Redis is out of reach', () => {
  it('answers in time, and as ever: tokens are judged by the database [design 24]', async function () {
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    await using service = await startService({
      inTime: true,
      environment: { REDIS_URL: redis.url, SECRET: 'only-for-tests-only-for-tests-only-for-tests' },
    })
    const { url } = service
    redis.freeze()
    for (const era of eras) {
      const asked = { era, token: UNKNOWN_TOKEN }
      const refused = await inTime(500, () => callTool(url, 'get_viewer', asked))
      expect(refused.status).to.equal(401)
      const values = { site: 'northlight' }
      await inTime(500, () => readTool(url, 'list_public_courses', { era, values }))
    }
    redis.thaw()
    await eventually(20_000, async () => {
      expect((await send(url, 'ping', { token: UNKNOWN_TOKEN })).status).to.equal(401)
    })
  })
})

function expectUnavailable({ status, headers, body }: Answer): void {
  expect(status).to.equal(503)
  expect(body.error).to.equal('temporarily_unavailable')
  expect(headers.get('www-authenticate')).to.equal(null)
  expect(Number(headers.get('retry-after'))).to.be.at.least(1)
  expect(headers.get('cache-control')).to.equal('no-store')
}

/** A call without HTTP; a question to the database is never answered. */
function callOf(caller: AccessToken | undefined, onQuestion = () => {}): ToolCall {
  const never = async () => {
    onQuestion()
    return await new Promise<never>(() => {})
  }
  const parts = {
    service: { name: 'Test', version: '1.0.0', baseUrl: 'http://127.0.0.1' },
    authGuide: () => '',
    publicCourses: { findSite: never, findSiteById: never, list: never, findCourse: never },
    publicSites: { list: never, slugsLike: never },
    executeMember: async () => ({ data: { viewer: {} } }),
    executeAdmin: async () => ({ data: {} }),
    cursors: makeCursors([Buffer.alloc(32)]),
    now: Date.now,
  }
  const hearProblem = () => {}
  return { caller, request: { requestId: 'test' }, hearProblem, address: toolAddresses[0], parts }
}

describe('the handler behind the route', () => {
  it('asks for the scope again, so that no way around the route opens a tool', async () => {
    for (const era of eras) {
      const exchange: Exchange = { call: callOf(withoutScope) }
      const { message, headers } = messageOf('tools/call', era, { name: 'get_viewer' })
      const body = JSON.stringify(message)
      const accept = 'application/json, text/event-stream'
      const answer = await makeToolServer().answer(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          headers: { ...headers, accept },
          body,
        }),
        message,
        exchange,
      )
      expect(await answer.text()).to.not.include('"result"')
      expect(exchange.failure).to.be.instanceOf(Error)
    }
  })
})

const withoutScope = accessToken({ clientId: notes.clientId })

describe('cancelling a call', () => {
  for (const era of eras) {
    it(`ends the work on it when the caller hangs up [${era}]`, async () => {
      const asked = Promise.withResolvers<void>()
      const tools = makeToolServer()
      const { message, headers } = messageOf('tools/call', era, {
        name: 'list_public_courses',
        arguments: { site: 'northlight' },
      })
      const hangUp = new AbortController()
      const request = new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { ...headers, accept: 'application/json, text/event-stream' },
        body: JSON.stringify(message),
        signal: hangUp.signal,
      })
      const exchange: Exchange = { call: callOf(undefined, asked.resolve) }
      const answering = tools.answer(request, message, exchange).then(
        ({ status }) => status,
        () => 'rejected',
      )
      await asked.promise
      hangUp.abort()
      expect(await answering).to.be.oneOf([499, 'rejected'])
    })
  }

  it('of a caller who goes away in the middle of a message is no fault of the service', async () => {
    await using service = await startService()
    const { url } = service
    const request = httpRequest(url + paths.mcp, { method: 'POST', headers: json })
    const closed = new Promise((resolve) => request.once('close', resolve))
    request.on('error', () => {})
    request.write('{"jsonrpc":"2.0","id":1,')
    const [socket] = (await once(request, 'socket')) as [Socket]
    if (socket.connecting) await once(socket, 'connect')
    request.destroy()
    await closed
    await eventually(20_000, async () => {
      const lines = service.log.map((line) => JSON.parse(line))
      expect(lines.filter(({ route }) => route === paths.mcp)).to.have.length(1)
    })
    const [line] = service.log
      .map((text) => JSON.parse(text))
      .filter(({ route }) => route === paths.mcp)
    expect(line).to.include({ status: 499 })
    expect(line.level, JSON.stringify(line)).to.equal(30)
  })
})
