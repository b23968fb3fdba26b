import { readFileSync } from 'node:fs'

import { expect } from 'chai'

import { makeAdminSchema } from '../src/api/admin-api/admin-api.ts'
import {
  adminDocument,
  countRequests,
  renderAdminDocument,
  withoutChance,
} from './support/admin-document.ts'
import { startService } from './support/gatehouse.ts'
import { operationsOf } from './support/schema-walk.ts'

const text = readFileSync(adminDocument, 'utf8')

describe('docs/admin-api.md', () => {
  it('shows what the demo campus really answers, and every scope', async () => {
    await using running = await startService()
    const rendered = await renderAdminDocument(text, running)
    expect(withoutChance(rendered)).to.equal(withoutChance(text))
    expect(countRequests(text)).to.equal(text.split('\nAnswer:\n').length - 1)
  })

  // [Not shown 9]
  it('names every operation', () => {
    const names = operationsOf(makeAdminSchema()).map(({ field }) => field.name)
    expect(names.filter((name) => !text.includes(`\`${name}\``))).to.deep.equal([])
  })
})
