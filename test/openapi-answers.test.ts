import { expect } from 'chai'

import {
  protectedResourcePath,
  protectedResources,
} from '../src/api/discovery/protected-resource.ts'
import type { ServicePolicy } from '../src/config/config.ts'
import { MEMBER_READ, readScope, writeScope } from '../src/directory/scopes/catalogue.ts'
import { addressOf, paths } from '../src/platform/http/paths.ts'
import { orUnavailable } from '../src/platform/http/storage-guard.ts'
import { StatementExecutor } from '../src/platform/store/compiled.ts'
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
import { noor, notes, resourceServer, sam, startService } from './support/gatehouse.ts'
import { messageOf, operatorToken } from './support/mcp.ts'
import { memberToken } from './support/member-api.ts'
import { documentCoverage, responseValidator } from './support/openapi.ts'
import { sharedService } from './support/shared-service.ts'
import { mapping, startWithPlatform } from './support/upstream.ts'
import { type Answer, answerOf, basic, encode, type Fields, postForm } from './support/wire.ts'

/** An answer of the service, and which operation of the document gave it. */
type Observed = readonly [path: string, method: 'GET' | 'POST', answer: Answer]

const operatorTokens = new Map<string, Promise<string>>()

/** An operator's token, one for each service and scope: an address may register only so many clients. */
function operatorBearer(url: string, scope: string): Promise<string> {
  const key = `${url} ${scope}`
  const token = operatorTokens.get(key) ?? operatorToken(url, scope)
  operatorTokens.set(key, token)
  return token
}

/** The addresses of the tools, and a token where one is demanded. */
const tools = [
  [paths.mcp, async () => ''],
  [paths.mcpMember, async (url: string) => await memberToken(url)],
  [paths.mcpAdmin, async (url: string) => await operatorBearer(url, readScope('school'))],
] as const

/** What of the document a real answer of these tests has shown. */
const shown = documentCoverage()

/** What is counted is used up by the first request. */
const nothingTwice = (policy: ServicePolicy): ServicePolicy => ({
  ...policy,
  limits: {
    ...policy.limits,
    authorizationKilobytesPerAddressMax: 1,
    oauthFailurePointsPerAddressMax: 1,
    tokenFailurePointsPerAddressMax: 1,
    pagesPerAddressMax: 1,
  },
  mcp: { ...policy.mcp, requestsPerAddressMax: 1 },
  registration: { ...policy.registration, registrationsPerAddressMax: 1 },
})

const sentAs = (type: string, body: string) => ({ body, headers: { 'content-type': type } })
const asForm = sentAs(
  'application/x-www-form-urlencoded',
  'client_id=nobody&client_secret=x&token=x',
)
const asMessage = sentAs('application/json', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
const asRecord = sentAs('application/json', '{"redirect_uris":["http://127.0.0.1:51234/callback"]}')

const newGraphql = { headers: { accept: 'application/graphql-response+json' } }

const askedTooOften: readonly (readonly [string, 'GET' | 'POST', RequestInit])[] = [
  [paths.registration, 'POST', asRecord],
  [paths.authorization, 'GET', {}],
  [paths.authorization, 'POST', asForm],
  [paths.endSession, 'GET', {}],
  [paths.endSession, 'POST', asForm],
  [paths.token, 'POST', asForm],
  [paths.revocation, 'POST', asForm],
  [paths.introspection, 'POST', asForm],
  [paths.forwardAuth, 'GET', {}],
  [paths.userinfo, 'GET', {}],
  [paths.userinfo, 'POST', asForm],
  [paths.graphql, 'GET', {}],
  [paths.graphql, 'GET', newGraphql],
  [
    paths.graphql,
    'POST',
    { ...asMessage, headers: { ...asMessage.headers, ...newGraphql.headers } },
  ],
  [paths.graphql, 'POST', asMessage],
  [paths.adminGraphql, 'GET', {}],
  [paths.adminGraphql, 'GET', newGraphql],
  [
    paths.adminGraphql,
    'POST',
    { ...asMessage, headers: { ...asMessage.headers, ...newGraphql.headers } },
  ],
  [paths.adminGraphql, 'POST', asMessage],
  [paths.adminFiles, 'POST', asMessage],
  [paths.upstream.replace(':path', '{path}'), 'GET', {}],
  [paths.upstream.replace(':path', '{path}'), 'POST', asMessage],
  [paths.mcp, 'POST', asMessage],
  [paths.mcpMember, 'POST', asMessage],
  [paths.mcpAdmin, 'POST', asMessage],
]

/** Holds an answer against the document of the service that gave it, and notes what it shows. */
async function expectDescribed(url: string, status: number, observed: Observed): Promise<void> {
  const [path, method, answer] = observed
  expect(answer.status, JSON.stringify(answer.body)).to.equal(status)
  const document = (await (await fetch(url + paths.openApi)).json()) as object
  expect(responseValidator(document)(path, method, status, answer.body)).to.deep.equal([])
  expect(differences(document, observed)).to.deep.equal([])
  shown.note(document, [path, method, status, answer.body], mediaTypeOf(answer))
}

describe('openapi.json, against real answers', () => {
  const service = sharedService({}, startWithPlatform)

  /** One test for each answer: what the document promises of it, and nothing else, is there. */
  function describes(title: string, status: number, observe: (url: string) => Promise<Observed>) {
    it(`${title}: ${status}`, async () => {
      const { url } = service()
      await expectDescribed(url, status, await observe(url))
    })
  }

  const get = async (url: string, path: string, headers: Record<string, string> = {}) =>
    [path, 'GET', await answerOf(await fetch(url + path, { headers }))] as const
  const post = async (url: string, path: string, fields: Fields) =>
    [path, 'POST', await postForm(url + path, fields)] as const

  describe('discovery', () => {
    const documents = [
      paths.openidConfiguration,
      paths.authorizationServer,
      paths.jwks,
      paths.openApi,
      paths.authMd,
      paths.llmsTxt,
      paths.aiCatalog,
      paths.serverCard,
      paths.serverCardMember,
      paths.serverCardAdmin,
      paths.serverCardEarlier,
      ...protectedResources.map(protectedResourcePath),
    ]
    for (const path of documents) {
      describes(`GET ${path}`, 200, (url) => get(url, path))
      describes(`GET ${path}, held already`, 304, (url) => get(url, path, { 'if-none-match': '*' }))
    }
  })

  describe('health', () => {
    describes('GET /healthz', 200, (url) => get(url, paths.health))
    describes('GET /readyz', 200, (url) => get(url, paths.ready))
  })

  describe('POST /api/oauth/register', () => {
    const registered = async (url: string, body: string, type = 'application/json') =>
      [
        paths.registration,
        'POST',
        await answerOf(
          await fetch(url + paths.registration, {
            method: 'POST',
            body,
            headers: { 'content-type': type },
          }),
        ),
      ] as const
    const register = (url: string, record: object) => registered(url, JSON.stringify(record))
    describes('a known platform', 201, (url) => register(url, { client_name: 'Claude' }))
    describes('a local client', 201, (url) =>
      register(url, { client_name: 'mine', redirect_uris: ['http://127.0.0.1:51234/callback'] }),
    )
    describes('a local client that signs people out', 201, (url) =>
      register(url, {
        redirect_uris: ['http://127.0.0.1:51234/callback'],
        post_logout_redirect_uris: ['http://127.0.0.1:51234/bye'],
      }),
    )
    describes('an unknown name', 400, (url) => register(url, { client_name: 'nobody' }))
    describes('a fixed callback', 400, (url) =>
      register(url, { client_name: 'mine', redirect_uris: ['https://elsewhere.example/callback'] }),
    )
    describes('nothing', 400, (url) => register(url, {}))
    describes('a list', 400, (url) => register(url, []))
    describes('half of a document', 400, (url) => registered(url, '{'))
    describes('a form', 415, (url) => registered(url, 'x=y', 'application/x-www-form-urlencoded'))
    describes('too much', 413, (url) => register(url, { client_name: 'x'.repeat(200_000) }))
  })

  /** A form that people or programs send to a page of the engine. */
  const describesForms = (path: string) => {
    describes('by POST of something else', 415, async (url) => [
      path,
      'POST',
      await postJson(url + path),
    ])
    describes('by POST of too much', 413, (url) => post(url, path, { state: 'x'.repeat(100_000) }))
    describes('by POST of too much, in a browser', 413, async (url) => [
      path,
      'POST',
      await postForm(url + path, { state: 'x'.repeat(100_000) }, asBrowser),
    ])
    describes('by POST of something else, in a browser', 415, async (url) => [
      path,
      'POST',
      await postAny(url + path, { headers: asBrowser, body: {} }),
    ])
    describes('by POST, for a program', 303, async (url) => [
      path,
      'POST',
      await postForm(url + path, { state: 'x' }, asProgram),
    ])
    describes('by POST, in a browser', 303, async (url) => [
      path,
      'POST',
      await postForm(url + path, { state: 'x' }, asBrowser),
    ])
  }

  describe('GET and POST /oauth/authorize', () => {
    const authorized = async (url: string, fields: Fields): Promise<Observed> => [
      paths.authorization,
      'GET',
      await askToAuthorize(url, fields),
    ]
    describes('to the sign-in page', 303, (url) => authorized(url, {}))
    describes('back with an error', 303, (url) => authorized(url, { prompt: 'none' }))
    describes('with an unknown client', 400, (url) => authorized(url, { client_id: 'nobody' }))
    describes('to the sign-in page, in a browser', 303, async (url) => [
      paths.authorization,
      'GET',
      await answerOf(await fetch(authorizeUrl(url), { headers: asBrowser, redirect: 'manual' })),
    ])
    describes('to the sign-in page, for a program', 303, async (url) => [
      paths.authorization,
      'GET',
      await answerOf(await fetch(authorizeUrl(url), { headers: asProgram, redirect: 'manual' })),
    ])
    describes('with an unknown client, for a program', 400, async (url) => {
      const address = authorizeUrl(url, { client_id: 'nobody' })
      const headers = { accept: 'application/json' }
      return [paths.authorization, 'GET', await answerOf(await fetch(address, { headers }))]
    })
    describes('with a foreign redirect_uri', 400, (url) =>
      authorized(url, { redirect_uri: 'https://elsewhere.example' }),
    )
    describes('answered by a form', 200, async (url) => {
      const person = makeHeadlessPerson(sam)
      await person.authorize(authorizeUrl(url), notes.redirectUri)
      const address = authorizeUrl(url, { response_mode: 'form_post', prompt: 'none' })
      return [paths.authorization, 'GET', await answerOf(await person.open(address))]
    })
    describes('refused by a form', 400, (url) =>
      authorized(url, { response_mode: 'form_post', prompt: 'none' }),
    )
    describes('by POST', 303, (url) => post(url, paths.authorization, { response_type: 'code' }))
    describesForms(paths.authorization)
  })

  // [Token 4]
  describe('POST /api/oauth/token', () => {
    const token = async (answer: Promise<Answer>): Promise<Observed> => [
      paths.token,
      'POST',
      await answer,
    ]
    const wrong = (url: string, fields: Fields) => token(exchange(url, 'nonsense', fields))
    describes('a code of a public client', 200, async (url) =>
      token(exchange(url, await getCode(url))),
    )
    describes('a code of a confidential client', 200, async (url) =>
      token(exchange(url, await getCode(url, asPortal), asPortal)),
    )
    describes('a code without openid', 200, async (url) =>
      token(exchange(url, await getCode(url, { scope: 'account:read' }))),
    )
    describes('a refresh', 200, async (url) =>
      token(refresh(url, (await obtain(url)).refresh_token)),
    )
    describes('a refresh of fewer scopes', 200, async (url) =>
      token(refresh(url, (await obtain(url)).refresh_token, { scope: 'openid' })),
    )
    describes('invalid_grant', 400, (url) => wrong(url, {}))
    describes('invalid_request', 400, (url) => wrong(url, { code: undefined }))
    describes('invalid_request, no client', 400, (url) => wrong(url, { client_id: undefined }))
    describes('unsupported_grant_type', 400, (url) => wrong(url, { grant_type: 'password' }))
    describes('unauthorized_client', 400, (url) =>
      wrong(url, { ...asResourceServer, redirect_uri: undefined }),
    )
    describes('invalid_target', 400, async (url) =>
      token(exchange(url, await getCode(url), { resource: undefined })),
    )
    describes('invalid_target of a refresh', 400, async (url) =>
      token(
        refresh(url, (await obtain(url)).refresh_token, { resource: 'https://elsewhere.example' }),
      ),
    )
    describes('invalid_scope', 400, async (url) =>
      token(refresh(url, (await obtain(url)).refresh_token, { scope: 'account:write' })),
    )
    describes('invalid_client, unknown', 401, (url) => wrong(url, { client_id: 'nobody' }))
    describes('invalid_client, wrong secret', 401, (url) =>
      wrong(url, { ...asPortal, client_secret: 'x' }),
    )
    describes('invalid_client by HTTP Basic', 401, (url) =>
      token(
        postForm(
          url + paths.token,
          { grant_type: 'authorization_code', code: 'x', code_verifier: codeVerifier },
          { authorization: `Basic ${btoa('nobody:x')}` },
        ),
      ),
    )
    describes('a malformed HTTP Basic', 400, (url) =>
      token(postForm(url + paths.token, { grant_type: 'x' }, { authorization: 'Basic ?' })),
    )
    describes('a confidential client in a browser', 400, (url) =>
      token(
        postForm(
          url + paths.token,
          { grant_type: 'refresh_token', refresh_token: 'x', ...asPortal },
          { origin: 'https://spa.example' },
        ),
      ),
    )
    describes('JSON', 400, (url) => token(postJson(url + paths.token)))
    describes('too much', 400, (url) => wrong(url, { code: 'x'.repeat(100_000) }))
  })

  describe('/api/oauth/userinfo', () => {
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    const posted = async (answer: Promise<Answer>): Promise<Observed> => [
      paths.userinfo,
      'POST',
      await answer,
    ]
    for (const scope of ['openid', 'openid email', 'openid profile email']) {
      describes(`GET with ${scope}`, 200, async (url) => {
        const { access_token } = await obtain(url, { authorization: { scope }, person: noor })
        return [paths.userinfo, 'GET', await userinfo(url, access_token)]
      })
    }
    describes('POST', 200, async (url) =>
      posted(
        postForm(
          url + paths.userinfo,
          {},
          bearer((await obtain(url, { person: noor })).access_token),
        ),
      ),
    )
    describes('without a token', 401, (url) => get(url, paths.userinfo))
    describes('with nonsense', 401, (url) => get(url, paths.userinfo, bearer('nonsense')))
    describes('with a malformed header', 400, (url) =>
      get(url, paths.userinfo, { authorization: 'Bearer a b' }),
    )
    describes('without openid', 403, async (url) => {
      const { access_token } = await obtain(url, { authorization: { scope: 'account:read' } })
      return [paths.userinfo, 'GET', await userinfo(url, access_token)]
    })
    describes('POST without a token', 401, (url) => post(url, paths.userinfo, {}))
    describes('POST with a malformed header', 400, (url) =>
      posted(postForm(url + paths.userinfo, {}, { authorization: 'Bearer a b' })),
    )
    describes('POST without openid', 403, async (url) => {
      const { access_token } = await obtain(url, { authorization: { scope: 'account:read' } })
      return posted(postForm(url + paths.userinfo, {}, bearer(access_token)))
    })
    describes('POST of JSON', 415, (url) => posted(postJson(url + paths.userinfo)))
    describes('POST of too much', 413, (url) =>
      posted(postForm(url + paths.userinfo, { access_token: 'x'.repeat(100_000) })),
    )
  })

  describe('GET /api/oauth/forward-auth', () => {
    const ask = (url: string, token: string, scope = '') => forwardAuth(url, { token, scope })
    describes('a good token', 200, async (url) =>
      ask(url, (await obtain(url)).access_token, 'account:read'),
    )
    describes('nonsense', 401, (url) => ask(url, 'nonsense'))
    describes('a scope too much', 403, async (url) =>
      ask(url, (await obtain(url)).access_token, 'account:write'),
    )
    describes('a proxy without credentials', 400, (url) => get(url, paths.forwardAuth))
    describes('a scope that does not exist', 400, (url) => ask(url, 'nonsense', 'nonsense'))
  })

  describe('POST /api/oauth/introspect', () => {
    const seen = async (answer: Promise<Answer>): Promise<Observed> => [
      paths.introspection,
      'POST',
      await answer,
    ]
    describes('an access token', 200, async (url) =>
      seen(introspect(url, (await obtain(url)).access_token)),
    )
    describes('a refresh token', 200, async (url) =>
      seen(introspect(url, (await obtain(url)).refresh_token)),
    )
    describes('a token without a site', 200, async (url) => {
      const scope = 'openid account:read'
      return seen(introspect(url, (await obtain(url, { authorization: { scope } })).access_token))
    })
    describes('nonsense', 200, (url) => seen(introspect(url, 'nonsense')))
    describes('a signed token, as nobody here issues', 200, async (url) =>
      seen(introspect(url, (await obtain(url)).id_token ?? '')),
    )
    describes('no token', 400, (url) => post(url, paths.introspection, asResourceServer))
    describes('no client', 401, (url) => post(url, paths.introspection, { token: 'x' }))
    describes('a wrong secret', 401, (url) => seen(introspect(url, 'x', { client_secret: 'x' })))
    describes('JSON', 415, (url) => seen(postJson(url + paths.introspection)))
    describes('too much', 413, (url) => seen(introspect(url, 'x'.repeat(100_000))))
  })

  describe('POST /api/oauth/revoke', () => {
    const done = async (answer: Promise<Answer>): Promise<Observed> => [
      paths.revocation,
      'POST',
      await answer,
    ]
    describes('a token', 200, async (url) => done(revoke(url, (await obtain(url)).access_token)))
    describes('nonsense', 200, (url) => done(revoke(url, 'nonsense')))
    describes('a signed token, as nobody here issues', 200, async (url) =>
      done(revoke(url, (await obtain(url)).id_token ?? '')),
    )
    describes('no token', 400, (url) => post(url, paths.revocation, { client_id: notes.clientId }))
    describes('no client', 400, (url) => post(url, paths.revocation, { token: 'x' }))
    describes('an unknown client', 401, (url) => done(revoke(url, 'x', { client_id: 'nobody' })))
  })

  const graphqlApis = {
    [paths.graphql]: {
      schema: paths.memberSchema,
      bearer: async (url: string, scope = `openid ${MEMBER_READ}`) =>
        (await obtain(url, { authorization: { scope } })).access_token,
      without: 'openid',
      reads: { query: '{ viewer { id } }' },
      fails: { query: '{ viewer { enrolledCourses(first: 1, after: "x") { nodes { slug } } } }' },
      changes: { query: 'mutation { markAllNotificationsRead { __typename } }' },
    },
    [paths.adminGraphql]: {
      schema: paths.adminSchema,
      bearer: async (url: string, scope = readScope('courses')) => await operatorBearer(url, scope),
      without: readScope('school'),
      reads: { query: '{ courses { totalCount } }' },
      fails: { query: '{ courses(first: 1, after: "x") { nodes { slug } } }' },
      changes: { query: 'mutation { archiveCourse(id: "x") { id } }' },
    },
  }
  const asStandard = { accept: 'application/graphql-response+json' }
  const tooDeep = { query: `{ a ${'{ a '.repeat(60)}${'}'.repeat(60)} }` }
  for (const [address, api] of Object.entries(graphqlApis)) {
    const { bearer, reads } = api
    describe(address, () => {
      describes('the schema', 200, (url) => get(url, api.schema))
    })
    const both = { POST: postAny, GET: getQuery }
    for (const method of ['POST', 'GET'] as const)
      describe(`${method} ${address}`, () => {
        const asked = async (url: string, caller: Caller, body: object) =>
          [address, method, await both[method](url + address, { ...caller, body })] as const
        const byMember = async (url: string, body: object, headers: Caller['headers'] = {}) =>
          asked(url, { token: await bearer(url), headers }, body)
        describes('a query', 200, (url) => byMember(url, reads))
        describes('a query of a client of the standard', 200, (url) =>
          byMember(url, reads, asStandard),
        )
        describes('a field that fails', 200, (url) => byMember(url, api.fails))
        describes('an invalid document', 400, (url) =>
          byMember(url, { query: '{ nothing }' }, asStandard),
        )
        describes('no query', 400, (url) => byMember(url, {}))
        describes('no token', 401, (url) => asked(url, {}, reads))
        describes('too deep', 400, (url) => byMember(url, tooDeep))
        describes('too deep, for a client of the standard', 400, (url) =>
          byMember(url, tooDeep, asStandard),
        )
        describes('a token without its scope', 403, async (url) =>
          asked(url, { token: await bearer(url, api.without) }, reads),
        )
        describes('a mutation with a token that reads', method === 'GET' ? 405 : 403, (url) =>
          byMember(url, api.changes),
        )
        describes('of another media type', 406, (url) =>
          byMember(url, reads, { accept: 'image/png' }),
        )
        if (method === 'GET') {
          describes('too long', 414, (url) => byMember(url, { query: 'x'.repeat(9000) }))
          return
        }
        describes('too much', 413, (url) => byMember(url, { query: 'x'.repeat(1_000_000) }))
        describes('a form', 415, (url) =>
          byMember(url, reads, { 'content-type': 'application/x-www-form-urlencoded' }),
        )
      })
  }

  describe('below /admin/api/', () => {
    const described = paths.upstream.replace(':path', '{path}')
    const below = addressOf(paths.upstream, { path: '' })
    type Asking = Omit<Call, 'method'>
    const asked = (method: 'GET' | 'POST') => async (url: string, path: string, caller: Asking) =>
      [described, method, await callAny(`${url}${below}${path}`, { ...caller, method })] as const
    const tokenFor = async (url: string) => await operatorBearer(url, 'coupons:read coupons:write')
    for (const method of ['GET', 'POST'] as const) {
      const ask = asked(method)
      const withToken = async (url: string, path: string) =>
        await ask(url, path, { token: await tokenFor(url) })
      describes(`${method} of what the platform has`, 200, (url) => withToken(url, 'coupons/7'))
      describes(`${method} spelled in another way`, 400, (url) => withToken(url, 'coupons/%41'))
      describes(`${method} without a token`, 401, (url) => ask(url, 'coupons', {}))
      describes(`${method} without the scope`, 403, async (url) =>
        ask(url, 'coupons', { token: await operatorBearer(url, readScope('courses')) }),
      )
      describes(`${method} of what is not mapped`, 404, (url) => ask(url, 'pages', {}))
      describes(`${method} that fails there`, 502, (url) => withToken(url, 'coupons/redirect'))
      describes(`${method} that is not answered there`, 504, (url) => withToken(url, 'slow/silent'))
    }
    describes('GET of what is only written', 405, (url) => asked('GET')(url, 'events', {}))
    describes('POST of what is only read', 405, (url) => asked('POST')(url, 'shop/forms', {}))
    describes('POST of too much', 413, async (url) =>
      asked('POST')(url, 'coupons', { token: await tokenFor(url), body: 'x'.repeat(1_000_001) }),
    )
  })

  describe('POST /admin/files', () => {
    const sent = async (url: string, sending: Partial<Sending>): Promise<Observed> => [
      paths.adminFiles,
      'POST',
      await sendFile({
        url,
        token: await operatorBearer(url, writeScope('storage')),
        name: 'described.pdf',
        bytes: pdf,
        ...sending,
      }),
    ]
    describes('a file', 201, (url) => sent(url, {}))
    describes('the same file again', 200, (url) => sent(url, {}))
    describes('a file without a name', 400, (url) => sent(url, { name: '' }))
    describes('no token', 401, (url) => sent(url, { token: undefined }))
    describes('a token that may not', 403, async (url) =>
      sent(url, { token: await operatorBearer(url, readScope('school')) }),
    )
    describes('too much', 413, (url) => sent(url, { bytes: Buffer.alloc(21_000_000, pdf) }))
    describes('markup', 415, (url) => sent(url, { bytes: Buffer.from('<svg/>') }))
    it('too slow: 408', async () => {
      await using slow = await startService({
        policy: (policy) => ({ ...policy, files: { ...policy.files, uploadSeconds: 1 } }),
      })
      // The rest of the body never comes.
      const bytes = new ReadableStream({ start: (stream) => stream.enqueue(pdf) })
      const observed = await sent(slow.url, { bytes })
      await expectDescribed(slow.url, 408, observed)
    })
  })

  for (const [path, own] of tools) {
    describe(`POST ${path}`, () => {
      const called = async (url: string, { token, headers }: Caller, body: unknown) => {
        const sent = { token: token ?? (await own(url)), headers: { ...asTool, ...headers }, body }
        return [path, 'POST', await postAny(url + path, sent)] as const
      }
      const message = (method: string, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params })
      const list = message('tools/list')

      describes('a list', 200, (url) => called(url, {}, list))
      describes('a list for the next generation', 200, (url) => {
        const { message: modern, headers } = messageOf('tools/list', '2026-07-28', {})
        return called(url, { headers }, modern)
      })
      describes('a list for a client that would take a stream', 200, (url) =>
        called(url, { headers: { accept: 'text/event-stream' } }, list),
      )
      describes('a subscription', 200, async (url) => {
        const asked = { notifications: { toolsListChanged: true } }
        const { message: modern, headers } = messageOf('subscriptions/listen', '2026-07-28', asked)
        const response = await fetch(url + path, {
          method: 'POST',
          body: JSON.stringify(modern),
          headers: { ...headers, ...asTool, ...authorizationOf(await own(url)) },
        })
        // The stream stays open; its first event is enough.
        const reader = response.body?.getReader()
        const read = await reader?.read()
        await reader?.cancel()
        const text = new TextDecoder().decode(read?.value)
        const { status, headers: answered } = response
        return [path, 'POST', { status, headers: answered, text, body: text }]
      })
      describes('an unknown tool', 200, (url) =>
        called(url, {}, message('tools/call', { name: 'nothing', arguments: {} })),
      )
      describes('a version that nobody speaks', 400, (url) => {
        const { message: modern, headers } = messageOf('tools/list', '2026-07-28', {})
        const other = { ...headers, 'mcp-protocol-version': '2030-01-01' }
        return called(url, { headers: other }, modern)
      })
      describes('a notification', 202, (url) =>
        called(url, {}, { jsonrpc: '2.0', method: 'notifications/initialized' }),
      )
      describes('a batch', 400, (url) => called(url, {}, [list]))
      describes('a malformed header', 401, (url) =>
        called(url, { headers: { authorization: 'Bearer a b' } }, list),
      )
      describes('nonsense for a token', 401, (url) => called(url, { token: 'nonsense' }, list))
      describes('a tool of members without a token', 401, (url) =>
        called(url, { token: '' }, message('tools/call', { name: 'get_viewer', arguments: {} })),
      )
      describes('a tool without its scope', 403, async (url) => {
        const { access_token } = await obtain(url, { authorization: { scope: 'openid' } })
        return called(
          url,
          { token: access_token },
          message('tools/call', { name: 'get_viewer', arguments: {} }),
        )
      })
      describes('from a foreign page', 403, (url) =>
        called(url, { headers: { origin: 'https://elsewhere.example' } }, list),
      )
      describes('an unknown method of the next generation', 404, (url) => {
        const { message: modern, headers } = messageOf('nothing/like-it', '2026-07-28', {})
        return called(url, { headers }, modern)
      })
      describes('too much', 413, (url) => called(url, {}, { ...list, x: 'x'.repeat(300_000) }))
      describes('a form', 415, (url) =>
        called(url, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, list),
      )
    })
  }

  describe('GET and POST /oauth/logout', () => {
    describes('a question', 200, async (url) => {
      const person = makeHeadlessPerson(sam)
      await person.authorize(authorizeUrl(url), notes.redirectUri)
      const answer = await person.open(new URL(paths.endSession, url))
      return [paths.endSession, 'GET', await answerOf(answer)]
    })
    describes('nobody signed in', 200, (url) => get(url, paths.endSession))
    describes('an unknown client', 400, async (url) => {
      const query = encode({ client_id: 'nobody' })
      const answer = await fetch(`${url}${paths.endSession}?${query}`)
      return [paths.endSession, 'GET', await answerOf(answer)]
    })
    describes('an unknown client, in a browser', 400, async (url) => {
      const address = `${url}${paths.endSession}?${encode({ client_id: 'nobody' })}`
      return [paths.endSession, 'GET', await answerOf(await fetch(address, { headers: asBrowser }))]
    })
    describes('by POST', 303, (url) => post(url, paths.endSession, { state: 'x' }))
    describesForms(paths.endSession)
  })
})

describe('openapi.json, against a fault', () => {
  it('describes what is said of a fault, whose cause only the log tells', async () => {
    await using service = await startService()
    const { url } = service
    const adapter = service.service.stores.state.adapterFor('AuthorizationCode')
    const code = await getCode(url)
    const stored = await adapter.find(code)
    // A record that no version of the service writes.
    await adapter.destroy(code)
    await adapter.upsert(code, { ...stored, scope: 42 as unknown as string }, 60)
    const answer = await exchange(url, code)
    expect(answer.status).to.equal(500)
    expect(answer.body).to.include({ error: 'server_error' })
    const document = (await (await fetch(url + paths.openApi)).json()) as object
    const found = responseValidator(document)(paths.token, 'POST', 500, answer.body)
    expect(found).to.deep.equal([])
    const { error_description: said } = answer.body as { error_description: string }
    const id = answer.headers.get('x-request-id') ?? '-'
    expect(said).to.include(id)
    expect(service.log.join('')).to.include(id)
  })
})

/** What the document says and no answer of these tests can show, with the reason. */
const unshown: Readonly<Record<string, string>> = {
  'GET /admin/api/{path} 500 application/json': 'a mistake in the code',
  'GET /admin/graphql 500 application/json': 'as by POST',
  'GET /member/graphql 500 application/json': 'as by POST',
  'POST /admin/api/{path} 500 application/json': 'a mistake in the code',
  'POST /admin/files 500 application/json':
    'a mistake in the code; a token that cannot be judged is 503, whatever the reason',
  'POST /admin/graphql 500 application/json':
    'a mistake in the code, none of which is known; a resolver that fails is an error in 200',
  'POST /mcp 500 application/json': 'a mistake in the code',
  'POST /mcp/admin 500 application/json': 'a mistake in the code',
  'POST /mcp/member 500 application/json': 'a mistake in the code',
  'POST /member/graphql 500 application/json': 'as at /admin/graphql',
  'components schemas AuthorizationServer properties agent_auth': 'described as never there',
}

describe('openapi.json, against a service in need', () => {
  let service: BreakableService
  let token = ''
  before(async () => {
    service = await startBreakable()
    token = (await obtain(service.url)).access_token
  })
  after(async () => {
    await service?.[Symbol.asyncDispose]()
  })

  const asNotes = { client_id: notes.clientId }
  const operations: readonly (readonly [
    string,
    'GET' | 'POST',
    (url: string) => Promise<Answer>,
    how?: string,
  ])[] = [
    [paths.authorization, 'GET', (url) => askToAuthorize(url)],
    [
      paths.endSession,
      'GET',
      async (url) => answerOf(await fetch(`${url}${paths.endSession}?${encode(asNotes)}`)),
    ],
    [
      paths.endSession,
      'GET',
      async (url) =>
        answerOf(
          await fetch(`${url}${paths.endSession}?${encode(asNotes)}`, { headers: asBrowser }),
        ),
      ' in a browser',
    ],
    [paths.token, 'POST', (url) => exchange(url, 'nonsense')],
    [paths.userinfo, 'GET', (url) => userinfo(url, token)],
    [
      paths.userinfo,
      'POST',
      (url) => postForm(url + paths.userinfo, {}, { authorization: `Bearer ${token}` }),
    ],
    [paths.introspection, 'POST', (url) => introspect(url, token)],
    [paths.forwardAuth, 'GET', async (url) => (await forwardAuth(url, { token }))[2]],
    [paths.revocation, 'POST', (url) => revoke(url, token)],
    [
      paths.registration,
      'POST',
      (url) =>
        postAny(url + paths.registration, {
          body: { redirect_uris: ['http://127.0.0.1:51234/callback'] },
        }),
    ],
    ...[paths.graphql, paths.adminGraphql].map(
      (path) =>
        [
          path,
          'GET',
          (url: string) => getQuery(url + path, { token, body: { query: '{ __typename }' } }),
        ] as const,
    ),
    [
      paths.graphql,
      'POST',
      (url) => postAny(url + paths.graphql, { token, body: { query: '{ viewer { id } }' } }),
    ],
    [
      paths.adminGraphql,
      'POST',
      (url) => postAny(url + paths.adminGraphql, { token, body: { query: '{ __typename }' } }),
    ],
    ...(['GET', 'POST'] as const).map(
      (method) =>
        [
          paths.upstream.replace(':path', '{path}'),
          method,
          (url: string) =>
            callAny(url + addressOf(paths.upstream, { path: 'coupons' }), { method, token }),
        ] as const,
    ),
    [
      paths.adminFiles,
      'POST',
      (url) => sendFile({ url, token, name: 'described.pdf', bytes: pdf }),
    ],
    [
      paths.mcp,
      'POST',
      (url) =>
        postAny(url + paths.mcp, {
          token,
          headers: asTool,
          body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        }),
    ],
    [
      paths.mcpMember,
      'POST',
      (url) =>
        postAny(url + paths.mcpMember, {
          token,
          headers: asTool,
          body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        }),
    ],
    [
      paths.mcpAdmin,
      'POST',
      (url) =>
        postAny(url + paths.mcpAdmin, {
          token,
          headers: asTool,
          body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        }),
    ],
  ]
  for (const [path, method, observe, how = ''] of operations) {
    it(`${method} ${path}${how} without its store: 503`, async () => {
      await service.broken(new Error('out of reach'), async () => {
        await expectDescribed(service.url, 503, [path, method, await observe(service.url)])
      })
    })
    if (`${method} ${path} 500 application/json` in unshown) continue
    it(`${method} ${path}${how} with a mistake in the code: 500`, async () => {
      await service.broken(new TypeError('a mistake'), async () => {
        await expectDescribed(service.url, 500, [path, method, await observe(service.url)])
      })
    })
  }

  it('GET /readyz without its store: 503', async () => {
    await service.broken(new Error('out of reach'), async () => {
      const answer = await answerOf(await fetch(service.url + paths.ready))
      await expectDescribed(service.url, 503, [paths.ready, 'GET', answer])
    })
  })

  for (const [turn, [path, method, ask]] of askedTooOften.entries()) {
    it(`${method} ${path} too often, in the way ${turn}: 429`, async () => {
      await using busy = await startService({ policy: nothingTwice })
      const address = busy.url + path.replace('{path}', 'coupons')
      const send = async () =>
        await answerOf(await fetch(address, { redirect: 'manual', method, ...ask }))
      await send()
      await expectDescribed(busy.url, 429, [path, method, await send()])
    })
  }
})

describe('openapi.json, where clients describe themselves', () => {
  it('describes the metadata that says so', async () => {
    await using service = await startService({
      policy: (policy) => ({ ...policy, metadataDocuments: { hosts: [], openRegistration: true } }),
    })
    for (const path of [paths.authorizationServer, paths.openidConfiguration]) {
      const answer = await answerOf(await fetch(service.url + path))
      expect(answer.body).to.include({ client_id_metadata_document_supported: true })
      await expectDescribed(service.url, 200, [path, 'GET', answer])
    }
  })
})

describe('openapi.json, as a whole', () => {
  it('promises no answer and no member of one that no real answer has shown', async () => {
    expect(shown.missing()).to.deep.equal(Object.keys(unshown))
  })
})

function authorizationOf(token: string) {
  return token ? { authorization: `Bearer ${token}` } : undefined
}

interface Caller {
  readonly token?: string | undefined
  readonly headers?: Record<string, string> | undefined
}

const asBrowser = { accept: 'text/html' }
const asProgram = { accept: 'application/json' }
const asTool = { accept: 'application/json, text/event-stream' }

interface Call extends Caller {
  readonly method: 'GET' | 'POST'
  readonly body?: string
}

/** One request of any kind to what the platform serves. */
async function callAny(address: string, { method, token, body }: Call): Promise<Answer> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return await answerOf(await fetch(address, { method, headers, ...(body && { body }) }))
}

async function postAny(
  address: string,
  { token, headers, body }: Caller & { body: unknown },
): Promise<Answer> {
  return await answerOf(
    await fetch(address, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...authorizationOf(token ?? ''), ...headers },
    }),
  )
}

/** The same by GET: what is an object in a body is its JSON in the address. */
async function getQuery(
  address: string,
  { token, headers, body }: Caller & { body: object },
): Promise<Answer> {
  const fields = Object.entries(body).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  return await answerOf(
    await fetch(`${address}?${new URLSearchParams(fields)}`, {
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
    }),
  )
}

interface BreakableService extends AsyncDisposable {
  readonly url: string
  /** Every use of the database fails with this error while the work is done. */
  broken(error: Error, work: () => Promise<void>): Promise<void>
}

async function startBreakable(): Promise<BreakableService> {
  const running = await startService({ policy: (policy) => ({ ...policy, upstreams: mapping(1) }) })
  const executor = running.service.stores.database.kysely.getExecutor()
  if (!(executor instanceof StatementExecutor)) throw new Error('statements run in another way')
  const { run } = executor
  const provideConnection = executor.provideConnection.bind(executor)
  return {
    url: running.url,
    async broken(error, work) {
      const fail = () => orUnavailable(() => Promise.reject(error), isStoreFailure)
      Object.assign(executor, { run: fail, provideConnection: fail })
      try {
        await work()
      } finally {
        Object.assign(executor, { run, provideConnection })
      }
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

async function forwardAuth(
  url: string,
  { token, scope = '' }: { readonly token: string; readonly scope?: string },
): Promise<Observed> {
  const [, proxy = ''] = basic(resourceServer.clientId, resourceServer.clientSecret)
  const headers = { authorization: `Bearer ${token}`, 'x-forward-auth-client': proxy }
  const query = encode({ scope: scope || undefined })
  const response = await fetch(`${url}${paths.forwardAuth}?${query}`, { headers })
  return [paths.forwardAuth, 'GET', await answerOf(response)]
}

async function postJson(address: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return await answerOf(await fetch(address, { method: 'POST', body: '{}', headers }))
}

interface Described {
  readonly $ref?: string
  readonly required?: boolean
  readonly content?: Record<string, unknown>
  readonly headers?: Record<string, Described>
}

/** What the media type and the headers of an answer lack of what is described. */
function differences(document: object, [path, method, { status, headers }]: Observed): string[] {
  const described = at(document, ['paths', path, method.toLowerCase(), 'responses', `${status}`])
  const mediaType = mediaTypeOf({ headers })
  const mediaTypes = Object.keys(described.content ?? {})
  const missing = Object.entries(described.headers ?? {})
    .filter(([, header]) => resolve(document, header).required === true)
    .map(([name]) => name)
    .filter((name) => !headers.has(name))
  const unsaid = ['location', 'retry-after', 'www-authenticate']
    .filter((name) => headers.has(name))
    .filter((name) => !lowerCase(described.headers).includes(name))
  return [
    ...(described.content && !mediaTypes.includes(mediaType) ? [`it is ${mediaType}`] : []),
    ...missing.map((name) => `it lacks ${name}`),
    ...unsaid.map((name) => `it has ${name}`),
  ]
}

function mediaTypeOf({ headers }: Pick<Answer, 'headers'>): string {
  return headers.get('content-type')?.split(';')[0] ?? 'none'
}

function lowerCase(headers: Record<string, unknown> = {}): string[] {
  return Object.keys(headers).map((name) => name.toLowerCase())
}

function at(document: object, place: readonly string[]): Described {
  const found = place.reduce<unknown>(
    (node, key) => (node as Record<string, unknown> | undefined)?.[key],
    document,
  )
  return resolve(document, (found ?? {}) as Described)
}

function resolve(document: object, node: Described): Described {
  return node.$ref === undefined ? node : at(document, node.$ref.split('/').slice(1))
}
