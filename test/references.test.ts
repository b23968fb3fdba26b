import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { standards } from './support/standards-document.ts'

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

const requirements = rowsOf('docs/requirements.md')
const requirementNumbers = new Set(requirements.map(([number]) => number ?? ''))
const cases = rowsOf('docs/hostile-cases.md')
const caseNumbers = new Set(cases.map(([number]) => number ?? ''))
const specificationHeadings = headingsOf('docs/requirements.md')
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

  it('to the specification name a heading of docs/requirements.md', () => {
    const cited = citations(/\b[Ss]pecification(?:,| \() ?([A-Z][^);.]*)/g)
    const broken = cited.filter(
      ({ what }) =>
        !specificationHeadings.some((heading) => new RegExp(`^${heading}( \\d|$)`).test(what)),
    )
    expect(cited).to.have.length.greaterThan(20)
    expect(broken).to.deep.equal([])
  })

  it('to a rule of the specification name a row of docs/requirements.md', () => {
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

  it('to a hostile case, or a class of them, name a row of docs/hostile-cases.md', () => {
    const broken = titles().flatMap(({ file, title }) => {
      const numbers = [...title.matchAll(/\[(\d[\d, -]*)\]/g)]
        .map(([, inside = '']) => inside)
        .filter((inside) => !/^\d{4}-/.test(inside))
        .flatMap(numbersIn)
      const classes = [...title.matchAll(/\bclass ([\w -]+)/g)].map(([, name = '']) => name)
      return [...numbers, ...classes]
        .filter((row) => !caseNumbers.has(row))
        .map((row) => `${file}: ${row}`)
    })
    expect(broken).to.deep.equal([])
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

for (const [page, rows] of [
  ['docs/requirements.md', requirements],
  ['docs/hostile-cases.md', cases],
] as const) {
  describe(page, () => {
    it('gives each row a number of its own', () => {
      const numbers = rows.map(([number]) => number)
      expect(numbers).to.have.length.greaterThan(60)
      expect(numbers).to.deep.equal([...new Set(numbers)])
    })

    it('names for each row a test that has that title', () => {
      const broken = rows.flatMap((cells) => {
        const named = [...(cells.at(-1) ?? '').matchAll(/`(test\/[^`]+)` "([^"]+)"/g)]
        if (named.map(([whole]) => whole).join('; ') !== cells.at(-1)) return [cells.join(' | ')]
        return named
          .filter(([, file = '', title = '']) => !hasTitle(file, title))
          .map(([whole]) => `${cells[0]}: ${whole}`)
      })
      expect(broken).to.deep.equal([])
    })
  })
}

describe('docs/requirements.md', () => {
  it('numbers each row by the heading that it stands under', () => {
    const headings = [...specificationHeadings, 'Not shown']
    const strange = [...requirementNumbers].filter(
      (number) => !headings.includes(number.replace(/ [\d.]+$/, '')),
    )
    expect(strange).to.deep.equal([])
  })

  it('names for each row a file that holds it', () => {
    const broken = requirements
      .map((cells) => [cells[0], /^`([^`]+)`$/.exec(cells.at(-2) ?? '')?.[1]])
      .filter(([, file]) => file === undefined || !existsSync(join(root, file)))
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
  return [...requirementNumbers].some((row) => row === number || row.startsWith(`${number}.`))
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

/** The cells of every row of the tables of a page, headers left out. */
function rowsOf(page: string): string[][] {
  return [...read(page).matchAll(/^\| (.+) \|$/gm)]
    .map(([, cells = '']) => cells.split(' | '))
    .filter(
      ([first = '']) =>
        !/^(number|case|class|origin|answer|---)$/.test(first) && !first.startsWith('`'),
    )
}

function headingsOf(page: string): string[] {
  return [...read(page).matchAll(/^#{2,3} (.+)$/gm)].map(([, heading = '']) => heading)
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}
