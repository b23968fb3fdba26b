import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

import { mutants } from './mutants/table.ts'

const root = join(import.meta.dirname, '..')

// Without these checks, a change to a line would silently remove its mutant.
describe('the table of mutants', () => {
  it('has at least 80 distinct rows, each with existing tests', () => {
    const keys = mutants.map(({ file, text, replacement }) => [file, text, replacement].join('\n'))
    expect(new Set(keys).size).to.equal(keys.length).and.to.be.greaterThan(80)
    const tests = new Set(mutants.flatMap((mutant) => mutant.tests))
    expect([...tests].filter((test) => !existsSync(join(root, test)))).to.deep.equal([])
  })

  it('finds each line exactly once, and leaves a program', () => {
    for (const { file, text, replacement } of mutants) {
      const source = readFileSync(join(root, file), 'utf8')
      expect(source.split(text).length - 1, `${file}: ${text}`).to.equal(1)
      const changed = source.replace(text, () => replacement)
      expect(changed).to.not.equal(source)
      expect(() => stripTypeScriptTypes(changed), replacement).to.not.throw()
    }
  })
})
