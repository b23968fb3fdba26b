import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import {
  annotationsOf,
  joinLines,
  namedRowsIn,
  readAnnotations,
  readTestFiles,
} from './support/annotations.ts'
import { caseTables } from './support/hostile-document.ts'
import { renderReference } from './support/reference.ts'
import {
  attackClasses,
  hostileCases,
  requirements,
  standards,
  type Table,
  threats,
} from './support/reference-data.ts'
import { nameOfSection } from './support/standards-document.ts'
import { attackers } from './support/threats-document.ts'

const root = join(import.meta.dirname, '..')
const self = 'test/reference.test.ts'
const annotations = readAnnotations().filter(({ file }) => file !== self)
const annotated = new Set(annotations.map(({ row }) => row))

const sections = standards.flatMap((standard) =>
  standard.sections.map((section) => ({ ...section, name: nameOfSection(standard, section) })),
)
const tabulated = caseTables.flatMap(({ cases }) => cases)
const rowNames = [
  ...sections.map(({ name }) => name),
  ...namesOf(requirements, ({ title }) => `${title} `),
  ...namesOf(hostileCases, () => ''),
  ...namesOf(attackClasses, () => 'class '),
  ...namesOf(threats, () => 'threat '),
]

describe('docs/reference', () => {
  const pages = renderReference()

  for (const { path, text } of pages) {
    it(`has ${path} as it is generated`, () => {
      expect(readFileSync(join(root, path), 'utf8'), 'run npm run docs').to.equal(text)
    })
  }

  it('has no other page', () => {
    const files = globSync('docs/reference/**', { cwd: root, withFileTypes: true })
    const names = files.filter((file) => file.isFile()).map(({ name }) => `docs/reference/${name}`)
    expect(names).to.have.members(pages.map(({ path }) => path))
  })
})

describe('rows of the reference', () => {
  it('have a test that names them, or the reason why none does', () => {
    const reasoned = sections.filter(
      ({ why, pending }) => why !== undefined || pending !== undefined,
    )
    const excused = new Set(reasoned.map(({ name }) => name))
    const gaps = rowNames.filter((row) => !annotated.has(row) && !excused.has(row))
    expect(rowNames).to.have.length.greaterThan(600)
    expect(gaps).to.deep.equal([])
  })

  it('are in the tables for every annotation', () => {
    const rows = new Set([...rowNames, ...tabulated.map(({ number }) => String(number))])
    const unknown = annotations.filter(({ row }) => !rows.has(row))
    expect(unknown.map(({ file, row }) => `${file}: ${row}`)).to.deep.equal([])
  })

  it('have names of their own', () => {
    const names = [...rowNames, ...tabulated.map(({ number }) => String(number))]
    expect(names).to.deep.equal([...new Set(names)])
  })

  it('of standards have a reason only without a test, one at most, and notes only with a test', () => {
    const strange = sections.filter(
      ({ name, why, pending, note }) =>
        (why !== undefined && (annotated.has(name) || pending !== undefined)) ||
        (why !== undefined && note !== undefined),
    )
    expect(strange.map(({ name }) => name)).to.deep.equal([])
  })

  it('of requirements name files that exist', () => {
    const files = requirements.flatMap(({ rows }) => rows.map((row) => row.at(-1) ?? ''))
    expect(files.filter((file) => !existsSync(join(root, file)))).to.deep.equal([])
  })

  it('of threats name a kind of STRIDE and attackers of the list, and cover all six kinds', () => {
    const rows = threats.flatMap((table) => table.rows)
    const strange = rows.filter(
      ([, threat = '', by = '', defence]) =>
        !/^[STRIDE]: /.test(threat) ||
        defence === undefined ||
        !by.split(' ').every((letter) => letter === '–' || letter in attackers),
    )
    expect(strange).to.deep.equal([])
    expect(new Set(rows.map(([, threat = '']) => threat[0])).size).to.equal(6)
  })

  it('of hostile cases have at least 250 cases in tables, each with an attack of its own', () => {
    expect(tabulated).to.have.length.greaterThan(250)
    expect(new Set(tabulated.map(({ attack }) => attack)).size).to.equal(tabulated.length)
  })

  it('have every section of RFC 9700 that is more than a heading', () => {
    const present = standards.find(({ name }) => name === 'RFC 9700')?.sections ?? []
    expect(present.map(({ section }) => section)).to.deep.equal(sectionsOfRfc9700)
  })
})

describe('annotations of tests', () => {
  it('stand in the title of a test, or in a comment directly above it', () => {
    const files = [...readTestFiles()].filter(([file]) => file !== self)
    const lost = files.filter(([file, text]) => {
      const read = new Set(annotationsOf(file, text).map(({ row }) => row))
      return !namedRowsIn(joinLines(text)).every((row) => read.has(row))
    })
    expect(lost.map(([file]) => file)).to.deep.equal([])
  })

  it('are found in both places, several at once, across lines, and in ranges', () => {
    const text = [
      '  // Beside [RFC 6749 §5.2; Token 2] other words, and [RFC 9700',
      '  // §2.1; class leak].',
      "  it('does [1, 3-7] what it says', () => {})",
      '  // [RFC 6749 §6]',
      '',
      "  describe('stands apart from its comment', () => {})",
    ].join('\n')
    expect(annotationsOf('a file', text).map(({ row }) => row)).to.deep.equal([
      'RFC 6749 §5.2',
      'Token 2.1',
      'Token 2.2',
      'Token 2.3',
      'RFC 9700 §2.1',
      'class leak',
      '1',
      '3',
      '5',
      '7',
    ])
  })
})

function namesOf(tables: readonly Table[], prefix: (table: Table) => string): string[] {
  return tables.flatMap((table) => table.rows.map(([row]) => `${prefix(table)}${row}`))
}

/** Its table of contents below the introduction, without headings that only hold others. */
const sectionsOfRfc9700 = [
  ...['2.1', '2.1.1', '2.1.2', '2.2.1', '2.2.2', '2.3', '2.4', '2.5', '2.6', '3'],
  ...['4.1.1', '4.1.2', '4.1.3', '4.2.1', '4.2.2', '4.2.3', '4.2.4', '4.3.1', '4.3.2'],
  ...['4.4.1', '4.4.2', '4.4.2.1', '4.4.2.2', '4.5.1', '4.5.2', '4.5.3.1', '4.5.3.2', '4.5.3.3'],
  ...['4.5.4', '4.6.1', '4.7.1', '4.8.1', '4.8.2', '4.9.1', '4.9.2', '4.9.3', '4.10.1', '4.10.2'],
  ...['4.10.3', '4.11.1', '4.11.2', '4.12', '4.13', '4.14.1', '4.14.2', '4.15.1', '4.16'],
  ...['4.17.1', '4.17.2'],
]
