import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { agents } from './agents/client-table.ts'
import {
  documents,
  exampleFiles,
  quotedIn,
  readDocument,
  renewDocument,
  rowsBelow,
} from './interop/libraries-document.ts'
import { libraries, pages } from './interop/library-table.ts'
import { products } from './interop/products.ts'
import { anchorOf } from './support/markdown.ts'

const root = join(import.meta.dirname, '..')
const tested = libraries.map(({ name }) => name)
const readme = 'docs/libraries/README.md'
const untested = rowsBelow('Not tested automatically', readme)
const unfit = rowsBelow('Libraries that cannot connect', readme)
const headingsOf = (file: string) =>
  [...readDocument(file).matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading)

// `npm run test:interop` and `npm run test:agents` run the programs themselves.
describe('tables of libraries and clients', () => {
  it('are in docs/libraries as they are generated', () => {
    for (const file of documents) {
      const text = readDocument(file)
      expect(text, `${file}: run npm run docs`).to.equal(renewDocument(text))
    }
  })

  it('name one exact version of each, and of what is installed beside it', () => {
    for (const { package: wanted } of [...libraries, ...agents]) {
      if (!('name' in wanted)) continue
      expect(wanted.version, wanted.name).to.match(/^\d+\.\d+\.\d+$/)
      for (const other of wanted.with ?? [])
        expect(other, wanted.name).to.match(/^@?[\w./-]+(@|==)\d+\.\d+\.\d+$/)
    }
    const [go] = libraries.filter(({ family }) => family === 'go')
    const modules = readFileSync(join(root, `examples/go/${go?.example}/go.mod`), 'utf8')
    expect(modules).to.include(`github.com/coreos/go-oidc/v3 v${go?.version}\n`)
  })

  it('give each library with a program a section that shows it, and each product a section', () => {
    for (const library of libraries) {
      const section = readDocument(`docs/libraries/${pages[library.family]}.md`)
        .split(/^## /m)
        .find((candidate) => candidate.startsWith(`${library.section ?? library.name}\n`))
      expect(quotedIn(section ?? ''), library.name).to.deep.equal(exampleFiles(library))
    }
    const headings = headingsOf('docs/libraries/products.md')
    expect(headings).to.include.members(products.map(({ name }) => name))
  })

  it('name every program of examples', () => {
    // Other tests run the excluded examples: test/system/resource-server-examples.test.ts,
    // test/interop/products.ts, test/password-hook.test.ts and test/platform-records.test.ts.
    const programs = globSync('examples/*/*', { cwd: root }).filter(
      (file) => !/^examples\/(resource-servers|products|password-check|records)\//.test(file),
    )
    const named = libraries.map(({ family, example }) => `examples/${family}/${example}`)
    expect(programs).to.have.members([...new Set(named)])
  })

  it('give each library without a program a section, and no row among the others', () => {
    expect(untested).to.have.length.above(20)
    for (const [link = ''] of untested) {
      const [, name, page] = /^\[(.+)\]\((\w+)\.md#/.exec(link) ?? []
      expect(headingsOf(`docs/libraries/${page}.md`)).to.include(name)
      expect(tested).not.to.include(name)
    }
  })

  it('give an unsuitable library no section, but name a substitute that has one', () => {
    const anchors = documents.flatMap((file) =>
      headingsOf(file).map((text) => `${file.replace('docs/libraries/', '')}#${anchorOf(text)}`),
    )
    expect(unfit).to.have.length.above(5)
    for (const [name = '', , , instead = ''] of unfit) {
      expect(tested).not.to.include(name)
      expect(anchors.filter((anchor) => anchor.endsWith(`#${anchorOf(name)}`))).to.deep.equal([])
      expect(anchors).to.include(/\]\((.*)\)/.exec(instead)?.[1])
    }
  })
})
