import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { requirements, standards } from './support/reference-data.ts'

/**
 * What comments, titles and documents refer to is there: the requirements of the specification, the
 * decisions of the design, the hostile cases, and the files and tests that those pages name.
 */
const root = join(import.meta.dirname, '..')
const self = 'test/references.test.ts'
const code = globSync('{src,views,test,bench}/**/*.{ts,sql,graphql}', { cwd: root }).filter(
  (file) => file !== self,
)
const documents = globSync(['README.md', 'CONTRIBUTING.md', 'docs/**/*.md'], { cwd: root })

const requirementNumbers = requirements.flatMap(({ title, rows }) =>
  rows.map(([number]) => `${title} ${number}`),
)
const specificationHeadings = requirements.map(({ title }) => title)
const designHeadings = headingsOf('docs/design.md')

describe('references', () => {
  it('to a decision of the design name a heading of docs/design.md', () => {
    const decided = new Set(designHeadings.map((heading) => /^\d+/.exec(heading)?.[0]))
    const cited = citations(/\bdesign(?: decisions?)? (\d+(?:(?:,| and| to) \d+)*)/gi)
    expect(cited).to.have.length.greaterThan(50)
    expect(unknown(cited, (number) => decided.has(number))).to.deep.equal([])
  })

  it('to a section of the design name a heading of docs/design.md', () => {
    const cited = citations(/\(design, ([^)]+)\)/g)
    const broken = cited.filter(({ what }) => !designHeadings.includes(what))
    expect(broken).to.deep.equal([])
  })

  it('to the specification name a heading of the requirements', () => {
    const cited = citations(/\b[Ss]pecification(?:,| \() ?([A-Z][^);.]*)/g)
    const broken = cited.filter(
      ({ what }) =>
        !specificationHeadings.some((heading) => new RegExp(`^${heading}( \\d|$)`).test(what)),
    )
    expect(cited).to.have.length.greaterThan(20)
    expect(broken).to.deep.equal([])
  })

  it('to a rule of the specification name a requirement', () => {
    const names = specificationHeadings.join('|')
    const rule = new RegExp(
      `(?<![\\w/] ?)((?:${names}) \\d{1,2}(?!\\d)(?:\\.\\d+)?(?:(?:,| and| to) \\d+)*)`,
      'g',
    )
    const cited = citations(rule).flatMap(({ where, what }) => {
      const [, heading = '', numbers = ''] = /^(.*?) (\d.*)$/.exec(what) ?? []
      return numbersIn(numbers).map((number) => ({ where, what: `${heading} ${number}` }))
    })
    const broken = cited.filter(({ what }) => !isRequirement(what))
    expect(cited).to.have.length.greaterThan(40)
    expect(broken).to.deep.equal([])
  })

  it('to a decision name a document of docs/decisions', () => {
    const written = globSync('docs/decisions/*.md', { cwd: root }).map((file) =>
      String(Number(/(\d{4})-/.exec(file)?.[1])),
    )
    const cited = citations(/(?<!design )\bdecision (\d+)/gi)
    expect(unknown(cited, (number) => written.includes(number))).to.deep.equal([])
  })

  it('in brackets in the title of a test are a hostile case, a rule, a decision or a standard', () => {
    const known = [
      /^\d+(-\d+)?(, \d+(-\d+)?)*$/,
      /^design \d/,
      /^\d{4}-\d{2}-\d{2}$/,
      ...standards.map(({ name }) => new RegExp(`^${name} §`)),
      ...specificationHeadings.map((heading) => new RegExp(`^${heading} \\d`)),
    ]
    const strange = titles().flatMap(({ file, title }) =>
      [...title.matchAll(/\[([^\]]*)\]/g)]
        .flatMap(([, inside = '']) => inside.split('; '))
        .filter((what) => what !== '')
        .filter((what) => !known.some((form) => form.test(what)))
        .map((what) => `${file}: ${what}`),
    )
    expect(strange).to.deep.equal([])
  })

  it('to documents and files of this repository name what is there', () => {
    const named =
      /(?<![\w./-])(?:docs|src|views|test|bench|config)\/[\w./-]*\w\.(?:md|ts|sql|json|graphql|env)\b/g
    const broken = [...code, ...documents].flatMap((file) =>
      [...read(file).matchAll(named)]
        .filter(([path]) => !existsSync(join(root, path)))
        .map(([path]) => `${file}: ${path}`),
    )
    expect(broken).to.deep.equal([])
  })
})

describe('docs/recipes.md', () => {
  it('quotes titles that a test has', () => {
    const quoted = [...flowing(read('docs/recipes.md')).matchAll(/"([^"]+)"/g)]
    const tests = code.filter((file) => file.endsWith('.test.ts'))
    const broken = quoted.filter(([, title = '']) => !tests.some((file) => hasTitle(file, title)))
    expect(quoted).to.have.length.greaterThan(3)
    expect(broken.map(([, title]) => title)).to.deep.equal([])
  })
})

interface Citation {
  readonly where: string
  readonly what: string
}

/** The first group of every match, in comments and titles across the ends of lines. */
function citations(form: RegExp): Citation[] {
  return [...code, ...documents].flatMap((file) =>
    [...flowing(read(file)).matchAll(form)].map(([, what = '']) => ({ where: file, what })),
  )
}

/** The text of a file as one line, without the marks that begin the lines of a comment. */
function flowing(text: string): string {
  return text.replaceAll(/\n\s*(?:\*(?!\/)|\/\/|--)?\s*/g, ' ')
}

function unknown(cited: readonly Citation[], isKnown: (number: string) => boolean): Citation[] {
  return cited.filter(({ what }) => !numbersIn(what).every(isKnown))
}

/** "10", "12 and 15", "4 to 7", "55-61": each end of a range counts. */
function numbersIn(text: string): string[] {
  return text.match(/\d+(?:\.\d+)?/g) ?? []
}

/** A rule of several sentences has a row for each of them, and is named as a whole. */
function isRequirement(number: string): boolean {
  return requirementNumbers.some((row) => row === number || row.startsWith(`${number}.`))
}

function titles(): { readonly file: string; readonly title: string }[] {
  const call = /\b(?:it|describe)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs
  return code
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file) =>
      [...read(file).matchAll(call)].map(([, , title = '']) => ({ file, title: plain(title) })),
    )
}

/** A title without what is put into it. */
function plain(title: string): string {
  return title.replaceAll(/\$\{[^}]*\}/g, '')
}

/** Whether a text of the test file has these words: a title, or the part of one that is in a table. */
function hasTitle(file: string, words: string): boolean {
  if (!existsSync(join(root, file))) return false
  const texts = read(file).matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g)
  return [...texts].some(([, , text = '']) => text.includes(words))
}

function headingsOf(page: string): string[] {
  return [...read(page).matchAll(/^#{2,3} (.+)$/gm)].map(([, heading = '']) => heading)
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
