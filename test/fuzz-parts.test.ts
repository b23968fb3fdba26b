import { expect } from 'chai'
import { buildSchema, parse } from 'graphql'

import { makeChance } from './fuzz/chance.ts'
import { graphqlRequest } from './fuzz/graphql-requests.ts'
import { judge } from './fuzz/judge.ts'
import { oauthRequest } from './fuzz/oauth-requests.ts'
import { pageRequest } from './fuzz/page-requests.ts'
import { bytesOf, filled } from './fuzz/request.ts'
import { readSeeds } from './fuzz/seeds.ts'
import { MARKUP } from './fuzz/texts.ts'
import type { Seen } from './fuzz/wire.ts'

/** What `npm run test:fuzz` is made of: it would find nothing if these were wrong. */
describe('the fuzzer', () => {
  const seen: Seen = { status: 200, headers: ['Content-Type', 'text/html'], text: '<p>', tookMs: 1 }

  it('finds a fault, a hang, a header of the caller’s, and markup of the caller’s in a page', () => {
    expect(judge(seen)).to.equal(undefined)
    expect(judge({ ...seen, status: 503 })).to.match(/^503/)
    expect(judge({ ...seen, tookMs: 2001 })).to.equal('2001 ms')
    expect(judge({ ...seen, headers: [...seen.headers, 'x-mk7', '1'] })).to.match(/header/)
    for (const text of [`<p>${MARKUP}`, `<p title="mk7"`, `<p>&quot;<u mk7>`]) {
      expect(judge({ ...seen, text }), text).to.match(/markup/)
    }
  })

  it('knows escaped markup, and JSON, for what they are', () => {
    const escaped = MARKUP.replaceAll(/["'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
    expect(judge({ ...seen, text: escaped })).to.equal(undefined)
    const headers = ['Content-Type', 'application/json']
    expect(judge({ ...seen, headers, text: JSON.stringify(MARKUP) })).to.equal(undefined)
  })

  it('makes the same requests of the same seed, and others of another', () => {
    const made = (seed: number) => {
      const chance = makeChance(seed)
      return Array.from({ length: 50 }, () => [oauthRequest(chance), pageRequest(chance)])
    }
    expect(made(1)).to.deep.equal(made(1))
    expect(made(1)).to.not.deep.equal(made(2))
  })

  it('makes documents of which the most are GraphQL', () => {
    const schema = buildSchema('type Query { a(b: [Int!], c: ID): Query, d: String }')
    const chance = makeChance(7)
    const documents = Array.from({ length: 300 }, () => {
      const { body = '{}' } = graphqlRequest(chance, { member: schema, admin: schema })
      try {
        parse(JSON.parse(Buffer.from(body, 'latin1').toString()).query)
        return 'good'
      } catch {
        return 'broken'
      }
    })
    const good = documents.filter((each) => each === 'good').length
    expect(good).to.be.within(120, 290)
  })

  it('keeps bytes that are no text, and puts in what the service gave out', () => {
    expect(bytesOf('é\ud800')).to.equal('\u00c3\u00a9\u00ed\u00a0\u0080')
    const request = {
      method: 'GET',
      path: '/@{code}',
      headers: ['X', '@{url}'],
      body: '@{code}\xff',
    }
    const put = filled(request, (name) => `<${name}>`)
    expect(put).to.deep.equal({
      method: 'GET',
      path: '/<code>',
      headers: ['X', '<url>'],
      body: '<code>\xff',
    })
  })

  it('has seeds that can be sent', () => {
    for (const { found, requests } of readSeeds()) {
      expect(found).to.be.a('string')
      for (const { method, path, headers } of requests) {
        expect([method, path]).to.not.include('')
        expect(headers.length % 2).to.equal(0)
      }
    }
  })
})
