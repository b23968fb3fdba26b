import { readFileSync } from 'node:fs'

import { expect } from 'chai'

import { caseTables, hostileDocument, withTables } from '../support/hostile-document.ts'

const cases = caseTables.flatMap((table) => table.cases)

describe('the tables of hostile cases', () => {
  it('are in docs/hostile-cases.md as they are', () => {
    const document = readFileSync(hostileDocument, 'utf8')
    expect(document, 'node test/support/hostile-document.ts writes it').to.equal(
      withTables(document),
    )
  })

  it('have at least 250 cases, of which no two have one number or say the same', () => {
    expect(cases).to.have.length.greaterThan(250)
    expect(new Set(cases.map(({ number }) => number)).size).to.equal(cases.length)
    expect(new Set(cases.map(({ attack }) => attack)).size).to.equal(cases.length)
  })
})
