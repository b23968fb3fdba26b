import { expect } from 'chai'

import { catalogue, findScope, readScope, scopeNames } from '../src/directory/scopes/catalogue.ts'
import {
  type ClientOrigin,
  decideScopes,
  needsOperator,
  needsResource,
} from '../src/directory/scopes/policy.ts'

/** The table of the specification (Scopes), word for word. */
const specified = `openid profile email courses:read courses:write students:read students:write
  members:read members:write analytics:read curriculum:read curriculum:write orders:read school:read
  school:write appearance:read appearance:write events:read events:write membership_plans:read
  membership_plans:write coupons:read coupons:write posts:read posts:write subscriptions:read
  subscriptions:write digital_products:read digital_products:write comments:read lecturers:read
  lecturers:write storage:write forms:read pages:read pages:write account:read account:write`
  .split(/\s+/)
  .sort()

const identity = ['openid', 'profile', 'email']
const member = ['account:read', 'account:write']
const operator = specified.filter((name) => ![...identity, ...member].includes(name))
const operatorReads = operator.filter((name) => name.endsWith(':read'))

describe('scopes: the catalogue is the table of the specification (Scopes)', () => {
  // [Scopes 1; Scopes 6; Scopes 7; Scopes 8]
  it('has the 38 names and no other, each once', () => {
    expect(scopeNames().sort()).to.deep.equal(specified)
    expect(scopeNames()).to.have.lengthOf(38)
  })

  // [Scopes 2]
  it('knows for each its audience, and what it lets a client do', () => {
    expect(scopeNames('identity')).to.have.members(identity)
    expect(scopeNames('member')).to.have.members(member)
    expect(scopeNames('operator')).to.have.members(operator)
    for (const { name, access, grants, sentence } of catalogue) {
      const [, verb = 'identity'] = name.split(':')
      expect(access, name).to.equal(verb)
      expect(grants, name).to.match(/\w/)
      expect(sentence, name).to.match(/^[a-z].*[^.]$/)
    }
  })

  it('knows nothing that is not in it, whatever the name', () => {
    for (const name of [
      '',
      'OPENID',
      'openid ',
      'account',
      'toString',
      '__proto__',
      'offline_access',
    ]) {
      expect(findScope(name), name).to.equal(undefined)
    }
    expect(() => readScope('storage')).to.throw('storage')
    expect(() => readScope('account')).to.throw('account')
  })
})

// [Authentication 6.2; Scopes 9]
describe('scopes: what a client may request follows from its origin (Authentication 6 and 8; design 2)', () => {
  const rows: readonly {
    readonly origin: ClientOrigin
    readonly reviewed?: boolean
    readonly may: readonly string[]
  }[] = [
    { origin: 'site', may: [...identity, ...member] },
    { origin: 'site', reviewed: true, may: [...identity, ...member] },
    { origin: 'integration', may: [...identity, ...operator] },
    { origin: 'integration', reviewed: false, may: [...identity, ...operator] },
    { origin: 'loopback', may: [...identity, ...operator] },
    { origin: 'loopback', reviewed: false, may: [...identity, ...operator] },
    { origin: 'document', may: [...identity, ...operatorReads] },
    { origin: 'document', reviewed: false, may: [...identity, ...operatorReads] },
    { origin: 'document', reviewed: true, may: [...identity, ...operator] },
  ]

  for (const { origin, reviewed, may } of rows) {
    const how = reviewed === undefined ? '' : `, ${reviewed ? 'reviewed' : 'not reviewed'}`
    const access = { origin, ...(reviewed !== undefined && { reviewed }) }

    it(`${origin}${how}: these and no others of the 38`, () => {
      expect(decideScopes(access)).to.have.members(may)
    })

    for (const name of specified) {
      it(`${origin}${how}: an operator who chose ${name} alone adds nothing by it`, () => {
        const expected = may.filter((scope) => scope === name || identity.includes(scope))
        expect(decideScopes({ ...access, chosen: [name] })).to.have.members(expected)
      })
    }

    it(`${origin}${how}: a choice of everything, of nothing and of nonsense opens nothing more`, () => {
      expect(decideScopes({ ...access, chosen: specified })).to.have.members(may)
      expect(decideScopes({ ...access, chosen: [] })).to.have.members(identity)
      const nonsense = ['admin', '*', 'account:*', 'ACCOUNT:READ', '__proto__']
      expect(decideScopes({ ...access, chosen: nonsense })).to.have.members(identity)
    })
  }

  it('no origin reaches both member and operator scopes', () => {
    for (const { origin, reviewed = false } of rows) {
      const may = decideScopes({ origin, reviewed, chosen: specified })
      expect(needsResource(may) && needsOperator(may), origin).to.equal(false)
    }
  })

  it('tells which scopes need an operator and which a resource', () => {
    for (const name of specified) {
      expect(needsOperator([name]), name).to.equal(operator.includes(name))
      expect(needsResource([name]), name).to.equal(member.includes(name))
    }
    expect([needsOperator([]), needsResource(['unknown'])]).to.deep.equal([false, false])
  })
})
