import {
  protectedResourcePath,
  protectedResources,
} from '../src/api/discovery/protected-resource.ts'
import { MEMBER_READ, readScope, writeScope } from '../src/directory/scopes/catalogue.ts'
import { addressOf, paths } from '../src/platform/http/paths.ts'
import { orUnavailable } from '../src/platform/http/storage-guard.ts'
import { StatementExecutor } from '../src/platform/store/compiled-queries.ts'
import { isStoreFailure } from '../src/platform/store/guarded-stores.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  askToAuthorize,
  asPortal,
  asResourceServer,
  authorizeUrl,
  codeVerifier,
  exchange,
  getCode,
  introspect,
  obtain,
  refresh,
  revoke,
  userinfo,
} from './support/client.ts'
import { pdf, type Sending, sendFile } from './support/files.ts'
import {
  noor,
  notes,
  policyWith,
  type RunningService,
  resourceServer,
  sam,
  startWith,
} from './support/gatehouse.ts'
import { callTool, eras, messageOf, operatorToken } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { documentCoverage, responseValidator } from './support/openapi.ts'
import { cached, shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'
import { mapping, startWithPlatform } from './support/upstream.ts'
import {
  type Answer,
  answerOf,
  basic,
  encode,
  type Fields,
  get,
  type JsonOptions,
  postForm,
  postJson,
} from './support/wire.ts'

type Method = 'GET' | 'POST'
type Ask = (url: string) => Promise<Answer>
type TokenOf = (url: string) => Promise<string>

/** A request with a query, and with a form or a JSON body if it is a POST. */
type Call = JsonOptions & {
  readonly query?: Fields
  readonly form?: Fields
  readonly body?: unknown
}

async function call(method: Method, address: string, asked: Call = {}): Promise<Answer> {
  const { query, token, headers, form, body } = asked
  const target = query ? `${address}?${encode(query)}` : address
  const sent = { ...(token && { authorization: `Bearer ${token}` }), ...headers }
  if (method === 'GET') return await get(target, sent)
  if (form) return await postForm(target, form, sent)
  return await postJson(target, body, { headers: sent })
}

/** Returns an operator's token. Reuses it for the same scope, because an address may register only a few clients. */
const operatorBearer = cached((url: string, scope: string) => operatorToken(url, scope))

const asBrowser = { accept: 'text/html' }
const asProgram = { accept: 'application/json' }
const asTool = { accept: 'application/json, text/event-stream' }
const asStandard = { accept: 'application/graphql-response+json' }
const asForm = { 'content-type': 'application/x-www-form-urlencoded' }
const local = { redirect_uris: ['http://127.0.0.1:51234/callback'] }
const signingOut = { post_logout_redirect_uris: ['http://127.0.0.1:51234/bye'] }
const foreign = 'https://elsewhere.example/callback'
const upstream = paths.upstream.replace(':path', '{path}')

const shown = documentCoverage()

const mistake = 'a mistake in the code'
/** Responses, and members of responses, that the document describes but these tests cannot produce, with reasons. */
const unshown: Readonly<Record<string, string>> = {
  'GET /admin/api/{path} 500 application/json': mistake,
  'GET /admin/graphql 500 application/json': 'as by POST',
  'GET /member/graphql 500 application/json': 'as by POST',
  'POST /admin/api/{path} 500 application/json': mistake,
  'POST /admin/files 500 application/json': `${mistake}; the token check fails with 503`,
  'POST /admin/graphql 500 application/json': `${mistake}; a resolver fails with an error in 200`,
  'POST /mcp 500 application/json': mistake,
  'POST /mcp/admin 500 application/json': mistake,
  'POST /mcp/member 500 application/json': mistake,
  'POST /member/graphql 500 application/json': 'as at /admin/graphql',
  'components schemas AuthorizationServer properties agent_auth': 'described as never there',
}

const documentOf = cached(async (url: string) => {
  const document: object = (await get(url + paths.openApi)).body
  return { validate: responseValidator(document), record: shown.add(document) }
})

/** Expects this status, and no difference from the description of an operation such as `GET /readyz`. */
async function expectDescribed(url: string, operation: string, status: number, answer: Answer) {
  const [method = '', path = ''] = operation.split(' ')
  expect(answer.status, JSON.stringify(answer.body)).to.equal(status)
  const { validate, record } = await documentOf(url)
  expect(validate(path, method, answer)).to.deep.equal([])
  record(path, method, answer)
}

describe('openapi.json describes', () => {
  const service = sharedService({}, startWithPlatform)

  /** Defines a test for each row. A title states what is sent and ends with the expected status. */
  function answers(method: Method, path: string, rows: Readonly<Record<string, Ask | Call>>) {
    for (const [title, row] of Object.entries(rows)) {
      it(`${method} ${path}, ${title}`, async () => {
        const { url } = service()
        const answer = await (typeof row === 'function' ? row(url) : call(method, url + path, row))
        await expectDescribed(url, `${method} ${path}`, Number(title.slice(-3)), answer)
      })
    }
  }

  for (const path of [
    ...[paths.openidConfiguration, paths.authorizationServer, paths.jwks, paths.openApi],
    ...[paths.authMd, paths.llmsTxt, paths.aiCatalog, paths.serverCard, paths.serverCardMember],
    ...[paths.serverCardAdmin, paths.serverCardEarlier],
    ...protectedResources.map((resource) => protectedResourcePath(resource)),
  ]) {
    answers('GET', path, {
      'the document: 200': {},
      'with If-None-Match: 304': { headers: { 'if-none-match': '*' } },
    })
  }
  for (const path of [paths.health, paths.ready, paths.memberSchema, paths.adminSchema])
    answers('GET', path, { 'a check: 200': {} })

  answers('POST', paths.registration, {
    'a known platform: 201': { body: { client_name: 'Claude' } },
    'a local client: 201': { body: { client_name: 'mine', ...local } },
    'a local client with sign-out: 201': { body: { ...local, ...signingOut } },
    'an unknown name: 400': { body: { client_name: 'nobody' } },
    'a callback elsewhere: 400': { body: { client_name: 'mine', redirect_uris: [foreign] } },
    'a form: 415': { body: 'x=y', headers: asForm },
    'too large: 413': { body: { client_name: 'x'.repeat(200_000) } },
  })

  const long = 'x'.repeat(100_000)
  for (const path of [paths.authorization, paths.endSession]) {
    answers('POST', path, {
      'a form: 303': { form: { response_type: 'code', state: 'x' } },
      'a form of a program: 303': { form: { state: 'x' }, headers: asProgram },
      'JSON: 415': { body: {} },
      'JSON in a browser: 415': { body: {}, headers: asBrowser },
      'too large: 413': { form: { state: long } },
      'too large in a browser: 413': { form: { state: long }, headers: asBrowser },
    })
  }
  function signedIn(address: (url: string) => URL): Ask {
    return async (url) => {
      const person = makeHeadlessPerson(sam)
      await person.authorize(authorizeUrl(url), notes.redirectUri)
      return await answerOf(await person.open(address(url)))
    }
  }
  function authorized(fields: Fields = {}, headers: Record<string, string> = asBrowser): Ask {
    return (url) => get(authorizeUrl(url, fields).href, headers)
  }
  answers('GET', paths.authorization, {
    'to the sign-in page: 303': authorized(),
    'to the sign-in page for a program: 303': authorized({}, asProgram),
    'back with an error: 303': authorized({ prompt: 'none' }),
    'an unknown client: 400': authorized({ client_id: 'nobody' }),
    'an unknown client for a program: 400': authorized({ client_id: 'nobody' }, asProgram),
    'a foreign redirect_uri: 400': authorized({ redirect_uri: 'https://elsewhere.example' }),
    'an error by form_post: 400': authorized({ response_mode: 'form_post', prompt: 'none' }),
    'a code by form_post: 200': signedIn((url) =>
      authorizeUrl(url, { response_mode: 'form_post', prompt: 'none' }),
    ),
  })
  const stranger = { client_id: 'nobody' }
  answers('GET', paths.endSession, {
    'the question: 200': signedIn((url) => new URL(paths.endSession, url)),
    'without a session: 200': {},
    'an unknown client: 400': { query: stranger },
    'an unknown client in a browser: 400': { query: stranger, headers: asBrowser },
  })

  function wrong(fields: Fields): Ask {
    return (url) => exchange(url, 'nonsense', fields)
  }
  function redeemed(asked: Fields = {}, sent: Fields = asked): Ask {
    return async (url) => exchange(url, await getCode(url, asked), sent)
  }
  function refreshed(fields: Fields = {}): Ask {
    return async (url) => refresh(url, (await obtain(url)).refresh_token, fields)
  }
  const unknownCode = { grant_type: 'authorization_code', code: 'x', code_verifier: codeVerifier }
  const asNobody = { authorization: `Basic ${btoa('nobody:x')}` }
  const onPage = { origin: 'https://spa.example' }
  const portalRefresh = { grant_type: 'refresh_token', refresh_token: 'x', ...asPortal }
  describe('the token endpoint [Token 4]', () => {
    answers('POST', paths.token, {
      'a code of a public client: 200': redeemed(),
      'a code of a confidential client: 200': redeemed(asPortal),
      'a code without openid: 200': redeemed({ scope: 'account:read' }, {}),
      'a refresh: 200': refreshed(),
      'invalid_grant: 400': wrong({}),
      'invalid_request: 400': wrong({ code: undefined }),
      'invalid_request without a client: 400': wrong({ client_id: undefined }),
      'unsupported_grant_type: 400': wrong({ grant_type: 'password' }),
      'unauthorized_client: 400': wrong({ ...asResourceServer, redirect_uri: undefined }),
      'invalid_target: 400': redeemed({}, { resource: undefined }),
      'invalid_target of a refresh: 400': refreshed({ resource: 'https://elsewhere.example' }),
      'invalid_scope: 400': refreshed({ scope: 'account:write' }),
      'invalid_client, unknown: 401': wrong({ client_id: 'nobody' }),
      'invalid_client, wrong secret: 401': wrong({ ...asPortal, client_secret: 'x' }),
      'invalid_client by HTTP Basic: 401': { form: unknownCode, headers: asNobody },
      'malformed HTTP Basic: 400': { form: unknownCode, headers: { authorization: 'Basic ?' } },
      'a confidential client in a browser: 400': { form: portalRefresh, headers: onPage },
      'JSON: 400': { body: {} },
      'too large: 400': wrong({ code: long }),
    })
  })

  const malformed = { authorization: 'Bearer a b' }
  const compressed = { 'content-encoding': 'gzip' }
  function identity(method: Method, scope: string): Ask {
    return async (url) => {
      const { access_token: token } = await obtain(url, { authorization: { scope }, person: noor })
      return await call(method, url + paths.userinfo, { token, form: {} })
    }
  }
  answers('GET', paths.userinfo, {
    'with openid: 200': identity('GET', 'openid'),
    'with openid profile email: 200': identity('GET', 'openid profile email'),
    'without openid: 403': identity('GET', 'account:read'),
    'without a token: 401': {},
    'an unknown token: 401': (url) => userinfo(url, 'nonsense'),
    'a malformed header: 401': { headers: malformed },
    'a token in the URL: 400': { query: { access_token: 'x' } },
  })
  answers('POST', paths.userinfo, {
    'with openid profile email: 200': identity('POST', 'openid profile email'),
    'without openid: 403': identity('POST', 'account:read'),
    'without a token: 401': { form: {} },
    'a malformed header: 401': { form: {}, headers: malformed },
    'JSON: 400': { body: {} },
    'compressed: 415': { form: {}, headers: compressed },
    'too large: 413': { form: { access_token: long } },
  })

  function forwarding(scope: string): Ask {
    return async (url) => forwardAuth(url, (await obtain(url)).access_token, scope)
  }
  answers('GET', paths.forwardAuth, {
    'a valid token: 200': forwarding('account:read'),
    'an unknown token: 401': (url) => forwardAuth(url, 'nonsense'),
    'a missing scope: 403': forwarding('account:write'),
    'a proxy without credentials: 400': {},
    'an unknown scope: 400': (url) => forwardAuth(url, 'nonsense', 'nonsense'),
  })

  const siteless = { authorization: { scope: 'openid account:read' } }
  answers('POST', paths.introspection, {
    'an access token: 200': async (url) => introspect(url, (await obtain(url)).access_token),
    'a refresh token: 200': async (url) => introspect(url, (await obtain(url)).refresh_token),
    'a token without a site: 200': async (url) =>
      introspect(url, (await obtain(url, siteless)).access_token),
    'an unknown token: 200': (url) => introspect(url, 'nonsense'),
    'no token: 400': { form: asResourceServer },
    'no client: 401': { form: { token: 'x' } },
    'a wrong secret: 401': (url) => introspect(url, 'x', { client_secret: 'x' }),
    'JSON: 400': { body: {} },
    'compressed: 415': { form: {}, headers: compressed },
    'too large: 413': (url) => introspect(url, long),
  })
  answers('POST', paths.revocation, {
    'a token: 200': async (url) => revoke(url, (await obtain(url)).access_token),
    'an unknown token: 200': (url) => revoke(url, 'nonsense'),
    'no token: 400': { form: { client_id: notes.clientId } },
    'no client: 400': { form: { token: 'x' } },
    'an unknown client: 401': (url) => revoke(url, 'x', { client_id: 'nobody' }),
  })

  const deep = `{ a ${'{ a '.repeat(60)}${'}'.repeat(60)} }`
  for (const { path, tokenFor, without, reads, fails, changes } of [
    {
      path: paths.graphql,
      tokenFor: async (url: string, scope = `openid ${MEMBER_READ}`) =>
        (await obtain(url, { authorization: { scope } })).access_token,
      without: 'openid',
      reads: '{ viewer { id } }',
      fails: '{ viewer { enrolledCourses(first: 1, after: "x") { nodes { slug } } } }',
      changes: 'mutation { markAllNotificationsRead { __typename } }',
    },
    {
      path: paths.adminGraphql,
      tokenFor: (url: string, scope = readScope('courses')) => operatorBearer(url, scope),
      without: readScope('school'),
      reads: '{ courses { totalCount } }',
      fails: '{ courses(first: 1, after: "x") { nodes { slug } } }',
      changes: 'mutation { archiveCourse(id: "x") { id } }',
    },
  ]) {
    for (const method of ['GET', 'POST'] as const) {
      const asked =
        (query: string | undefined, headers = {}, token: TokenOf = tokenFor): Ask =>
        async (url) => {
          const body = { query, extensions: { limits: true } }
          const address = method === 'GET' ? `${path}?${encode({ query })}` : path
          return await call(method, url + address, { token: await token(url), headers, body })
        }
      const only = {
        GET: { 'a mutation: 405': asked(changes), 'too long: 414': asked('x'.repeat(9000)) },
        POST: {
          'a mutation: 403': asked(changes),
          'too large: 413': asked('x'.repeat(1_000_000)),
          'a form: 415': asked(reads, asForm),
        },
      }
      answers(method, path, {
        'a query: 200': asked(reads),
        'a query by the standard: 200': asked(reads, asStandard),
        'a field that fails: 200': asked(fails),
        'an invalid document: 400': asked('{ nothing }', asStandard),
        'no query: 400': asked(undefined),
        'no token: 401': asked(reads, {}, async () => ''),
        'too deep: 400': asked(deep),
        'too deep by the standard: 400': asked(deep, asStandard),
        'without the scope: 403': asked(reads, {}, (url) => tokenFor(url, without)),
        'another media type: 406': asked(reads, { accept: 'image/png' }),
        ...only[method],
      })
    }
  }

  const forwarded =
    (method: Method, path: string, scope = 'coupons:read coupons:write', body?: string): Ask =>
    async (url) => {
      const token = scope && (await operatorBearer(url, scope))
      const address = url + addressOf(paths.upstream, { path: '' }) + path
      return await call(method, address, { token, body })
    }
  for (const method of ['GET', 'POST'] as const) {
    answers(method, upstream, {
      'a path of the platform: 200': forwarded(method, 'coupons/7'),
      'a path that is not canonical: 400': forwarded(method, 'coupons/%41'),
      'without a token: 401': forwarded(method, 'coupons', ''),
      'without the scope: 403': forwarded(method, 'coupons', readScope('courses')),
      'an unmapped path: 404': forwarded(method, 'pages', ''),
      'a failing platform: 502': forwarded(method, 'coupons/redirect'),
      'a silent platform: 504': forwarded(method, 'slow/silent'),
    })
  }
  answers('GET', upstream, { 'a path to write only: 405': forwarded('GET', 'events', '') })
  answers('POST', upstream, {
    'a path to read only: 405': forwarded('POST', 'shop/forms', ''),
    'too large: 413': forwarded('POST', 'coupons', undefined, 'x'.repeat(1_000_001)),
  })

  const uploaded =
    (sending: Partial<Sending>, scope = writeScope('storage')): Ask =>
    async (url) => {
      const token = scope && (await operatorBearer(url, scope))
      return await sendFile({ url, token, name: 'described.pdf', bytes: pdf, ...sending })
    }
  answers('POST', paths.adminFiles, {
    'a file: 201': uploaded({}),
    'the same file again: 200': uploaded({}),
    'no name: 400': uploaded({ name: '' }),
    'no token: 401': uploaded({}, ''),
    'without the scope: 403': uploaded({}, readScope('school')),
    'too large: 413': uploaded({ bytes: Buffer.alloc(21_000_000, pdf) }),
    'markup: 415': uploaded({ bytes: Buffer.from('<svg/>') }),
  })
  it(`POST ${paths.adminFiles}, too slow: 408`, async () => {
    await using slow = await startWith({ files: { uploadSeconds: 1 } })
    const bytes = new ReadableStream({ start: (stream) => stream.enqueue(pdf) })
    const answer = await uploaded({ bytes })(slow.url)
    await expectDescribed(slow.url, `POST ${paths.adminFiles}`, 408, answer)
  })

  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const withoutScope: TokenOf = (url) => memberToken(url, 'openid')
  const toolCall = (name: string) => ({ ...list, method: 'tools/call', params: { name } })
  for (const [path, own] of [
    [paths.mcp, async () => ''],
    [paths.mcpMember, memberToken],
    [paths.mcpAdmin, (url: string) => operatorBearer(url, readScope('school'))],
  ] as const) {
    const sent =
      (body: unknown, more = {}, token: TokenOf = own): Ask =>
      async (url) => {
        const headers = { ...asTool, ...more }
        return await call('POST', url + path, { token: await token(url), headers, body })
      }
    const modern = (method: string, headers = {}) => {
      const { message, headers: usual } = messageOf(method, '2026-07-28', {})
      return sent(message, { ...usual, ...headers })
    }
    answers('POST', path, {
      'a list: 200': sent(list),
      'a list for 2026-07-28: 200': modern('tools/list'),
      'a list for a client that accepts streams: 200': sent(list, { accept: 'text/event-stream' }),
      'a subscription: 200': async (url) => listen(url + path, await own(url)),
      'an unknown tool: 200': sent(toolCall('nothing')),
      'an unknown revision: 400': modern('tools/list', { 'mcp-protocol-version': '2030-01-01' }),
      'an unknown method of 2026-07-28: 404': modern('nothing/like-it'),
      'a notification: 202': sent({ jsonrpc: '2.0', method: 'notifications/initialized' }),
      'a batch: 400': sent([list]),
      'a malformed header: 401': sent(list, malformed),
      'an unknown token: 401': sent(list, {}, async () => 'nonsense'),
      'a member tool without a token: 401': sent(toolCall('get_viewer'), {}, async () => ''),
      'a tool without its scope: 403': sent(toolCall('get_viewer'), {}, withoutScope),
      'a foreign page: 403': sent(list, { origin: 'https://elsewhere.example' }),
      'too large: 413': sent({ ...list, x: 'x'.repeat(300_000) }),
      'a form: 415': sent(list, asForm),
    })
  }
})

describe('openapi.json describes a service that fails', () => {
  const running = sharedService({ policy: policyWith({ upstreams: mapping(1) }) })
  const busy = sharedService({
    policy: policyWith({
      limits: {
        ...{ authorizationKilobytesPerAddressMax: 1, oauthFailurePointsPerAddressMax: 1 },
        ...{ tokenFailurePointsPerAddressMax: 1, pagesPerAddressMax: 1 },
      },
      mcp: { requestsPerAddressMax: 1 },
      registration: { registrationsPerAddressMax: 1 },
    }),
  })
  const token = shared(async () => (await obtain(running().url)).access_token)

  const sent = (method: Method, path: string, rest: Call = {}): Ask => {
    return (url) => call(method, url + path, { token: token(), ...rest })
  }
  const signOut = { query: { client_id: notes.clientId } }
  const inBrowser = { ...signOut, headers: asBrowser }
  const coupons = addressOf(paths.upstream, { path: 'coupons' })
  const query = { query: '{ __typename }' }
  const publicCourses = { values: { site: 'northlight' } }
  const toolList = { headers: asTool, body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }
  const operations: Readonly<Record<string, Ask>> = {
    [`GET ${paths.authorization}`]: (url) => askToAuthorize(url),
    [`GET ${paths.authorization} by a program`]: (url) => get(authorizeUrl(url).href),
    [`GET ${paths.endSession}`]: sent('GET', paths.endSession, signOut),
    [`GET ${paths.endSession} in a browser`]: sent('GET', paths.endSession, inBrowser),
    [`POST ${paths.token}`]: (url) => exchange(url, 'nonsense'),
    [`GET ${paths.userinfo}`]: sent('GET', paths.userinfo),
    [`POST ${paths.userinfo}`]: sent('POST', paths.userinfo, { form: {} }),
    [`POST ${paths.introspection}`]: (url) => introspect(url, token()),
    [`GET ${paths.forwardAuth}`]: (url) => forwardAuth(url, token()),
    [`POST ${paths.revocation}`]: (url) => revoke(url, token()),
    [`POST ${paths.registration}`]: sent('POST', paths.registration, { body: local }),
    [`POST ${paths.adminFiles}`]: (url) =>
      sendFile({ url, token: token(), name: 'described.pdf', bytes: pdf }),
    [`GET ${upstream}`]: sent('GET', coupons),
    [`POST ${upstream}`]: sent('POST', coupons),
    ...Object.fromEntries(
      [paths.graphql, paths.adminGraphql].flatMap((path) => [
        [`GET ${path}`, sent('GET', path, { query })],
        [`GET ${path} by the standard`, sent('GET', path, { query, headers: asStandard })],
        [`POST ${path}`, sent('POST', path, { body: query })],
        [`POST ${path} by the standard`, sent('POST', path, { body: query, headers: asStandard })],
      ]),
    ),
    [`POST ${paths.mcp}`]: sent('POST', paths.mcp, toolList),
    [`POST ${paths.mcp} by the standard`]: (url) =>
      callTool(url, 'get_viewer', { token: token(), era: '2026-07-28' }),
    [`POST ${paths.mcp} for a public tool`]: (url) =>
      callTool(url, 'list_public_courses', publicCourses),
    [`POST ${paths.mcpMember}`]: sent('POST', paths.mcpMember, toolList),
    [`POST ${paths.mcpAdmin}`]: sent('POST', paths.mcpAdmin, toolList),
    [`GET ${paths.ready}`]: sent('GET', paths.ready),
  }
  for (const [operation, ask] of Object.entries(operations)) {
    const fails = async (error: Error, status: number) => {
      const answer = await withBrokenStore(running(), error, () => ask(running().url))
      await expectDescribed(running().url, operation, status, answer)
      expect(answer.headers.get('cache-control')).to.equal('no-store')
    }
    // [Errors 7.1]
    it(`${operation} without its store: 503 [Errors 7]`, () =>
      fails(new Error('out of reach'), 503))
    const [method, path] = operation.split(' ')
    if (path === paths.ready || `${method} ${path} 500 application/json` in unshown) continue
    it(`${operation} with a mistake in the code: 500`, () => fails(new TypeError('mistake'), 500))
  }

  it('without its store, tools that need no data respond, and others ask for a token [Errors 7]', async () => {
    const { url } = running()
    for (const era of eras) {
      const call = async (name: string) => (await callTool(url, name, { era })).status
      const statuses = await withBrokenStore(running(), new Error('out of reach'), async () => [
        await call('get_service_info'),
        await call('get_viewer'),
      ])
      expect(statuses, era).to.deep.equal([200, 401])
    }
  })

  const asClient = { form: { client_id: 'nobody', client_secret: 'x', token: 'x' } }
  const asForms = [paths.authorization, paths.endSession, paths.revocation, paths.introspection]
  for (const [operation, ask] of Object.entries({
    ...operations,
    ...Object.fromEntries(asForms.map((path) => [`POST ${path}`, sent('POST', path, asClient)])),
    [`GET ${paths.forwardAuth}`]: sent('GET', paths.forwardAuth),
  })) {
    if (operation.endsWith(paths.ready)) continue
    it(`${operation} over the limit: 429`, async () => {
      const { url } = busy()
      await ask(url)
      await expectDescribed(url, operation, 429, await ask(url))
    })
  }
})

describe('openapi.json as a whole', () => {
  it('describes the metadata of a service where clients describe themselves', async () => {
    const metadataDocuments = { sources: [], openRegistration: true }
    await using service = await startWith({ metadataDocuments })
    for (const path of [paths.authorizationServer, paths.openidConfiguration]) {
      const answer = await get(service.url + path)
      expect(answer.body).to.include({ client_id_metadata_document_supported: true })
      await expectDescribed(service.url, `GET ${path}`, 200, answer)
    }
  })

  it('describes only responses and members that these tests have observed, with known exceptions', () => {
    expect(shown.missing()).to.deep.equal(Object.keys(unshown))
  })
})

async function withBrokenStore<T>(running: RunningService, error: Error, work: () => Promise<T>) {
  const executor = running.kysely.getExecutor()
  if (!(executor instanceof StatementExecutor)) throw new Error('statements run in another way')
  const { run } = executor
  const provideConnection = executor.provideConnection.bind(executor)
  const fail = () => orUnavailable(() => Promise.reject(error), isStoreFailure)
  Object.assign(executor, { run: fail, provideConnection: fail })
  try {
    return await work()
  } finally {
    Object.assign(executor, { run, provideConnection })
  }
}

async function forwardAuth(url: string, token: string, scope?: string): Promise<Answer> {
  const [, proxy = ''] = basic(resourceServer.clientId, resourceServer.clientSecret)
  const headers = { 'x-forward-auth-client': proxy }
  return await call('GET', url + paths.forwardAuth, { query: { scope }, token, headers })
}

async function listen(address: string, token: string): Promise<Answer> {
  const wanted = { notifications: { toolsListChanged: true } }
  const { message, headers: usual } = messageOf('subscriptions/listen', '2026-07-28', wanted)
  const { status, headers, body } = await fetch(address, {
    method: 'POST',
    body: JSON.stringify(message),
    headers: { ...usual, ...asTool, ...(token && { authorization: `Bearer ${token}` }) },
  })
  const reader = body?.getReader()
  const text = new TextDecoder().decode((await reader?.read())?.value)
  await reader?.cancel()
  return { status, headers, text, body: text }
}
