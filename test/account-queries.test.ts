import { expect } from 'chai'

import { makeQueryTool } from '../src/api/graphql/query-tool.ts'
import { june, sam } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/shared-service.ts'

const page = '/account/queries'
const address = '/account/queries/northlight'
const query = '{ viewer { name enrolledCourses { totalCount } } unreadNotificationCount }'

describe(page, () => {
  const running = sharedService()

  /** A member who has opened the page, and what its script sends. */
  const opened = async () => {
    const person = makePagePerson(running().url, sam)
    const { text } = await person.visit(page)
    const [, token = ''] = /data-token="([^"]+)"/.exec(text) ?? []
    const run = async (
      body: object,
      { to = address, headers = {} }: { to?: string; headers?: Record<string, string> } = {},
    ) =>
      await person.open(to, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-form-token': token, ...headers },
        body: JSON.stringify(body),
      })
    return { person, text, run }
  }

  it('answers the member whose page it is, with the cost and the limits of the Member API', async () => {
    const { run } = await opened()
    const response = await run({ query })
    expect(response.headers.get('cache-control')).to.equal('no-store')
    const { data, extensions } = (await response.json()) as Record<string, Record<string, unknown>>
    expect(data).to.deep.include({
      viewer: { name: 'Sam Student', enrolledCourses: { totalCount: 5 } },
    })
    expect(extensions).to.have.property('cost', 5)
    const tooMuch = await run({ query: `{ viewer { ${'id '.repeat(400)} } }` })
    expect(await tooMuch.text()).to.include('exceeds the limit')
  })

  it('takes variables and the name of an operation', async () => {
    const { run } = await opened()
    const two =
      'query A($n: Int) { viewer { enrolledCourses(first: $n) { nodes { slug } } } } query B { viewer { id } }'
    const response = await run({ query: two, variables: { n: 1 }, operationName: 'A' })
    expect(await response.json())
      .to.have.nested.property('data.viewer.enrolledCourses.nodes')
      .of.length(1)
    expect(await (await run({ query: two })).text()).to.include('Select exactly one operation.')
  })

  it('refuses what does not come from its own page', async () => {
    const { run } = await opened()
    const mutation = { query: 'mutation { markAllNotificationsRead { markedCount } }' }
    for (const headers of [
      { 'x-form-token': '' },
      { 'x-form-token': 'x'.repeat(43) },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect((await run(mutation, { headers })).status, JSON.stringify(headers)).to.equal(403)
    }
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      expect((await run(mutation, { headers: { 'content-type': type } })).status).to.equal(415)
    }
    const asked = await fetch(running().url + address, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-form-token,content-type',
      },
    })
    expect(asked.headers.get('access-control-allow-origin')).to.equal(null)
    const { data } = (await (await run({ query })).json()) as { data: Record<string, number> }
    expect(data['unreadNotificationCount']).to.be.above(0)
  })

  it('is about sites only at which the member holds a role', async () => {
    const { person, run } = await opened()
    expect((await run({ query }, { to: '/account/queries/open-kitchen' })).status).to.equal(404)
    expect((await person.visit(`${page}?site=open-kitchen`)).status).to.equal(404)
    const { text } = await makePagePerson(running().url, june).visit(page)
    expect(text).to.include('Open Kitchen School').and.not.include('Northlight')
  })

  it('answers who is signed out with 401, as a program', async () => {
    const response = await fetch(running().url + address, { method: 'POST', body: '{}' })
    expect(response.status).to.equal(401)
    expect(await response.json()).to.include({ error: 'signed_out' })
  })

  it('runs queries only from the plain form', async () => {
    const { person } = await opened()
    const first = await person.visit(page)
    const answered = await person.send(first, page, { query: '{ viewer { name } }' })
    expect(answered.text).to.match(/Sam Student/)
    const refused = await person.send(first, page, {
      query: 'mutation { markAllNotificationsRead { markedCount } }',
    })
    expect(refused.text).to.include('This page runs queries only.')
  })

  it('lets the scripts of GraphiQL run by the nonce of the page, and no other', async () => {
    const { person, text } = await opened()
    const response = await person.open(page)
    const policy = response.headers.get('content-security-policy') ?? ''
    const [, nonce] = /script-src 'nonce-([\w+/=]+)'(?:;|$)/.exec(policy) ?? []
    expect(policy).to.not.include('unsafe')
    const scripts = [...text.matchAll(/<script ([^>]*)><\/script>/g)].map(([, said = '']) => said)
    expect(scripts).to.have.length(4)
    expect(text.match(/<script/g)).to.have.length(4)
    const again = await response.text()
    expect(again).to.include(`nonce="${nonce}"`)
    expect(text, 'a nonce is used once').to.not.include(`nonce="${nonce}"`)
    for (const said of scripts) {
      const [, src = ''] = /src="([^"]+)"/.exec(said) ?? []
      const file = await fetch(running().url + src)
      expect(file.status).to.equal(200)
      expect(file.headers.get('cache-control')).to.include('immutable')
      expect(file.headers.get('content-type')).to.match(/javascript/)
    }
  })
})

describe('GraphiQL that is not installed', () => {
  it('is no part of a page: the plain form is what there is', async () => {
    const tool = makeQueryTool((name) => (name === 'graphiql' ? undefined : '/nowhere'))
    expect(await tool.forPage('/run')).to.equal(undefined)
  })
})
