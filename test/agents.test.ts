import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { agents } from './agents/client-table.ts'
import { GENERATED_FROM, renderClients } from './agents/clients-document.ts'

/** The clients themselves are driven by `npm run test:agents`. */
describe('the clients that are driven', () => {
  it('are listed in docs/reference/mcp-clients.md as they are', () => {
    const document = readFileSync(
      join(import.meta.dirname, '../docs/reference/mcp-clients.md'),
      'utf8',
    )
    const generated = document.slice(document.indexOf(GENERATED_FROM))
    expect(generated, 'node test/agents/clients-document.ts writes it again').to.equal(
      renderClients(agents),
    )
  })

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
