import { makeQueryTool } from '../src/api/graphql/query-tool.ts'
import { june, olivia, sam, startWith } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'
import { answerOf, expectAnswer, postJson, preflight, refusalOf } from './support/wire.ts'

const page = '/account/queries'
const address = '/account/queries/northlight'
const query = '{ viewer { name enrolledCourses { totalCount } } unreadNotificationCount }'
const onlyOne = 'Select exactly one operation, or remove the others.'
const mutation = { query: 'mutation { markAllNotificationsRead { markedCount } }' }

describe(page, () => {
  const running = sharedService()

  const opened = async () => {
    const person = makePagePerson(running().url, sam)
    const { text } = await person.visit(page)
    const [, token = ''] = /data-token="([^"]+)"/.exec(text) ?? []
    const run = async (asked: object, headers: Record<string, string> = {}, to = address) => {
      const sent = { 'content-type': 'application/json', 'x-form-token': token, ...headers }
      const init = { method: 'POST', headers: sent, body: JSON.stringify(asked) }
      return await answerOf(await person.open(to, init))
    }
    return { person, text, run }
  }

  it('runs a member’s query with the cost and limits of the Member API, and accepts variables and an operation name', async () => {
    const { run } = await opened()
    const { headers, body } = await run({ query })
    expect(headers.get('cache-control')).to.equal('no-store')
    const viewer = { name: 'Sam Student', enrolledCourses: { totalCount: 5 } }
    expect(body.data).to.deep.include({ viewer })
    expect(body.extensions).to.have.property('cost', 5)
    const tooMuch = { query: `{ viewer { ${'id '.repeat(400)} } }` }
    expect((await run(tooMuch)).text).to.include('exceeds the limit')
    const two =
      'query A($n: Int) { viewer { enrolledCourses(first: $n) { nodes { slug } } } } query B { viewer { id } }'
    const { data } = (await run({ query: two, variables: { n: 1 }, operationName: 'A' })).body
    expect(data.viewer.enrolledCourses.nodes).to.have.length(1)
    expect((await run({ query: two })).text).to.include(onlyOne)
  })

  it('refuses requests from other pages and requests without a session', async () => {
    const { run } = await opened()
    for (const [headers, status] of [
      [{ 'x-form-token': '' }, 403],
      [{ 'x-form-token': 'x'.repeat(43) }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ 'sec-fetch-site': 'same-site' }, 403],
      [{ 'content-type': 'text/plain' }, 415],
      [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ] as const) {
      expect((await run(mutation, headers)).status, JSON.stringify(headers)).to.equal(status)
    }
    const names = 'x-form-token,content-type'
    const asked = await preflight(running().url + address, 'POST', { names })
    expect(asked.headers.get('access-control-allow-origin')).to.equal(null)
    expect((await run({ query })).body.data.unreadNotificationCount).to.be.above(0)
    const withoutSession = await postJson(running().url + address, {})
    expect(refusalOf(withoutSession)).to.equal('401 signed_out')
  })

  it('opens only for the member’s own sites', async () => {
    const { person, run } = await opened()
    expect((await run({ query }, {}, '/account/queries/open-kitchen')).status).to.equal(404)
    expect((await person.visit(`${page}?site=open-kitchen`)).status).to.equal(404)
    const { text } = await makePagePerson(running().url, june).visit(page)
    expect(text).to.include('Open Kitchen School').and.not.include('Northlight')
  })

  it('runs queries from the plain form, but no mutations', async () => {
    const { person } = await opened()
    const form = await person.visit(page)
    const answered = await person.send(form, page, { query: '{ viewer { name } }' })
    expect(answered.text).to.include('Sam Student')
    const refused = await person.send(form, page, mutation)
    expect(refused.text).to.include('This page runs queries only.')
  })

  it('lets only GraphiQL’s scripts run, with a new nonce for each page', async () => {
    const { person, text } = await opened()
    const response = await person.open(page)
    const policy = response.headers.get('content-security-policy') ?? ''
    const [, nonce] = /script-src 'nonce-([\w+/=]+)'(?:;|$)/.exec(policy) ?? []
    expect(policy).to.not.include('unsafe')
    const [, source] = /<script [^>]*src="([^"]+)"[^>]*><\/script>/.exec(text) ?? []
    expect(text.match(/<script/g)).to.have.length(1)
    expect(await response.text()).to.include(`nonce="${nonce}"`)
    expect(text).to.not.include(`nonce="${nonce}"`)
    const { status, headers } = await fetch(running().url + source)
    expect(status).to.equal(200)
    expect(headers.get('cache-control')).to.include('immutable')
    expect(headers.get('content-type')).to.match(/javascript/)
  })

  it('has only the plain form when GraphiQL is not installed', async () => {
    const tool = makeQueryTool((name) => (name === 'graphiql' ? undefined : '/nowhere'))
    expect(await tool.forPage('/run')).to.equal(undefined)
  })
})

describe('/admin/:site/queries', () => {
  const queries = '/admin/northlight/queries'
  const running = sharedService()

  const operator = makePagePerson(() => running().url, olivia)
  const tried = async (asked: string, variables = '') =>
    await operator.submit(queries, { query: asked, variables })

  it('runs a query about the site, shows it with its response, and takes variables as a JSON object', async () => {
    const asked = '{ site { slug } courses(first: 1) { totalCount } }'
    const shown = await tried(asked)
    expectAnswer(shown, 200, `${asked}</textarea>`, /&\S+slug&\S+: &\S+northlight&/)
    const withVariable = 'query ($n: Int) { courses(first: $n) { nodes { slug } } }'
    expect((await tried(withVariable, '{"n": 1}')).text.match(/slug&/g)).to.have.length(1)
    for (const variables of ['[1]', 'n: 1', 'null'])
      expect((await tried(withVariable, variables)).text).to.include('must be a JSON object')
  })

  it('refuses mutations and wrong queries with the reason', async () => {
    for (const [asked, said] of [
      ['mutation { updateSite(input: { name: "New" }) { id } }', 'This page runs queries only.'],
      ['{ nothing }', 'Cannot query field'],
      ['{ site {', 'Syntax Error'],
      [`{ ${'a { '.repeat(60)}`, 'exceeds the limit'],
      ['query A { site { id } } query B { site { id } }', onlyOne],
      ['<script>alert(1)</script>', 'Syntax Error'],
    ] as const) {
      const refused = await tried(asked)
      expectAnswer(refused, 200, said)
      expect(refused.text).to.not.include('<script>')
    }
    expect((await tried('{ site { name } }')).text).to.include('Northlight Academy')
  })

  it('counts the cost like the API', async () => {
    await using service = await startWith({ limits: { adminApiCostPerPersonMax: 600 } })
    const person = makePagePerson(service.url, olivia)
    const form = await person.visit(queries)
    const asked = { query: '{ courses(first: 1) { totalCount } }', variables: '' }
    for (const limited of [false, true]) {
      const { text } = await person.send(form, queries, asked)
      expect(/Try again in \d+ s\./.test(text)).to.equal(limited)
    }
  })
})
