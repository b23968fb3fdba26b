import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import {
  anchorOf,
  documents,
  exampleFiles,
  quotedIn,
  readDocument,
  renewDocument,
} from './interop/libraries-document.ts'
import { libraries, pages } from './interop/library-table.ts'
import { unfit, untested } from './interop/untested-table.ts'

const root = join(import.meta.dirname, '..')
const pageOf = (page: string) => `docs/libraries/${page}.md`
const headingsOf = (file: string) =>
  [...readDocument(file).matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading)

/** The libraries themselves are driven by `npm run test:interop`. */
describe('the libraries that are driven', () => {
  for (const file of documents) {
    it(`are in ${file} as they are`, () => {
      const text = readDocument(file)
      expect(text, 'run npm run docs').to.equal(renewDocument(text))
    })
  }

  it('are each of one exact version, with exact versions beside them', () => {
    for (const { name, version, package: wanted } of libraries) {
      expect(version, name).to.match(/^\d+\.\d+\.\d+$/)
      if (!('name' in wanted)) continue
      expect(wanted.version, name).to.equal(version)
      for (const other of wanted.with ?? []) {
        expect(other, name).to.match(/^@?[\w./-]+(@|==)\d+\.\d+\.\d+$/)
      }
    }
  })

  it('have the version of their module file in Go', () => {
    const [go] = libraries.filter(({ family }) => family === 'go')
    const modules = readFileSync(join(root, `examples/go/${go?.example}/go.mod`), 'utf8')
    expect(modules).to.include(`github.com/coreos/go-oidc/v3 v${go?.version}\n`)
  })

  it('have a section of their own, with their program', () => {
    for (const library of libraries) {
      const section = readDocument(pageOf(pages[library.family]))
        .split(/^## /m)
        .find((candidate) => candidate.startsWith(`${library.section ?? library.name}\n`))
      expect(section, library.name).to.be.a('string')
      expect(quotedIn(section ?? ''), library.name).to.deep.equal(exampleFiles(library))
    }
  })

  it('are those of which there is a program, and no other', () => {
    // Those of resource servers are run by a test of their own.
    const programs = globSync('examples/*/*', { cwd: root }).filter(
      (file) => !file.startsWith('examples/resource-servers/'),
    )
    const named = libraries.map(({ family, example }) => `examples/${family}/${example}`)
    expect(programs.sort()).to.deep.equal([...new Set(named)].sort())
  })
})

describe('the libraries that are not driven', () => {
  it('have a section of their own, without a program', () => {
    for (const { name, page } of untested) {
      expect(headingsOf(pageOf(page)), pageOf(page)).to.include(name)
    }
  })

  it('are told apart from those that are', () => {
    const driven = libraries.map(({ name }) => name)
    for (const { name } of [...untested, ...unfit]) expect(driven).not.to.include(name)
  })

  it('have no section when they cannot connect, and one that can stands in for them', () => {
    const anchors = documents.flatMap((file) =>
      headingsOf(file).map(
        (heading) => `${file.replace('docs/libraries/', '')}#${anchorOf(heading)}`,
      ),
    )
    for (const { name, instead } of unfit) {
      expect(anchors.filter((anchor) => anchor.endsWith(`#${anchorOf(name)}`))).to.deep.equal([])
      expect(anchors).to.include(/\]\((.*)\)/.exec(instead)?.[1])
    }
  })
})
