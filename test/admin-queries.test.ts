import { expect } from 'chai'

import { olivia, sam, startService } from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/shared-service.ts'

const address = '/admin/northlight/queries'

describe('/admin/:site/queries', () => {
  const running = sharedService()

  const tried = async (query: string, variables = '') => {
    const operator = makePagePerson(running().url, olivia)
    const page = await operator.visit(address)
    return await operator.send(page, address, { query, variables })
  }

  it('runs a query of the operator about their site, and shows it with its answer', async () => {
    const page = await tried('{ site { slug } courses(first: 1) { totalCount } }')
    expect(page.status).to.equal(200)
    expect(page.text).to.match(/&\S+slug&\S+: &\S+northlight&/)
    expect(page.text).to.include('{ site { slug } courses(first: 1) { totalCount } }</textarea>')
  })

  it('takes variables, and rejects variables that are no JSON object', async () => {
    const query = 'query ($n: Int) { courses(first: $n) { nodes { slug } } }'
    const page = await tried(query, '{"n": 1}')
    expect(page.text.match(/slug&/g)).to.have.length(1)
    for (const variables of ['[1]', 'n: 1', 'null']) {
      expect((await tried(query, variables)).text).to.include('must be a JSON object')
    }
  })

  it('changes nothing', async () => {
    const page = await tried('mutation { updateSite(input: { name: "Changed" }) { id } }')
    expect(page.text).to.include('This page runs queries only.')
    expect((await tried('{ site { name } }')).text).to.include('Northlight Academy')
  })

  it('says what is wrong with a query, and keeps what was typed', async () => {
    for (const [query, said] of [
      ['{ nothing }', 'Cannot query field'],
      ['{ site {', 'Syntax Error'],
      [`{ ${'a { '.repeat(60)}`, 'exceeds the limit'],
      ['query A { site { id } } query B { site { id } }', 'Select exactly one operation.'],
      ['<script>alert(1)</script>', 'Syntax Error'],
    ] as const) {
      const page = await tried(query)
      expect([page.status, page.text.includes(said)], page.text).to.deep.equal([200, true])
      expect(page.text).to.not.include('<script>')
    }
  })

  it('counts what is asked as the API does', async () => {
    await using service = await startService({
      policy: (policy) => ({
        ...policy,
        limits: { ...policy.limits, adminApiCostPerPersonMax: 600 },
      }),
    })
    const operator = makePagePerson(service.url, olivia)
    const page = await operator.visit(address)
    const query = '{ courses(first: 1) { totalCount } }'
    const texts = []
    for (let turn = 0; turn < 2; turn += 1) {
      texts.push((await operator.send(page, address, { query, variables: '' })).text)
    }
    expect(texts.map((text) => /Try again in \d+ s\./.test(text))).to.deep.equal([false, true])
  })

  it('is for the operators of the site', async () => {
    expect((await makePagePerson(running().url, sam).visit(address)).status).to.equal(403)
  })
})
