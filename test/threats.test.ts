import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { readSecurityPage, renderSecurityPage } from './support/security-document.ts'
import { standards } from './support/standards-document.ts'

const root = join(import.meta.dirname, '..')
const page = readSecurityPage()
const [threats = ''] = /^## Threats$[\s\S]*?(?=^## )/m.exec(page) ?? []
const rows = [...threats.matchAll(/^\| (.+) \|$/gm)]
  .map(([, cells = '']) => cells.split(' | '))
  .filter(({ length, 0: first }) => length === 5 && first !== 'surface' && first !== '---')

/** Its table of contents below the introduction, but for headings that only hold others. */
const sectionsOfRfc9700 = [
  ...['2.1', '2.1.1', '2.1.2', '2.2.1', '2.2.2', '2.3', '2.4', '2.5', '2.6', '3'],
  ...['4.1.1', '4.1.2', '4.1.3', '4.2.1', '4.2.2', '4.2.3', '4.2.4', '4.3.1', '4.3.2'],
  ...['4.4.1', '4.4.2', '4.4.2.1', '4.4.2.2', '4.5.1', '4.5.2', '4.5.3.1', '4.5.3.2', '4.5.3.3'],
  ...['4.5.4', '4.6.1', '4.7.1', '4.8.1', '4.8.2', '4.9.1', '4.9.2', '4.9.3', '4.10.1', '4.10.2'],
  ...['4.10.3', '4.11.1', '4.11.2', '4.12', '4.13', '4.14.1', '4.14.2', '4.15.1', '4.16'],
  ...['4.17.1', '4.17.2'],
]

describe('docs/security.md, threats', () => {
  it('names for each row a threat of STRIDE, a defence, and tests that exist', () => {
    expect(rows).to.have.length.greaterThan(35)
    const broken = rows.filter(([, threat = '', , defence = '', tests = '']) => {
      const named = [...tests.matchAll(/`(test\/[^`]+)` "([^"]+)"/g)]
      const isWhole = named.map(([whole]) => whole).join('; ') === tests && named.length > 0
      const exist = named.every(([, file = '', title = '']) => hasTitle(file, title))
      return !(isWhole && exist && /^[STRIDE]: /.test(threat) && defence !== '')
    })
    expect(broken.map((cells) => cells.join(' | '))).to.deep.equal([])
  })

  it('has each of the six kinds of threat', () => {
    const kinds = new Set(rows.map(([, threat = '']) => threat[0]))
    expect([...kinds].sort()).to.deep.equal([...'DEIRST'])
  })

  it('names attackers that it has introduced', () => {
    const introduced = new Set([...threats.matchAll(/\*\*([A-Z])\*\* /g)].map(([, who]) => who))
    const strange = rows
      .flatMap(([, , by = '']) => by.split(' '))
      .filter((who) => who !== '–' && !introduced.has(who))
    expect(strange).to.deep.equal([])
  })
})

describe('docs/security.md, RFC 9700', () => {
  it('is what the table of standards and the annotations of the tests say', () => {
    const advice = 'run node test/support/security-document.ts'
    expect(page).to.include('<!-- RFC 9700 -->')
    expect(renderSecurityPage(page), advice).to.equal(page)
  })

  it('has every section of the document', () => {
    const known = standards.find(({ name }) => name === 'RFC 9700')?.sections ?? []
    expect(known.map(({ section }) => section)).to.deep.equal(sectionsOfRfc9700)
  })
})

/** Whether a text of the test file has these words: a title, or the part of one that is in a table. */
function hasTitle(file: string, words: string): boolean {
  if (!existsSync(join(root, file))) return false
  const texts = readFileSync(join(root, file), 'utf8').matchAll(
    /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g,
  )
  return [...texts].some(([, , text = '']) => text.includes(words))
}
