import { hash } from 'node:crypto'

import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { Client, cacheExchange, fetchExchange } from '@urql/core'
import { getIntrospectionQuery } from 'graphql'
import { auditServer } from 'graphql-http'
import { sql } from 'kysely'

import { makePrepareDocument } from '../src/api/graphql/documents.ts'
import { makeMemberSchema } from '../src/api/member-api/member-api.ts'
import { paths } from '../src/platform/http/paths.ts'
import { change } from './support/database.ts'
import { type RunningService, startService } from './support/gatehouse.ts'
import { operatorToken } from './support/mcp.ts'
import { askMember, type MemberAddress, memberToken, readOnly } from './support/member-api.ts'
import { shared } from './support/shared.ts'
import { sharedService } from './support/storages.ts'
import { answerOf, expectAnswer, get, preflight, refusalOf } from './support/wire.ts'

const responseJson = 'application/graphql-response+json'
const viewer = '{ viewer { id } }'
const repeated = (count: number, one: (place: number) => string = () => 'id') =>
  Array.from({ length: count }, (_, place) => one(place)).join(' ')

const courses = `query Courses($first: Int) {
  viewer { id name enrolledCourses(first: $first, sort: TITLE) { nodes { id title progressPercent } } }
}`
const read = 'mutation { markNotificationRead(id: "not_sam_14") { notification { id } } }'

interface Courses {
  readonly viewer: { readonly name: string; readonly enrolledCourses: { readonly nodes: object[] } }
}

describe('POST /member/graphql', () => {
  const running = sharedService()
  const token = shared(async () => await memberToken(running().url))

  const send = async (body: unknown, headers: MemberAddress['headers'] = {}) =>
    await askMember({ url: running().url, token: token(), headers }, body)
  const ask = (query: string, variables?: Record<string, unknown>) => send({ query, variables })
  const limitOf = async (query: string, variables?: Record<string, unknown>) =>
    (await ask(query, variables)).body.errors?.[0]?.extensions?.['limit']

  for (const path of [paths.graphql, paths.adminGraphql]) {
    // [Member API 2.1; Member API 2.2]
    it(`${path} passes every MUST and SHOULD of GraphQL over HTTP [design 21]`, async () => {
      const { url } = running()
      const bearer = path === paths.graphql ? token() : await operatorToken(url, 'courses:read')
      const results = await auditServer({
        url: url + path,
        fetchFn: async (address: string, init?: RequestInit) => {
          const headers = new Headers(init?.headers)
          headers.set('authorization', `Bearer ${bearer}`)
          return await fetch(address, { ...init, headers })
        },
      })
      expect(results).to.have.length.above(50)
      const failed = results.filter(
        ({ status, name }) => status === 'error' || (status === 'warn' && /SHOULD|MUST/.test(name)),
      )
      expect(failed.map(({ id, name }) => `${id} ${name}`)).to.deep.equal([])
    })
  }

  // [Member API 1]
  it('refuses other media types and large bodies, and names what it accepts', async () => {
    const { bodyBytesMax } = running().config.service.memberApi
    const start = '{"query":"{ viewer { id } }"'
    const body = (bytes: number) => `${start}${' '.repeat(bytes - start.length - 1)}}`
    expect((await send(body(bodyBytesMax))).status).to.equal(200)
    expect(refusalOf(await send(body(bodyBytesMax + 1)))).to.equal('413 invalid_request')
    const asked = { query: viewer }
    expect(refusalOf(await send(asked, { accept: 'image/png' }))).to.equal('406 invalid_request')
    const asText = await send(asked, { 'content-type': 'text/plain' })
    expect(refusalOf(asText)).to.equal('415 invalid_request')
    expect(asText.body.error_description).to.include('application/json')
  })

  it('lets a page of any origin call it without cookies, uncached, and read its schema [design 28]', async () => {
    const names = 'authorization,content-type,apollographql-client-name'
    for (const path of [paths.graphql, paths.adminGraphql]) {
      const { status, headers } = await preflight(running().url + path, 'POST', { names })
      expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([204, '*'])
      const allowed = headers.get('access-control-allow-headers')?.toLowerCase().split(',')
      expect(allowed).to.include.members([
        ...['authorization', 'content-type', 'apollographql-client-name', 'graphql-preflight'],
        ...['apollographql-client-version', 'apollo-require-preflight', 'x-apollo-operation-name'],
      ])
      expect(headers.get('access-control-allow-methods')).to.equal('GET,POST')
    }
    for (const path of [paths.memberSchema, paths.adminSchema]) {
      const { status, headers } = await preflight(running().url + path, 'GET')
      expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([204, '*'])
    }
    const place = { url: running().url, token: 'none', headers: { origin: 'https://app.example' } }
    const { headers: refused } = await askMember(place, { query: viewer })
    expect(refused.get('access-control-allow-origin')).to.equal('*')
    expect(refused.get('access-control-expose-headers')).to.include('WWW-Authenticate')
    const { headers } = await ask(viewer)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('access-control-allow-credentials')).to.equal(null)
  })

  it('explains itself to a browser, with a link to the schema, and answers a program’s HEAD request with 405', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
    const { url } = running()
    const page = await get(url + paths.graphql, { accept })
    expect(page.headers.get('content-type')).to.match(/^text\/html/)
    for (const path of [paths.memberSchema, paths.authMd, paths.openApi]) {
      expectAnswer(page, 200, url + paths.graphql, `href="${path}"`)
      expect((await get(url + path)).status, path).to.equal(200)
    }
    const asProgram = { method: 'HEAD', headers: { accept: 'application/json' } }
    const head = await fetch(url + paths.graphql, asProgram)
    expect([head.status, head.headers.get('allow')]).to.deep.equal([405, 'GET, POST'])
  })

  describe('GET', () => {
    const get = async (fields: Record<string, string>, headers: Record<string, string> = {}) => {
      const url = `${running().url}${paths.graphql}?${new URLSearchParams(fields)}`
      const sent = { authorization: `Bearer ${token()}`, accept: 'application/json', ...headers }
      return await answerOf(await fetch(url, { headers: sent }))
    }

    it('answers a query with its variables, uncached, also to a client that prefers HTML', async () => {
      const query =
        'query A($first: Int) { viewer { enrolledCourses(first: $first) { nodes { id } } } }'
      const variables = JSON.stringify({ first: 1 })
      const ofJava = 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'
      for (const accept of ['application/json', ofJava]) {
        const asked = { query, variables, operationName: 'A' }
        const { status, body, headers } = await get(asked, { accept })
        expect(status).to.equal(200)
        expect(body).to.have.nested.property('data.viewer.enrolledCourses.nodes').of.length(1)
        expect(headers.get('cache-control')).to.equal('no-store')
        expect(headers.get('vary')).to.match(/accept/i)
      }
    })

    it('refuses a mutation with 405 before it checks scopes, and changes nothing', async () => {
      const query = 'mutation { markAllNotificationsRead { markedCount } }'
      const count = '{ unreadNotificationCount }'
      const { data } = (await ask(count)).body
      const limited = await memberToken(running().url, readOnly)
      for (const bearer of [token(), limited]) {
        const answer = await get({ query }, { authorization: `Bearer ${bearer}` })
        expect(refusalOf(answer)).to.equal('405 invalid_request')
      }
      expect((await ask(count)).body.data).to.deep.equal(data)
    })

    it('advises to send a long query with POST', async () => {
      const answer = await get({ query: `${viewer} #${'x'.repeat(8000)}` })
      expectAnswer(answer, 414)
      expect(answer.body.error_description).to.include('send the query with POST')
    })

    it('and POST answer the hash of a persisted query as clients expect, with 200', async () => {
      const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } }
      const message = 'PersistedQueryNotSupported'
      const errors = [{ message, extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }]
      for (const accept of ['application/json', `${responseJson},application/json;q=0.9`]) {
        for (const { status, body } of [
          await send({ operationName: 'A', extensions }, { accept }),
          await get({ extensions: JSON.stringify(extensions) }, { accept }),
        ])
          expect([status, body]).to.deep.equal([200, { errors }])
      }
      const { body } = await send({ query: viewer, extensions })
      expect(body.data).to.deep.equal({ viewer: { id: 'per_sam' } })
      expect((await askMember({ url: running().url }, { extensions })).status).to.equal(401)
    })
  })

  describe('limits', () => {
    const deep = `{ __type(name: "Query") ${'{ ofType '.repeat(22)}{ name }${' }'.repeat(22)} }`
    const beyond: Record<string, string> = {
      tokens: `{ viewer { ${'# nothing\n'.repeat(10)} ${'... @skip(if: true) { id } '.repeat(300)} } }`,
      fields: `{ viewer { ${repeated(300)} } }`,
      aliases: `{ viewer { ${repeated(31, (place) => `a${place}: id`)} } }`,
      directives: `{ viewer { ${'id @skip(if: false) '.repeat(31)} } }`,
      'levels of nested fields': deep,
      'levels of nested brackets': `{ viewer { enrolledCourses(first: ${'['.repeat(100)}`,
      cost: '{ viewer { enrolledCourses(first: 100) { nodes { ...c ...c ...c ...c } edges { node { ...c ...c ...c ...c ...c ...c } } } } } fragment c on EnrolledCourse { id slug title summary purchasedAt expireDate hasLifetimeAccess lastWatchedLecture { lectureId title positionSeconds } }',
    }
    for (const [limit, query] of Object.entries(beyond)) {
      // [threat 18]
      it(`refuse a document beyond the limit of ${limit} with 400, and name the limit [105]`, async () => {
        for (const accept of ['application/json', responseJson]) {
          const { status, headers, body } = await send({ query }, { accept })
          expect([status, body.data]).to.deep.equal([400, undefined])
          expect(headers.get('content-type')).to.equal(`${accept}; charset=utf-8`)
          expect(body.errors?.[0]?.extensions).to.include({ code: 'LIMIT_EXCEEDED', limit })
          const said = new RegExp(`limit on ${limit}, which is \\d+; simplify it$`)
          expect(body.errors?.[0]?.message).to.match(said)
        }
      })
    }

    it('count the default of a variable, the largest page for a wrong size, and conditional fields', async () => {
      const selected = `a: enrolledCourses(first: $f) @include(if: $no) { edges { node { ...c } } nodes { ...c } }`
      const fragment = `fragment c on EnrolledCourse { ${repeated(60)} }`
      const asked = (head: string) => `query (${head}) { viewer { ${selected} } } ${fragment}`
      for (const [head, variables] of [
        ...[['$f: Int = 100', {}] as const, ['$f: Int = 100', { f: undefined }] as const],
        ...[-1, '1', [1], 100].map((f) => ['$f: Int', { f }] as const),
      ]) {
        const query = asked(`${head}, $no: Boolean = false`)
        expect(await limitOf(query, variables), JSON.stringify(variables)).to.equal('cost')
      }
      // A page size of null means 20, in the list and in its cost.
      const { body } = await ask(asked('$f: Int = 100, $no: Boolean = true'), { f: null })
      expect(body.extensions?.['cost']).to.equal(4 + 20 * (61 + 60))
    })

    it('count introspection, lists of an assumed size, and pages by their variable', async () => {
      const costOf = async (query: string, variables?: Record<string, unknown>) =>
        (await ask(query, variables)).body.extensions?.['cost']
      const { data, extensions } = (await ask(getIntrospectionQuery())).body
      expect(extensions?.['cost']).to.be.within(700, 1000)
      expect(JSON.stringify(data)).to.include('lastWatchedLecture')
      const fragment = 'fragment s on __Schema { types { name fields { name type { name } } } }'
      const often = repeated(15, (place) => `a${place}: __schema { ...s }`)
      expect(await limitOf(`{ ${often} } ${fragment}`)).to.equal('cost')
      expect(await costOf('{ viewer { schools { id name slug } } }')).to.equal(2 + 10 * 3)
      const query = `query ($first: Int) {
        viewer { enrolledCourses(first: $first) { edges { node { ...c } } nodes { ...c } } }
        notifications(first: $first) { nodes { id topic title body } }
      }
      fragment c on EnrolledCourse { ${repeated(60)} }`
      expect((await ask(query, { first: 2 })).status).to.equal(200)
      expect(await limitOf(query, { first: 100 })).to.equal('cost')
    })

    it('accept a document just within them, and are in a response on request, with the cost', async () => {
      for (const fields of [repeated(299), repeated(30, (place) => `a${place}: id`)])
        expect((await ask(`{ viewer { ${fields} } }`)).body.errors).to.equal(undefined)
      expect((await ask(viewer)).body.extensions).to.have.property('cost', 2)
      const { body } = await ask('{ viewer { enrolledCourses(first: 10) { nodes { id title } } } }')
      expect(body.extensions).to.have.property('cost', 23)
      expect(body.extensions).to.not.have.property('limits')
      const { costMax, depthMax, bodyBytesMax } = running().config.service.memberApi
      const asked = await send({ query: viewer, extensions: { limits: true } })
      expect(asked.body.extensions?.['limits']).to.include({ costMax, depthMax, bodyBytesMax })
    })
  })

  it('caches valid documents of limited length, and evicts the least recently used', () => {
    const prepare = makePrepareDocument(makeMemberSchema(), {
      ...running().config.service.memberApi,
      cachedDocumentsMax: 2,
      cachedDocumentCharactersMax: 40,
    })
    const documentOf = (source: string) => {
      const prepared = prepare(source)
      return prepared.kind === 'valid' ? prepared.document : undefined
    }
    const first = documentOf(viewer)
    expect(documentOf(viewer)).to.equal(first)
    expect(prepare(viewer).isKept).to.equal(true)
    for (const source of ['{ viewer { name } }', viewer, '{ viewer { email } }']) prepare(source)
    expect(documentOf(viewer)).to.equal(first)
    const long = `${viewer} # ${'x'.repeat(40)}`
    for (const source of [long, long, '{ nothing }', '{ nothing }'])
      expect(prepare(source).isKept, source).to.equal(false)
  })

  describe('faults', () => {
    const query = '{ viewer { id enrolledCourses { nodes { slug purchasedAt } } } }'
    const askBroken = async ({ url }: RunningService, breaking: () => Promise<unknown>) => {
      const address = { url, token: await memberToken(url, readOnly) }
      await breaking()
      return await askMember(address, { query })
    }

    // [threat 19; 107]
    it('show only an error id, and log the cause under it', async () => {
      await using broken = await startService()
      const answer = await askBroken(broken, () =>
        change(broken.kysely, 'course_purchase', {}, { purchased_at: 9e15 }),
      )
      expect(answer.status).to.equal(200)
      const id = answer.headers.get('x-request-id')
      const message = `internal error; report error ID ${id} to the operator of this service`
      expect(answer.body.errors?.[0]?.message).to.equal(message)
      expect(answer.text).not.to.match(/RangeError|Invalid time|at .*\.ts|select /)
      expect(broken.log.filter((line) => line.includes(`"${id}"`)).join()).to.match(/Invalid time/)
    })

    it('of storage in the middle of a response are 503 without a challenge [design 24]', async () => {
      await using broken = await startService()
      const answer = await askBroken(broken, () =>
        sql`alter table course_purchase rename to elsewhere`.execute(broken.kysely),
      )
      expect(refusalOf(answer)).to.equal('503 temporarily_unavailable')
      expect(answer.headers.get('retry-after')).to.equal('1')
      expect(answer.headers.get('www-authenticate')).to.equal(null)
      expect(answer.text).not.to.match(/course_purchase|elsewhere/)
    })
  })

  describe('GraphQL clients with their defaults', () => {
    const headers = () => ({ authorization: `Bearer ${token()}` })

    const listening = () => {
      const heard: { method: string; status: number; sent: string }[] = []
      const hear: typeof fetch = async (input, init) => {
        const { method = 'GET', body } = init ?? {}
        const response = await fetch(input, init)
        heard.push({ method, status: response.status, sent: `${input} ${String(body ?? '')}` })
        return response
      }
      return { heard, hear, uri: running().url + paths.graphql }
    }

    describe("Apollo's client", () => {
      const opened = (...links: ApolloLink[]) => {
        const { heard, hear: fetch, uri } = listening()
        const client = new ApolloClient({
          link: ApolloLink.from([...links, new HttpLink({ uri, headers: headers(), fetch })]),
          cache: new InMemoryCache(),
          clientAwareness: { name: 'a page', version: '1.0' },
        })
        const ask = async (first: number) =>
          (await client.query<Courses>({ query: gql(courses), variables: { first } })).data?.viewer
        return { heard, client, ask }
      }

      it('queries and changes', async () => {
        const { heard, client, ask } = opened()
        const viewer = await ask(2)
        expect(viewer?.name).to.equal('Sam Student')
        expect(viewer?.enrolledCourses.nodes).to.have.length(2)
        const { data } = await client.mutate({ mutation: gql(read) })
        expect(data).to.have.nested.property('markNotificationRead.notification.id', 'not_sam_14')
        expect(heard.map(({ status }) => status)).to.deep.equal([200, 200])
        client.stop()
      })

      for (const useGETForHashedQueries of [false, true]) {
        it(`sends the whole query when its hash is unknown, by ${useGETForHashedQueries ? 'GET' : 'POST'}`, async () => {
          const sha256 = (document: string) => hash('sha256', document)
          const link = new PersistedQueryLink({ sha256, useGETForHashedQueries })
          const { heard, client, ask } = opened(link)
          for (const first of [1, 2])
            expect((await ask(first))?.enrolledCourses.nodes).to.have.length(first)
          // The client first sends the hash. Once the server has rejected it, the client sends only documents.
          const seen = heard.map(({ status, sent }) => [status, sent.includes('enrolledCourses')])
          expect(seen).to.deep.equal([[200, false], ...[1, 2].map(() => [200, true])])
          client.stop()
        })
      }
    })

    it('urql queries by GET and changes by POST', async () => {
      const { heard, hear: fetch, uri: url } = listening()
      const exchanges = [cacheExchange, fetchExchange]
      const client = new Client({ url, exchanges, fetch, fetchOptions: { headers: headers() } })
      const { data, error } = await client.query<Courses>(courses, { first: 2 }).toPromise()
      expect(error).to.equal(undefined)
      expect(data?.viewer.enrolledCourses.nodes).to.have.length(2)
      expect((await client.mutation(read, {}).toPromise()).error).to.equal(undefined)
      const seen = heard.map(({ method, status }) => `${method} ${status}`)
      expect(seen).to.deep.equal(['GET 200', 'POST 200'])
    })
  })
})
