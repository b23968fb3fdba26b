import { readFileSync } from 'node:fs'

import { expect } from 'chai'

import {
  annotationsOf,
  citationsIn,
  flowing,
  gaps,
  nameOfSection,
  readTestFiles,
  renderStandards,
  standards,
  standardsDocument,
} from './support/standards-document.ts'

const self = 'test/standards.test.ts'
const files = [...readTestFiles()].filter(([file]) => file !== self)
const annotations = files.flatMap(([file, text]) => annotationsOf(file, text))
const known = standards.flatMap((standard) =>
  standard.sections.map((section) => ({ ...section, name: nameOfSection(standard, section) })),
)

describe('docs/standards.md', () => {
  it('is what the annotations of the tests and the table of standards say', () => {
    const advice = 'run node test/support/standards-document.ts'
    expect(readFileSync(standardsDocument, 'utf8'), advice).to.equal(renderStandards(annotations))
  })

  it('has no section with neither a test nor a reason', () => {
    expect(gaps(annotations)).to.deep.equal([])
  })

  it('has every section once', () => {
    const sections = known.map(({ name }) => name)
    expect(sections).to.have.length.greaterThan(200)
    expect(sections).to.deep.equal([...new Set(sections)])
  })

  it('gives no reason why there is no test where there is one', () => {
    const shown = new Set(annotations.map(({ section }) => section))
    const superfluous = known.filter(({ name, why }) => why !== undefined && shown.has(name))
    expect(superfluous.map(({ name }) => name)).to.deep.equal([])
  })

  it('gives one kind of answer for a section, and notes beside tests only', () => {
    const strange = known.filter(
      ({ why, pending, note }) =>
        [why, pending].filter((reason) => reason !== undefined).length > 1 ||
        (why !== undefined && note !== undefined),
    )
    expect(strange.map(({ name }) => name)).to.deep.equal([])
  })
})

describe('annotations of tests', () => {
  it('name sections that the table has', () => {
    const sections = new Set(known.map(({ name }) => name))
    const unknown = annotations
      .filter(({ section }) => !sections.has(section))
      .map(({ file, section }) => `${file}: ${section}`)
    expect(annotations).to.have.length.greaterThan(200)
    expect(unknown).to.deep.equal([])
  })

  it('stand in the title of a test, or in a comment directly above it', () => {
    const lost = files
      .filter(
        ([file, text]) => citationsIn(flowing(text)).length !== annotationsOf(file, text).length,
      )
      .map(([file]) => file)
    expect(lost).to.deep.equal([])
  })

  it('are found in both places, several at once and across lines', () => {
    const text = [
      '  // Beside [RFC 6749 §5.2; RFC 7009 §2.1] other words, and [RFC 9700',
      '  // §2.1].',
      "  it('does [RFC 8707 §2] what it says', () => {})",
      '  // [RFC 6749 §6]',
      '',
      "  describe('stands apart from its comment', () => {})",
    ].join('\n')
    expect(annotationsOf('a file', text).map(({ section }) => section)).to.deep.equal([
      'RFC 6749 §5.2',
      'RFC 7009 §2.1',
      'RFC 9700 §2.1',
      'RFC 8707 §2',
    ])
  })
})
