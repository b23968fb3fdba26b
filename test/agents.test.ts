import { expect } from 'chai'

import { agents } from './agents/client-table.ts'

/** The clients themselves are driven by `npm run test:agents`. */
describe('the clients that are driven', () => {
  it('are each of one exact version', () => {
    for (const { package: wanted } of agents) {
      expect(wanted.version, wanted.name).to.match(/^\d+\.\d+\.\d+$/)
    }
  })

  it('are told apart by name, version and how they are set up', () => {
    const names = agents.map(
      ({ name, package: { version }, setUp }) => `${name} ${version} ${setUp}`,
    )
    expect(new Set(names).size).to.equal(agents.length)
  })
})
