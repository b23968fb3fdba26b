import { once } from 'node:events'
import { connect } from 'node:net'

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
import {
  configFolder,
  noor,
  notes,
  policyWith,
  sam,
  startService,
  startWith,
} from './support/gatehouse.ts'
import { callTool, eras, messageOf, postRaw, readTool, send, toolNames } from './support/mcp.ts'
import { memberToken, readMember, readOnly, readWrite } from './support/member-api.ts'
import { configWith } from './support/process.ts'
import { eventually } from './support/programs.ts'
import { SECRET, sharedService } from './support/storages.ts'
import { preflight, send as sendOnWire } from './support/wire.ts'

function challenge(url: string, [error, description, scope]: readonly string[]): string {
  const metadata = `resource_metadata="${url}${paths.protectedResource}/mcp"`
  return `Bearer error="${error}", error_description="${description}", scope="${scope}", ${metadata}`
}

const REFUSED =
  'the access token is malformed, expired or revoked, or was not issued for this service; request a ' +
  'token with the resource parameter at both the authorization and the token endpoint'

const wrongParameters: readonly (readonly [method: string, params: object, named: string])[] = [
  ['completion/complete', {}, 'params.argument'],
  ['completion/complete', { ref: 5 }, 'params.argument'],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' } }, 'params.argument'],
  ['prompts/get', {}, 'params.name'],
  ['prompts/get', { name: 'find_a_course', arguments: { about: 5 } }, 'params.arguments.about'],
  ['prompts/get', { name: 'find_a_course', arguments: [] }, 'params.arguments'],
  ['prompts/list', { cursor: 5 }, 'params.cursor'],
  ['resources/read', {}, 'params.uri'],
  ['resources/read', { uri: {} }, 'params.uri'],
  ['resources/list', { cursor: 5 }, 'params.cursor'],
  ['resources/templates/list', { cursor: {} }, 'params.cursor'],
  ['tools/list', { cursor: [] }, 'params.cursor'],
  ['tools/call', { name: 'get_service_info', arguments: [] }, 'params.arguments'],
  ['tools/call', { name: 'list_sites', arguments: 'x' }, 'params.arguments'],
]

describe('the tool endpoint', () => {
  const running = sharedService()

  for (const era of eras) {
    describe(`in revision ${era}`, () => {
      // [What the service does 14; Tool endpoint 1.2; Errors 5.1]
      it('serves a request without a token as anonymous, with public tools only [Errors 5]', async () => {
        const { url } = running()
        expect(await toolNames(url, undefined, { era })).to.deep.equal([
          ...['get_service_info', 'get_auth_guide', 'list_sites'],
          ...['list_public_courses', 'get_public_course', 'sign_in'],
        ])
        expect((await readTool(url, 'get_service_info', { era })).issuer).to.equal(url)
        const oldSession = { 'mcp-session-id': 'of-old', accept: '*/*' }
        const { body, headers } = await send(url, 'tools/list', { era, headers: oldSession })
        expect(headers.get('content-type')).to.match(/^application\/json/)
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('vary')?.toLowerCase()).to.include('authorization')
        const { ttlMs, cacheScope } = body.result
        const modern = era === '2026-07-28'
        expect([ttlMs, cacheScope]).to.deep.equal(modern ? [0, 'public'] : [undefined, undefined])
      })

      // [MCP Authorization §Scope Selection Strategy; MCP Authorization §Error Handling; Errors 4.1; 111]
      it('answers 401 with the needed scope to an anonymous call, and to every method with a malformed token [Errors 4]', async () => {
        const { url } = running()
        const required = 'an access token is required; send it in the Authorization header'
        const needed = { get_viewer: MEMBER_READ, sign_in: 'openid profile email' }
        for (const [name, scope] of Object.entries(needed)) {
          const { status, headers } = await callTool(url, name, { era })
          expect(status, name).to.equal(401)
          const expected = challenge(url, ['invalid_token', required, scope])
          expect(headers.get('www-authenticate')).to.equal(expected)
        }
        const { status, headers, body } = await send(url, 'tools/list', { era, token: 'nonsense' })
        expect([status, headers.get('cache-control')]).to.deep.equal([401, 'no-store'])
        const expected = challenge(url, ['invalid_token', REFUSED, 'openid profile email'])
        expect(headers.get('www-authenticate')).to.equal(expected)
        expect(body).to.deep.equal({ error: 'invalid_token', error_description: REFUSED })
      })

      // [MCP Authorization §Runtime Insufficient Scope Errors; MCP Authorization §Error Handling]
      // [Errors 4.2; 111]
      it('answers 403 insufficient_scope to a valid token without the scope, and changes nothing [Errors 4]', async () => {
        const { url } = running()
        const token = await memberToken(url, readOnly)
        const unread = '{ unreadNotificationCount }'
        const before = await readMember({ url, token }, unread)
        const answer = await callTool(url, 'mark_all_notifications_read', { era, token })
        expect([answer.status, answer.body.error]).to.deep.equal([403, 'insufficient_scope'])
        const said = `this request needs the scopes ${MEMBER_READ} ${MEMBER_WRITE}`
        const expected = challenge(url, ['insufficient_scope', said, readWrite])
        expect(answer.headers.get('www-authenticate')).to.equal(expected)
        expect(before.unreadNotificationCount).to.be.above(0)
        expect(await readMember({ url, token }, unread)).to.deep.equal(before)
      })

      it('names wrong parameters in the response, and does not log a fault [163]', async () => {
        const { url, log } = running()
        const linesBefore = log.length
        for (const [method, params, named] of wrongParameters) {
          const { status, body } = await send(url, method, { era, params: { ...params } })
          const said = `${method} ${JSON.stringify(body)}`
          expect([status, body.error.code], said).to.deep.equal([200, -32602])
          expect(body.error.message).to.include(`The parameters of ${method} are invalid.`)
          expect(body.error.message).to.include(`${named}: expected `)
        }
        const faults = log.slice(linesBefore).filter((line) => line.includes('"level":50'))
        expect(faults).to.deep.equal([])
      })
    })
  }

  it('checks the token before the method, so that a probe by GET is challenged too', async () => {
    const { url } = running()
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT']) {
      const bad = await fetch(url + paths.mcp, { method, headers: { authorization: 'Bearer x' } })
      expect(bad.status, method).to.equal(401)
      const none = await fetch(url + paths.mcp, { method })
      expect([none.status, none.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS'])
    }
    const options = await fetch(url + paths.mcp, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'POST, OPTIONS'])
  })

  // [RFC 9700 §4.9.3]
  it('logs the person, the client, the tool and the reason of a refusal, and never a token', async () => {
    const { url, log } = running()
    const token = await memberToken(url)
    const linesBefore = log.length
    await readTool(url, 'get_viewer', { token })
    const truncated = token.slice(0, -1)
    await callTool(url, 'get_viewer', { token: truncated })
    const [called, refused] = log
      .slice(linesBefore)
      .map((line) => JSON.parse(line))
      .filter(({ route }) => route === paths.mcp)
    expect(called).to.include({ tool: 'get_viewer', person: 'per_sam', client: notes.clientId })
    expect(refused).to.include({ status: 401, error: 'invalid_token' })
    expect(refused.detail).to.include('unknown')
    expect(log.join('')).to.not.include(truncated)
  })

  // [threat 21]
  it('does not open a scoped tool by an unusual spelling, and refuses a header that names another tool [2026-07-28]', async () => {
    const { url } = running()
    for (const spelling of [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_viewer","name":"get_service_info","name":"get_viewer"}}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"get_viewer"}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools\\u002fcall","params":{"name":"get\\u005fviewer"}}',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_viewer"}}',
      // A parser that ends names at a NUL would read `method` twice (GHSA-q382-vc8q-7jhj).
      '{"jsonrpc":"2.0","id":1,"method\\u0000":"ping","method":"tools/call","params":{"name":"get_viewer"}}',
    ])
      expect((await postRaw(url, spelling)).status, spelling).to.equal(401)
    const names = [['get_viewer'], { toString: 'get_viewer' }, 'GET_VIEWER', 'get_viewer ']
    for (const name of [...names, 'get_viewer\0', 'no_such_tool']) {
      const { body } = await send(url, 'tools/call', { params: { name } })
      expect(body.error, JSON.stringify(name)).to.have.property('code', -32602)
      expect(body).to.not.have.property('result')
    }
    const calling = { era: '2026-07-28', headers: { 'mcp-name': 'get_auth_guide' } } as const
    const { status, body } = await callTool(url, 'get_service_info', calling)
    expect([status, body.error.code]).to.deep.equal([400, -32020])
  })

  it('answers each of several people whose messages have the same id (CVE-2026-25536) [164]', async () => {
    const { url } = running()
    const people = [sam, noor] as const
    const tokens = await Promise.all(people.map((person) => memberToken(url, readOnly, { person })))
    const answers = await Promise.all(
      Array.from({ length: 48 }, async (_, turn) => {
        const [era = '2025-11-25', token] = [eras[turn % 2], tokens[(turn >> 1) % 2]]
        const usual = { name: 'get_viewer', arguments: {} }
        const params = turn % 3 === 0 ? { ...usual, more: true } : usual
        const { body } = await send(url, 'tools/call', { era, token, params })
        return [people[(turn >> 1) % 2]?.login, body.result.content[0].text] as const
      }),
    )
    for (const [login, text] of answers) expect(JSON.parse(text).email).to.equal(login)
  })

  it('reads JSON in UTF-8 of at most 256 KiB', async () => {
    const { url, config } = running()
    const { bodyBytesMax } = config.service.mcp
    expect(bodyBytesMax).to.equal(256 * 1024)
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const older = ping.replace('2.0', '1.0')
    const broken = new Uint8Array([...new TextEncoder().encode('"'), 0xff, 0x22])
    for (const [body, status, code, headers] of [
      [ping, 415, 'invalid_request', { 'content-encoding': 'gzip' }],
      [ping.padEnd(bodyBytesMax + 1), 413, 'invalid_request'],
      [ping.padEnd(bodyBytesMax), 200, undefined],
      ...['{', '', broken].map((text) => [text, 400, -32700] as const),
      ...['null', '5', '"x"', '{}', older].map((text) => [text, 400, -32600] as const),
    ] as const) {
      const answer = await postRaw(url, body, headers)
      const { error } = answer.body
      const found = [answer.status, error?.code ?? error]
      expect(found, String(body).trim()).to.deep.equal([status, code])
    }
  })

  it('supports the revisions of design 23 without sessions, and offers one of them to an older client', async () => {
    const { url } = running()
    const negotiate = async (protocolVersion: string) => {
      const clientInfo = { name: 'test', version: '1.0.0' }
      const params = { protocolVersion, capabilities: {}, clientInfo }
      const { body, headers } = await send(url, 'initialize', { params })
      expect(headers.get('mcp-session-id')).to.equal(null)
      return body.result.protocolVersion
    }
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26'])
      expect(await negotiate(version)).to.equal(version)
    for (const version of ['2024-11-05', '2099-01-01'])
      expect(await negotiate(version)).to.equal('2025-11-25')
    const discovered = await send(url, 'server/discover', { era: '2026-07-28' })
    expect(discovered.body.result.supportedVersions).to.include('2026-07-28')
    const old = await send(url, 'ping', { headers: { 'mcp-protocol-version': '2024-11-05' } })
    expect(old.status).to.equal(400)
  })
})

it('the limit of the tool endpoint counts a caller by person and client, whatever the token', async () => {
  await using service = await startWith({ mcp: { requestsPerCallerMax: 2 } })
  const [first, second] = [await memberToken(service.url), await memberToken(service.url)]
  const statuses = []
  for (const token of [first, second, first, second, undefined])
    statuses.push((await send(service.url, 'ping', { token })).status)
  expect(statuses).to.deep.equal([200, 200, 429, 429, 200])
})

describe('admission of hosts and origins', () => {
  it('admits at a public address its own host only, and every origin [design 28]', () => {
    const home = 'https://id.campus.example'
    const { admitsHost, admitsOrigin } = makeAdmission({ baseUrl: home, allowedOrigins: [] })
    for (const host of ['id.campus.example', 'ID.campus.example', 'id.campus.example:443'])
      expect(admitsHost(host), host).to.equal(true)
    const foreign = ['', undefined, 'localhost', '127.0.0.1:3000', 'campus.example']
    for (const host of [...foreign, 'id.campus.example:444'])
      expect(admitsHost(host), String(host)).to.equal(false)
    for (const origin of [home, 'http://localhost:6274', 'https://anywhere.example', 'null'])
      expect(admitsOrigin(origin), origin).to.equal(true)
  })

  // [threat 20]
  it('admits at a loopback address the configured origins, or all with *', () => {
    const page = 'https://inspector.example'
    const admits = (allowed: string[], ...origins: string[]) => {
      const baseUrl = 'http://127.0.0.1:3000'
      const { admitsHost, admitsOrigin } = makeAdmission({ baseUrl, allowedOrigins: allowed })
      expect(admitsHost('evil.example')).to.equal(false)
      return origins.map((origin) => admitsOrigin(origin))
    }
    expect(admits([], page)).to.deep.equal([false])
    const others = [`${page}/`, 'https://other.example', 'null']
    expect(admits([page], page, ...others)).to.deep.equal([true, false, false, false])
    expect(admits(['*'], 'https://anywhere.example', 'null')).to.deep.equal([true, true])
  })

  it('is configured with origins as browsers send them', () => {
    const readWith = (...allowedOrigins: string[]) => {
      const changed = configWith(policyWith({ mcp: { allowedOrigins } }))
      return readConfig({ CONFIG_DIR: changed }, configFolder).service.mcp.allowedOrigins
    }
    const origins = ['*', 'https://inspector.example', 'http://localhost:6274']
    expect(readWith(...origins)).to.deep.equal(origins)
    for (const origin of ['https://inspector.example/', 'inspector.example', 'null', ''])
      expect(() => readWith(origin), origin).to.throw(/mcp\.allowedOrigins/)
  })
})

describe('pages of other origins and the tool endpoint [design 28]', () => {
  const PUBLIC_HOST = 'id.campus.example'
  const atHome = sharedService()
  /** A service with a public host name. The tests send the requests that its proxy would forward. */
  const inPublic = sharedService({}, async () => {
    const environment = { BASE_URL: `https://${PUBLIC_HOST}`, SECRET }
    const running = await startService({ environment })
    return { ...running, url: `http://127.0.0.1:${running.config.port}` }
  })
  const wanted = 'authorization,content-type,mcp-method,mcp-name,mcp-protocol-version'
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

  for (const { path, ...address } of toolAddresses) {
    for (const [Origin, service] of [
      ['https://studio.example', inPublic],
      ['http://localhost:6274', atHome],
    ] as const) {
      it(`${Origin} may call ${path} ${service === atHome ? 'locally' : 'in public'}, without credentials`, async () => {
        const { url } = service()
        const Host = service === atHome ? new URL(url).host : PUBLIC_HOST
        const asking = { origin: Origin, names: wanted, host: Host }
        const asked = await preflight(url + path, 'POST', asking)
        const headers = { Host, Origin, 'Content-Type': 'application/json' }
        const answer = await sendOnWire(url, { method: 'POST', path, headers, body })
        const status = 'audience' in address ? 401 : 200
        expect([asked.status, answer.status]).to.deep.equal([204, status])
        for (const { headers } of [asked, answer]) {
          expect(headers.get('access-control-allow-origin')).to.be.oneOf(['*', Origin])
          expect(headers.get('access-control-allow-credentials')).to.equal(null)
        }
        const allowed = asked.headers.get('access-control-allow-headers')?.toLowerCase().split(',')
        expect(allowed).to.include.members(wanted.split(','))
        expect(asked.headers.get('access-control-allow-methods')).to.include('POST')
        expect(answer.headers.get('access-control-expose-headers')).to.include('WWW-Authenticate')
      })
    }
  }
})

function callOf(caller: AccessToken | undefined, onQuestion = () => {}): ToolCall {
  const never = async () => {
    onQuestion()
    return await new Promise<never>(() => {})
  }
  const list = { page: never, count: never }
  const parts = {
    service: { name: 'Test', version: '1.0.0', baseUrl: 'http://127.0.0.1' },
    authGuide: () => '',
    publicCourses: {
      ...{ findSite: never, findSiteById: never, findCourse: never },
      siteSlugsStartingWith: never,
      ...{ listSites: () => list, list: () => list },
    },
    executeMember: async () => ({ data: { viewer: {} } }),
    executeAdmin: async () => ({ data: {} }),
    cursors: makeCursors([Buffer.alloc(32)]),
    now: Date.now,
    structuredResults: false,
  }
  const onProblem = () => {}
  return { caller, request: { requestId: 'test' }, onProblem, address: toolAddresses[0], parts }
}

describe('the handler behind the route', () => {
  const hangUp = new AbortController()
  const answer = async (era: (typeof eras)[number], params: object, exchange: Exchange) => {
    const { message, headers } = messageOf('tools/call', era, { ...params })
    const request = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: JSON.stringify(message),
      signal: hangUp.signal,
    })
    return await makeToolServer().answer(request, message, exchange)
  }

  for (const era of eras) {
    it(`checks the scope again, in case a route does not [${era}]`, async () => {
      const exchange: Exchange = { call: callOf(accessToken({ clientId: notes.clientId })) }
      const refused = await answer(era, { name: 'get_viewer' }, exchange)
      expect(await refused.text()).to.not.include('"result"')
      expect(exchange.failure).to.be.instanceOf(Error)
    })
  }

  it('ends its work when the caller disconnects', async () => {
    const asked = eras.map(() => Promise.withResolvers<void>())
    const params = { name: 'list_public_courses', arguments: { site: 'northlight' } }
    const answering = eras.map((era, index) =>
      answer(era, params, { call: callOf(undefined, asked[index]?.resolve) }).then(
        ({ status }) => status,
        () => 'rejected',
      ),
    )
    await Promise.all(asked.map(({ promise }) => promise))
    hangUp.abort()
    for (const status of await Promise.all(answering)) expect(status).to.be.oneOf([499, 'rejected'])
  })

  it('does not log a fault when the caller disconnects in the middle of a message', async () => {
    await using service = await startService()
    const { host, hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    const head = `POST ${paths.mcp} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json`
    socket.write(`${head}\r\nContent-Length: 99\r\n\r\n{"jsonrpc":"2.0","id":1,`)
    await once(socket, 'connect')
    socket.end()
    await eventually(20_000, async () => {
      const lines = service.log.map((line) => JSON.parse(line))
      const [line, ...others] = lines.filter(({ route }) => route === paths.mcp)
      expect(line).to.include({ status: 499, level: 30 })
      expect(others).to.be.empty
    })
  })
})
