import { expect } from 'chai'
import { getIntrospectionQuery } from 'graphql'
import { auditServer } from 'graphql-http'
import { sql } from 'kysely'

import { makePrepareDocument } from '../src/api/graphql/documents.ts'
import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { paths } from '../src/platform/http/paths.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import {
  askMember,
  type MemberAddress,
  memberToken,
  readOnly,
  readWrite,
} from './support/member-api.ts'
import { responseValidator } from './support/openapi.ts'
import { answerOf } from './support/wire.ts'

/** What Apollo's clients, its Sandbox and urql send of their own accord. */
const sentByClients = [
  ...['apollographql-client-name', 'apollographql-client-version', 'apollo-require-preflight'],
  ...['x-apollo-operation-name', 'graphql-preflight'],
]

const responseJson = 'application/graphql-response+json'

describe('POST /member/graphql', () => {
  let running: RunningService
  let token = ''
  before(async () => {
    running = await startService()
    token = await memberToken(running.url, readWrite)
  })
  after(async () => await running[Symbol.asyncDispose]())

  const address = (headers: Record<string, string> = {}): MemberAddress => ({
    url: running.url,
    token,
    headers,
  })
  const ask = async (query: string, variables?: Record<string, unknown>) =>
    await askMember(address(), { query, variables })

  // [Member API 2.1; Member API 2.2]
  it('passes every audit of GraphQL over HTTP: no MUST and no SHOULD fails [design 21]', async () => {
    const results = await auditServer({
      url: running.url + paths.graphql,
      fetchFn: async (url: string, init?: RequestInit) => {
        const headers = new Headers(init?.headers)
        headers.set('authorization', `Bearer ${token}`)
        return await fetch(url, { ...init, headers })
      },
    })
    expect(results).to.have.length.above(50)
    const failed = results.filter(
      ({ status, name }) => status === 'error' || (status === 'warn' && /SHOULD|MUST/.test(name)),
    )
    expect(failed.map(({ id, name }) => `${id} ${name}`)).to.deep.equal([])
  })

  it('takes a body that is exactly as large as the limit, and 413 beyond it', async () => {
    const { bodyBytesMax } = running.config.service.memberApi
    const body = (bytes: number) => {
      const start = '{"query":"{ viewer { id } }"'
      return `${start}${' '.repeat(bytes - start.length - 1)}}`
    }
    expect((await askMember(address(), body(bodyBytesMax))).status).to.equal(200)
    const tooLarge = await askMember(address(), body(bodyBytesMax + 1))
    expect(tooLarge.status).to.equal(413)
    expect(tooLarge.body.error).to.equal('invalid_request')
  })

  it('answers no batch', async () => {
    const query = '{ viewer { id } }'
    const answer = await askMember(address(), [{ query }, { query }])
    expect(answer.status).to.equal(400)
    expect(answer.body.data).to.equal(undefined)
  })

  // [Member API 1]
  it('answers 415 for a body that is not JSON, and says what it takes', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/graphql']) {
      const answer = await askMember(address({ 'content-type': type }), '{ viewer { id } }')
      expect(answer.status, type).to.equal(415)
      expect(answer.body.error_description, type).to.include('application/json')
    }
  })

  it('answers 406 when neither of its media types is accepted', async () => {
    const answer = await askMember(address({ accept: 'image/png' }), { query: '{ __typename }' })
    expect(answer.status).to.equal(406)
    expect(answer.body.error).to.equal('invalid_request')
  })

  it('is not kept by any cache, and no page can send a cookie along', async () => {
    const { headers } = await ask('{ viewer { id } }')
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('lets a page of any origin call it, and read its challenge [design 28]', async () => {
    const preflight = await fetch(running.url + paths.graphql, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,apollographql-client-name',
      },
    })
    expect(preflight.status).to.equal(204)
    expect(preflight.headers.get('access-control-allow-origin')).to.equal('*')
    const allowed = preflight.headers.get('access-control-allow-headers')?.toLowerCase().split(',')
    expect(allowed).to.include.members(['authorization', 'content-type', ...sentByClients])
    expect(preflight.headers.get('access-control-allow-methods')).to.equal('GET,POST')
    const origin = { origin: 'https://app.example' }
    const refused = await askMember(
      { url: running.url, token: 'none', headers: origin },
      { query: '{ viewer { id } }' },
    )
    expect(refused.headers.get('access-control-allow-origin')).to.equal('*')
    expect(refused.headers.get('access-control-expose-headers')).to.include('WWW-Authenticate')
  })

  it('explains itself to a browser, and links the schema', async () => {
    const response = await fetch(running.url + paths.graphql, {
      headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    expect(response.status).to.equal(200)
    expect(response.headers.get('content-type')).to.match(/^text\/html/)
    const page = await response.text()
    expect(page).to.include(running.url + paths.graphql)
    for (const path of [paths.memberSchema, paths.authMd, paths.openApi]) {
      expect(page).to.include(`href="${path}"`)
      expect((await fetch(running.url + path)).status, path).to.equal(200)
    }
  })

  it('answers 405 with Allow to other methods than GET and POST', async () => {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${running.url}${paths.graphql}?query={__typename}`, {
        method,
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
      })
      expect(response.status, method).to.equal(405)
      expect(response.headers.get('allow'), method).to.equal('GET, POST')
    }
  })

  describe('GET', () => {
    const get = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
      const url = `${running.url}${paths.graphql}?${new URLSearchParams(fields)}`
      const sent = { authorization: `Bearer ${token}`, accept: 'application/json', ...headers }
      return await answerOf(await fetch(url, { headers: sent }))
    }

    it('answers a query with its variables, and is kept by no cache', async () => {
      const query =
        'query A($first: Int) { viewer { enrolledCourses(first: $first) { nodes { id } } } }'
      const variables = JSON.stringify({ first: 1 })
      const { status, body, headers } = await get({ query, variables, operationName: 'A' })
      expect(status).to.equal(200)
      expect(body).to.have.nested.property('data.viewer.enrolledCourses.nodes').of.length(1)
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('vary')).to.match(/accept/i)
    })

    it('changes nothing: a mutation is 405, whatever the token may do', async () => {
      const query = 'mutation { markAllNotificationsRead { markedCount } }'
      for (const scope of [readOnly, readWrite]) {
        const authorization = `Bearer ${await memberToken(running.url, scope)}`
        const { status, headers, body } = await get({ query }, { authorization })
        expect(status).to.equal(405)
        expect(headers.get('allow')).to.equal('POST')
        expect(body).to.include({ error: 'invalid_request' })
      }
      const { body } = await ask('{ unreadNotificationCount }')
      expect(body.data).to.deep.equal({ unreadNotificationCount: 7 })
    })

    it('takes no token from the address, and needs one', async () => {
      const answer = await get(
        { query: '{ viewer { id } }', access_token: token },
        { authorization: '' },
      )
      expect(answer.status).to.equal(401)
    })

    it('answers 414 beyond the length of an address, and says what to do', async () => {
      const { status, body } = await get({ query: `{ viewer { id } } #${'x'.repeat(8000)}` })
      expect(status).to.equal(414)
      expect(body).to.have.property('error_description').that.includes('by POST')
    })

    it('answers 400 without a query', async () => {
      expect((await get({})).status).to.equal(400)
    })
  })

  describe('a persisted query', () => {
    const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) }
    const extensions = { persistedQuery }

    it('is not supported, in the words that clients know, with 200', async () => {
      for (const accept of ['application/json', `${responseJson},application/json;q=0.9`]) {
        const byPost = await askMember(address({ accept }), { operationName: 'A', extensions })
        const url = new URLSearchParams({ extensions: JSON.stringify(extensions) })
        const byGet = await answerOf(
          await fetch(`${running.url}${paths.graphql}?${url}`, {
            headers: { authorization: `Bearer ${token}`, accept },
          }),
        )
        for (const { status, body } of [byPost, byGet]) {
          expect(status).to.equal(200)
          expect(body).to.deep.equal({
            errors: [
              {
                message: 'PersistedQueryNotSupported',
                extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' },
              },
            ],
          })
        }
      }
    })

    it('that comes with its document is a query like any other', async () => {
      const { body } = await askMember(address(), { query: '{ viewer { id } }', extensions })
      expect(body.data).to.deep.equal({ viewer: { id: 'per_sam' } })
    })

    it('needs a token', async () => {
      expect((await askMember({ url: running.url }, { extensions })).status).to.equal(401)
    })
  })

  it('says in each answer what the operation costs, and the limits in force', async () => {
    const { memberApi } = running.config.service
    const cheap = await ask('{ viewer { id } }')
    expect(cheap.body.extensions).to.have.property('cost', 2)
    const pages = await ask('{ viewer { enrolledCourses(first: 10) { nodes { id title } } } }')
    expect(pages.body.extensions).to.have.property('cost', 23)
    const { costMax, depthMax, bodyBytesMax } = memberApi
    expect(pages.body.extensions?.['limits']).to.include({ costMax, depthMax, bodyBytesMax })
  })

  it('answers introspection', async () => {
    const { body } = await ask(getIntrospectionQuery())
    expect(body.errors).to.equal(undefined)
    expect(JSON.stringify(body.data)).to.include('lastWatchedLecture')
  })

  it('answers what openapi.json says that it answers', async () => {
    const described = await (await fetch(running.url + paths.openApi)).json()
    const problems = responseValidator(described as object)
    const query = '{ viewer { id } }'
    const answers = [
      await ask(query),
      await ask('{ viewer { nothing } }'),
      await ask('{ viewer { enrolledCourses(first: 0) { totalCount } } }'),
      await askMember(address({ accept: responseJson }), { query: '{' }),
      await ask(`{ viewer { ${'id '.repeat(400)} } }`),
      await askMember(address(), '{'),
      await askMember({ url: running.url }, { query }),
      await askMember(
        { url: running.url, token: await memberToken(running.url, readOnly) },
        { query: 'mutation { markAllNotificationsRead { markedCount } }' },
      ),
      await askMember(address({ accept: 'image/png' }), { query }),
      await askMember(address(), ' '.repeat(200_000)),
      await askMember(address({ 'content-type': 'text/plain' }), { query }),
    ]
    expect(answers.map(({ status }) => status)).to.deep.equal([
      ...[200, 200, 200, 400, 400, 400, 401, 403, 406, 413, 415],
    ])
    for (const { status, body, text } of answers) {
      expect(problems(paths.graphql, 'POST', status, body), text).to.deep.equal([])
    }
  })

  describe('limits', () => {
    const fields = (count: number) => Array.from({ length: count }, () => 'id').join(' ')
    const aliases = (count: number) =>
      Array.from({ length: count }, (_, place) => `a${place}: id`).join(' ')
    const deep = (levels: number) =>
      `{ __type(name: "Query") ${'{ ofType '.repeat(levels)}{ name }${' }'.repeat(levels)} }`

    const beyond: Record<string, string> = {
      tokens: `{ viewer { ${'# nothing\n'.repeat(10)} ${'... @skip(if: true) { id } '.repeat(300)} } }`,
      fields: `{ viewer { ${fields(300)} } }`,
      aliases: `{ viewer { ${aliases(31)} } }`,
      directives: `{ viewer { ${'id @skip(if: false) '.repeat(31)} } }`,
      'levels of depth': deep(22),
      'levels of brackets': `{ viewer { enrolledCourses(first: ${'['.repeat(100)}`,
      cost: '{ viewer { enrolledCourses(first: 100) { nodes { ...c ...c ...c ...c } edges { node { ...c ...c ...c ...c ...c ...c } } } } } fragment c on EnrolledCourse { id slug title summary purchasedAt expireDate hasLifetimeAccess lastWatchedLecture { lectureId title positionSeconds } }',
    }
    for (const [limit, query] of Object.entries(beyond)) {
      // [105]
      it(`refuses a document beyond the limit of ${limit} with 400, and names it`, async () => {
        for (const accept of ['application/json', responseJson]) {
          const { status, headers, body } = await askMember(address({ accept }), { query })
          expect(status).to.equal(400)
          expect(headers.get('content-type')).to.equal(`${accept}; charset=utf-8`)
          expect(body.data).to.equal(undefined)
          expect(body.errors?.[0]?.extensions).to.include({ code: 'LIMIT_EXCEEDED', limit })
          expect(body.errors?.[0]?.message).to.match(new RegExp(`limit of \\d+ ${limit}$`))
        }
      })
    }

    it('counts the default of a variable, the largest page for a size that is none, and all that is left to conditions', async () => {
      const courses = (first: string) =>
        `a: enrolledCourses(first: ${first}) @include(if: $no) { edges { node { ...c } } nodes { ...c } }`
      const fragment = `fragment c on EnrolledCourse { ${fields(60)} }`
      for (const [head, variables] of [
        ['$f: Int = 100', {}],
        ['$f: Int = 100', { f: undefined }],
        ['$f: Int', { f: -1 }],
        ['$f: Int', { f: '1' }],
        ['$f: Int', { f: [1] }],
        ['$f: Int', { f: 100.0 }],
      ] as const) {
        const query = `query (${head}, $no: Boolean = false) { viewer { ${courses('$f')} } } ${fragment}`
        const { body } = await ask(query, variables)
        expect(body.errors?.[0]?.extensions, JSON.stringify(variables)).to.include({
          limit: 'cost',
        })
      }
      // Null is twenty for the list, and so it is for the cost.
      const asNull = `query ($f: Int = 100, $no: Boolean = true) { viewer { ${courses('$f')} } } ${fragment}`
      const { body } = await ask(asNull, { f: null })
      expect(body.extensions?.['cost']).to.equal(4 + 20 * (61 + 60))
    })

    it('counts what the schema tells of itself, and lists of which it says no size', async () => {
      const { extensions } = (await ask(getIntrospectionQuery())).body
      expect(extensions?.['cost']).to.be.within(700, 1000)
      const often = Array.from({ length: 15 }, (_, place) => `a${place}: __schema { ...s }`)
      const fragment = 'fragment s on __Schema { types { name fields { name type { name } } } }'
      const { body } = await ask(`{ ${often.join(' ')} } ${fragment}`)
      expect(body.errors?.[0]?.extensions).to.include({ limit: 'cost' })
      const lists = '{ viewer { schools { id name slug } } }'
      expect((await ask(lists)).body.extensions?.['cost']).to.equal(2 + 10 * 3)
    })

    it('counts a page as large as its variable says', async () => {
      const query = `query ($first: Int) {
        viewer { enrolledCourses(first: $first) { edges { node { ...c } } nodes { ...c } } }
        notifications(first: $first) { nodes { id topic title body } }
      }
      fragment c on EnrolledCourse { ${fields(60)} }`
      expect((await ask(query, { first: 2 })).status).to.equal(200)
      expect((await ask(query, { first: 100 })).status).to.equal(400)
    })

    it('accepts what stands just within the limits', async () => {
      for (const query of [`{ viewer { ${fields(299)} } }`, `{ viewer { ${aliases(30)} } }`]) {
        expect((await ask(query)).body.errors, query.slice(0, 30)).to.equal(undefined)
      }
    })

    // [threat 18; 105]
    it('stays well for everybody after fragments that contain each other', async () => {
      const cycle = '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }'
      expect((await ask(cycle)).body.errors?.[0]?.message).to.include('itself')
      const doubling = Array.from(
        { length: 60 },
        (_, place) => `fragment f${place} on Query { ...f${place + 1} ...f${place + 1} } `,
      ).join('')
      const exploding = `{ ...f0 } ${doubling} fragment f60 on Query { viewer { id } }`
      expect((await ask(exploding)).body.errors?.[0]?.extensions).to.include({ limit: 'cost' })
      expect((await ask('{ viewer { id } }')).status).to.equal(200)
    })
  })

  it('parses and validates a document once, and keeps only valid ones', async () => {
    const prepare = makePrepareDocument(makeMemberSchema(), {
      ...running.config.service.memberApi,
      cachedDocumentsMax: 2,
      cachedDocumentCharactersMax: 40,
    })
    const documentOf = (source: string) => {
      const prepared = prepare(source)
      return prepared.kind === 'valid' ? prepared.document : undefined
    }
    const first = documentOf('{ viewer { id } }')
    expect(documentOf('{ viewer { id } }')).to.equal(first)
    expect(prepare('{ viewer { id } }').isKept).to.equal(true)
    prepare('{ viewer { name } }')
    prepare('{ viewer { id } }')
    prepare('{ viewer { email } }')
    // The one that was used least recently has gone, and the other is still there.
    expect(documentOf('{ viewer { id } }')).to.equal(first)
    const long = `{ viewer { id } } # ${'x'.repeat(40)}`
    for (const source of [long, long, '{ nothing }', '{ nothing }']) {
      expect(prepare(source).isKept, source).to.equal(false)
    }
  })

  // [threat 19; 107]
  it('says of a fault its error id and nothing else, and logs the cause under that id', async () => {
    await using broken = await startService()
    const broke = await memberToken(broken.url, readOnly)
    const { kysely } = broken.service.stores.database
    // A moment that no date can hold, which storage gives and the schema cannot print.
    await kysely.updateTable('course_purchase').set({ purchased_at: 9e15 }).execute()
    const answer = await askMember(
      { url: broken.url, token: broke },
      { query: '{ viewer { id enrolledCourses { nodes { slug purchasedAt } } } }' },
    )
    expect(answer.status).to.equal(200)
    const id = answer.headers.get('x-request-id')
    expect(answer.body.errors?.[0]?.message).to.equal(`internal error, error id ${id}`)
    expect(answer.text).not.to.match(/RangeError|Invalid time|at .*\.ts|select /)
    expect(
      broken.log.some((line) => line.includes(`"${id}"`) && /Invalid time/.test(line)),
    ).to.equal(true)
  })

  it('answers 503 and no challenge when storage fails in the middle of an answer [design 24]', async () => {
    await using broken = await startService()
    const broke = await memberToken(broken.url, readOnly)
    await sql`alter table course_purchase rename to elsewhere`.execute(
      broken.service.stores.database.kysely,
    )
    const answer = await askMember(
      { url: broken.url, token: broke },
      { query: '{ viewer { id enrolledCourses { nodes { slug } } } }' },
    )
    expect(answer.status).to.equal(503)
    expect(answer.body.error).to.equal('temporarily_unavailable')
    expect(answer.headers.get('retry-after')).to.equal('1')
    expect(answer.headers.get('www-authenticate')).to.equal(null)
    expect(answer.text).not.to.match(/course_purchase|elsewhere/)
  })
})
