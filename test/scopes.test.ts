import {
  catalogue,
  findScope,
  MEMBER_READ,
  MEMBER_WRITE,
  readScope,
  scopeNames,
} from '../src/directory/scopes/catalogue.ts'
import { decideScopes, needsOperator, needsResource } from '../src/directory/scopes/policy.ts'
import type { Client } from '../src/oauth/clients/client.ts'
import { adviseScopes } from '../src/oauth/clients/scope-advice.ts'
import { english } from './support/sample-pages.ts'

/** The scope names in the table of the specification (Scopes). */
const specified = `openid profile email courses:read courses:write students:read students:write
  members:read members:write analytics:read curriculum:read curriculum:write orders:read school:read
  school:write appearance:read appearance:write events:read events:write membership_plans:read
  membership_plans:write coupons:read coupons:write posts:read posts:write subscriptions:read
  subscriptions:write digital_products:read digital_products:write comments:read lecturers:read
  lecturers:write storage:write forms:read pages:read pages:write account:read account:write`
  .split(/\s+/)
  .sort()

const identity = ['openid', 'profile', 'email']
const member = [MEMBER_READ, MEMBER_WRITE]
const operator = specified.filter((name) => ![...identity, ...member].includes(name))
const operatorReads = operator.filter((name) => name.endsWith(':read'))

describe('the scope catalogue', () => {
  // [Scopes 1; Scopes 6; Scopes 7; Scopes 8]
  it('has the 38 names of the specification, each once, and no other', () => {
    expect(scopeNames().sort()).to.deep.equal(specified)
    expect(scopeNames()).to.have.lengthOf(38)
    const others = ['', 'OPENID', 'openid ', 'account', 'toString', '__proto__', 'offline_access']
    for (const name of others) expect(findScope(name), name).to.equal(undefined)
    for (const name of ['storage', 'account']) expect(() => readScope(name)).to.throw(name)
  })

  it('gives each scope its audience and what it grants [Scopes 2]', () => {
    expect(scopeNames('identity')).to.have.members(identity)
    expect(scopeNames('member')).to.have.members(member)
    expect(scopeNames('operator')).to.have.members(operator)
    for (const { name, access, grants, sentence } of catalogue) {
      const [, verb = 'identity'] = name.split(':')
      expect(access, name).to.equal(verb)
      expect(grants, name).to.match(/\w/)
      expect(sentence.for(english), name).to.match(/^[a-z].*[^.]$/)
    }
    for (const name of specified) {
      expect(needsOperator([name]), name).to.equal(operator.includes(name))
      expect(needsResource([name]), name).to.equal(member.includes(name))
    }
    expect([needsOperator([]), needsResource(['unknown'])]).to.deep.equal([false, false])
  })
})

// [Authentication 6.2; Scopes 9]
describe('the scopes that a client may request (Authentication 6 and 8; design 2)', () => {
  for (const [origin, reviewed, may] of [
    ['site', undefined, [...identity, ...member]],
    ['site', true, [...identity, ...member]],
    ['operator', undefined, [...identity, ...operator]],
    ['integration', undefined, [...identity, ...operator]],
    ['integration', false, [...identity, ...operator]],
    ['loopback', undefined, [...identity, ...operator]],
    ['loopback', false, [...identity, ...operator]],
    ['document', undefined, [...identity, ...operatorReads]],
    ['document', false, [...identity, ...operatorReads]],
    ['document', true, [...identity, ...operator]],
  ] as const) {
    // [21]
    it(`${origin}, reviewed ${reviewed}: ${may.length}, and an operator cannot add any`, () => {
      const access = { origin, ...(reviewed !== undefined && { reviewed }) }
      expect(decideScopes(access)).to.have.members(may)
      for (const name of specified) {
        const expected = may.filter((scope) => scope === name || identity.includes(scope))
        expect(decideScopes({ ...access, chosen: [name] }), name).to.have.members(expected)
      }
      expect(decideScopes({ ...access, chosen: specified })).to.have.members(may)
      expect(decideScopes({ ...access, chosen: [] })).to.have.members(identity)
      const nonsense = ['admin', '*', 'account:*', 'ACCOUNT:READ', '__proto__']
      expect(decideScopes({ ...access, chosen: nonsense })).to.have.members(identity)
      expect(needsResource(may) && needsOperator(may), 'both audiences').to.equal(false)
    })
  }
})

// test/mcp-addresses.test.ts and test/mcp-tools.test.ts have further cases.
describe('the scopes that a challenge names [design 23]', () => {
  const baseUrl = 'https://id.campus.example'
  const client = {
    ...{ clientId: 'a-client', name: 'A client', redirectUris: ['http://127.0.0.1/callback'] },
    ...({ authMethod: 'none', applicationType: 'native', state: 'active' } as const),
  }
  const ofSite: Client = { ...client, origin: 'site', siteId: 'sit_one' }
  const readingOnly: Client = { ...ofSite, chosenScopes: [MEMBER_READ] }
  const server: Client = { ...client, origin: 'resource_server' }
  const ofDocument = (reviewed: boolean): Client => ({
    ...{ ...client, origin: 'document' },
    document: { fingerprint: 'one', reviewed, approvedSomewhere: reviewed },
  })

  const rows: readonly (readonly [
    of: Client,
    held: readonly string[],
    needed: readonly string[],
    /** The expected scopes, or a part of the remedy's text. */
    expected: readonly string[] | string,
    oneIsEnough?: boolean,
  ])[] = [
    [ofSite, [], [MEMBER_READ], [MEMBER_READ]],
    [readingOnly, [], member, [MEMBER_READ], true],
    [readingOnly, [], member, 'can add the required scopes to this application'],
    [readingOnly, [MEMBER_WRITE], [MEMBER_READ], [MEMBER_READ]],
    [{ ...client, origin: 'integration' }, [], member, `${baseUrl}/connect`, true],
    [ofDocument(false), [], ['courses:read'], ['courses:read']],
    [ofDocument(false), [], ['courses:write'], 'must first approve this client'],
    [ofDocument(true), [], ['courses:write'], ['courses:write']],
    [server, [], ['courses:read'], 'cannot get the required scope'],
  ]
  for (const [of, held, needed, expected, oneIsEnough = false] of rows) {
    const need = `${oneIsEnough ? 'one of ' : ''}${needed.join(' ')}`
    it(`${of.origin} client with ${held.join(' ') || 'nothing'} that needs ${need}`, () => {
      const advice = adviseScopes(of, { needed, held, oneIsEnough }, baseUrl)
      if (typeof expected === 'string') {
        expect(advice.scopes).to.deep.equal([])
        expect(advice.remedy).to.include(expected)
      } else {
        expect(advice).to.deep.equal({ scopes: expected })
      }
    })
  }
})
