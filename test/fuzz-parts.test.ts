import { buildSchema, parse } from 'graphql'

import { makeChance } from './fuzz/chance.ts'
import { graphqlRequest } from './fuzz/graphql-requests.ts'
import { judge } from './fuzz/judge.ts'
import { oauthRequest } from './fuzz/oauth-requests.ts'
import { pageRequest } from './fuzz/page-requests.ts'
import { MARKUP } from './fuzz/texts.ts'

// A wrong judge or grammar would make `npm run test:fuzz` pass without testing anything.
describe('the fuzzer', () => {
  it('finds faults, hangs, headers and markup of the caller, but no escaped markup and no JSON', () => {
    const html = ['Content-Type', 'text/html']
    const good = { status: 200, headers: html, text: '<p>', tookMs: 1 }
    const escaped = MARKUP.replaceAll(/["'<>]/g, (character) => `&#${character.charCodeAt(0)};`)
    const json = { headers: ['Content-Type', 'application/json'], text: JSON.stringify(MARKUP) }
    for (const seen of [{}, { text: escaped }, json])
      expect(judge({ ...good, ...seen })).to.equal(undefined)
    const wrong: [object, RegExp][] = [
      [{ status: 503 }, /^503/],
      [{ tookMs: 2001 }, /^2001 ms$/],
      [{ headers: [...html, 'x-mk7', '1'] }, /header/],
      ...[`<p>${MARKUP}`, `<p title="mk7"`, `<p>&quot;<u mk7>`].map((text): [object, RegExp] => [
        { text },
        /markup/,
      ]),
    ]
    for (const [seen, found] of wrong) expect(judge({ ...good, ...seen })).to.match(found)
  })

  it('makes the same requests of the same seed, and mostly valid GraphQL', () => {
    const made = (seed: number) => {
      const chance = makeChance(seed)
      return Array.from({ length: 50 }, () => [oauthRequest(chance), pageRequest(chance)])
    }
    expect(made(1)).to.deep.equal(made(1))
    expect(made(1)).to.not.deep.equal(made(2))
    const schema = buildSchema('type Query { a(b: [Int!], c: ID): Query, d: String }')
    const chance = makeChance(7)
    const valid = Array.from({ length: 300 }, () => {
      const { body = '{}' } = graphqlRequest(chance, { member: schema, admin: schema })
      try {
        return parse(JSON.parse(Buffer.from(body, 'latin1').toString()).query)
      } catch {
        return undefined
      }
    }).filter((document) => document !== undefined)
    expect(valid).to.have.length.within(120, 290)
  })
})
