import { existsSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

import { expect } from 'chai'

import { mutants } from './mutants/table.ts'

const root = join(import.meta.dirname, '..')

/** What `npm run test:mutants` changes: a line that moved would be a mutant less, and nobody would know. */
describe('the table of mutants', () => {
  it('has at least 80, each of them once', () => {
    const keys = mutants.map(({ file, text, replacement }) => [file, text, replacement].join('\n'))
    expect(keys).to.have.length.greaterThan(80)
    expect(new Set(keys).size).to.equal(keys.length)
  })

  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    it(`finds each line of ${file} exactly once, and leaves a program`, () => {
      const source = readFileSync(join(root, file), 'utf8')
      for (const { text, replacement } of mutants.filter((mutant) => mutant.file === file)) {
        expect(source.split(text).length - 1, text).to.equal(1)
        const changed = source.replace(text, () => replacement)
        expect(changed).to.not.equal(source)
        expect(() => stripTypeScriptTypes(changed), replacement).to.not.throw()
      }
    })
  }

  it('names tests that exist', () => {
    const tests = new Set(mutants.flatMap((mutant) => mutant.tests))
    expect([...tests].filter((test) => !existsSync(join(root, test)))).to.deep.equal([])
  })
})
