import { expect } from 'chai'

import { type Code, type Family, type Issued, Ledger } from './faults/ledger.ts'
import { paceOf } from './faults/machine.ts'

/** What `npm run test:faults` says is worth as much as the ledger that it judges by. */
describe('the ledger of test/faults', () => {
  const issued = (name: string): Issued => ({
    accessToken: `access ${name}`,
    refreshToken: `refresh ${name}`,
  })

  function begin() {
    const ledger = new Ledger()
    const code: Code = { grant: 0, code: 'code', issuedAtMs: 0 }
    const family = ledger.exchanged(code, issued('1')) as Family
    const refreshed = (used: string, name: string, sentAtMs = 10) =>
      ledger.refreshed(family, { used, issued: issued(name), sentAtMs, nowMs: sentAtMs })
    const found = () => [ledger.count('lost'), ledger.count('doubled'), ledger.count('undone')]
    return { ledger, code, family, refreshed, found }
  }

  it('finds nothing where all is as it should be', () => {
    const { ledger, family, refreshed, found } = begin()
    refreshed('refresh 1', '2')
    refreshed('refresh 1', '2')
    ledger.judged(family, true, 20)
    family.revoking = true
    ledger.judged(family, false, 30)
    ledger.judged(family, true, 30)
    ledger.revoked(family, 40)
    ledger.judged(family, false, 50)
    ledger.refused(family, 'invalid_grant')
    ledger.replayed('code', 400)
    expect(found()).to.deep.equal([0, 0, 0])
    expect(family.held).to.equal('refresh 2')
  })

  const faults: Record<string, [(begun: ReturnType<typeof begin>) => void, number[]]> = {
    'an access token that is not good any more': [
      ({ ledger, family }) => ledger.judged(family, false, 20),
      [1, 0, 0],
    ],
    'a refresh token that is refused': [
      ({ ledger, family }) => ledger.refused(family, 'invalid_grant'),
      [1, 0, 0],
    ],
    'a code that is refused': [({ ledger }) => ledger.codeLost('invalid_grant'), [1, 0, 0]],
    'a code that is exchanged twice': [
      ({ ledger, code }) => ledger.exchanged(code, issued('2')),
      [0, 1, 0],
    ],
    'a refresh token with two successors': [
      ({ refreshed }) => {
        refreshed('refresh 1', '2')
        refreshed('refresh 1', '3')
      },
      [0, 1, 0],
    ],
    'a replay that succeeds': [({ ledger }) => ledger.replayed('refresh token', 200), [0, 1, 0]],
    'a revoked access token that is good': [
      ({ ledger, family }) => {
        family.revoking = true
        ledger.revoked(family, 40)
        ledger.judged(family, true, 50)
      },
      [0, 0, 1],
    ],
    'a revoked refresh token that is refreshed': [
      ({ ledger, family, refreshed }) => {
        family.revoking = true
        ledger.revoked(family, 40)
        refreshed('refresh 1', '2', 50)
      },
      [0, 0, 1],
    ],
  }
  for (const [what, [happens, expected]] of Object.entries(faults)) {
    it(`finds ${what}`, () => {
      const begun = begin()
      happens(begun)
      expect(begun.found()).to.deep.equal(expected)
    })
  }

  it('blames the service for what the machine cannot explain', () => {
    expect(paceOf(500, 275)).to.equal('in time')
    expect(paceOf(990, 300)).to.equal('as slow as the machine')
    expect(paceOf(1_010, 300)).to.equal('too slow')
    expect(paceOf(1_590, 800)).to.equal('as slow as the machine')
    expect(paceOf(1_610, 800)).to.equal('too slow')
  })
})
