import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

import { environmentVariables } from '../src/config/environment.ts'
import { attackers, nameOfSection } from '../tools/docs/data-documents.ts'
import { renderAsyncApi } from '../tools/docs/events-document.ts'
import { caseTables } from '../tools/docs/hostile-document.ts'
import { referenceTables, renewReference } from '../tools/docs/reference.ts'
import { explainedPaths, renderExampleEnv, settingPaths } from '../tools/docs/settings-document.ts'
import {
  annotationsOf,
  joinLines,
  namedRowsIn,
  readAnnotations,
  readTestFiles,
} from './support/annotations.ts'
import { anchorOf, tablesIn } from './support/markdown.ts'
import {
  attackClasses,
  hostileCases,
  requirements,
  standards,
  type Table,
  threats,
} from './support/reference-data.ts'

// Comments, titles and documents must refer to existing requirements, decisions, hostile cases, files and tests.
const root = join(import.meta.dirname, '..')
const self = 'test/references.test.ts'
const everything = globSync('{src,views,test,bench}/**/*.{ts,sql,graphql}', { cwd: root })
const code = everything.filter((file) => file !== self)
const documents = globSync('**/*.md', { cwd: root, exclude: ['node_modules/**'] })

const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const numbersIn = (text: string): string[] => text.match(/\d+(?:\.\d+)?/g) ?? []
const flowing = (text: string): string => text.replaceAll(/\n\s*(?:\*(?!\/)|\/\/|--)?\s*/g, ' ')
const requirementNumbers = namesOf(requirements, ({ title }) => `${title} `)
const anyRequirement = requirements.map(({ title }) => title).join('|')
const designHeadings = Array.from(read('docs/design.md').match(/(?<=^#{2,3} ).+$/gm) ?? [], String)

const annotations = readAnnotations().filter(({ file }) => file !== self)
const annotated = new Set(annotations.map(({ row }) => row))

const tests = code.filter((file) => file.endsWith('.test.ts'))

const sections = standards.flatMap((standard) =>
  standard.sections.map((section) => ({ ...section, name: nameOfSection(standard, section) })),
)
const tabulated = caseTables.flatMap(({ cases }) => cases)
const rowNames = [
  ...sections.map(({ name }) => name),
  ...requirementNumbers,
  ...namesOf(hostileCases, () => ''),
  ...namesOf(attackClasses, () => 'class '),
  ...namesOf(threats, () => 'threat '),
]

describe('references', () => {
  it('to a decision of the design name a heading of docs/design.md', () => {
    const decided = new Set(designHeadings.map((heading) => /^\d+/.exec(heading)?.[0]))
    const cited = citations(/\bdesign(?: decisions?)? (\d+(?:(?:,| and| to) \d+)*)/gi)
    expect(cited).to.have.length.greaterThan(50)
    const isKnown = (what: string) => numbersIn(what).every((number) => decided.has(number))
    expect(cited.filter(({ what }) => !isKnown(what))).to.deep.equal([])
  })

  it('to a section of the design name a heading of docs/design.md', () => {
    const cited = citations(/\(design, ([^)]+)\)/g)
    expect(cited.filter(({ what }) => !designHeadings.includes(what))).to.deep.equal([])
  })

  it('to the specification name a heading of the requirements', () => {
    const cited = citations(/\b[Ss]pecification(?:,| \() ?([A-Z][^);.]*)/g)
    const known = new RegExp(`^(${anyRequirement})( \\d|$)`)
    expect(cited).to.have.length.greaterThan(20)
    expect(cited.filter(({ what }) => !known.test(what))).to.deep.equal([])
  })

  it('to a rule of the specification name a requirement', () => {
    const numbers = String.raw`\d{1,2}(?!\d)(?:\.\d+)?(?:(?:,| and| to) \d+)*`
    const rule = new RegExp(String.raw`(?<![\w/] ?)((?:${anyRequirement}) ${numbers})`, 'g')
    const cited = citations(rule).flatMap(({ where, what }) => {
      const [heading] = what.split(/ (?=\d)/)
      return numbersIn(what).map((number) => ({ where, what: `${heading} ${number}` }))
    })
    expect(cited).to.have.length.greaterThan(40)
    // The number of a rule stands for all its rows.
    const isKnown = (number: string) =>
      requirementNumbers.some((row) => row === number || row.startsWith(`${number}.`))
    expect(cited.filter(({ what }) => !isKnown(what))).to.deep.equal([])
  })

  it('to a decision name a document of docs/decisions', () => {
    const files = globSync('*.md', { cwd: join(root, 'docs/decisions') })
    const written = files.map((file) => String(Number.parseInt(file, 10)))
    const cited = citations(/(?<!design )\bdecision (\d+)/gi)
    expect(cited.filter(({ what }) => !written.includes(what))).to.deep.equal([])
  })

  it('in brackets of a title are a hostile case, a rule, a decision or a standard', () => {
    const names = standards.map(({ name }) => name).join('|')
    const known = new RegExp(
      String.raw`^(\d+(-\d+)?(, \d+(-\d+)?)*$|(design|${anyRequirement}) \d|\d{4}-\d{2}-\d{2}$|(${names}) §|$)`,
    )
    const call = /\b(?:it|describe)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs
    const strange = tests.flatMap((file) =>
      [...read(file).matchAll(call)]
        .map(([, , title = '']) => title.replaceAll(/\$\{[^}]*\}/g, ''))
        .flatMap((title) => [...title.matchAll(/\[([^\]]*)\]/g)])
        .flatMap(([, inside = '']) => inside.split('; '))
        .filter((what) => !known.test(what))
        .map((what) => `${file}: ${what}`),
    )
    expect(strange).to.deep.equal([])
  })

  it('to documents, files and folders of the glossary name existing ones', () => {
    const named =
      /(?<![\w./-])((?:docs|src|views|test|bench|config)\/[\w./-]*\w\.(?:md|ts|sql|json|graphql|env))\b/g
    const [, glossary = ''] = /^## Glossary\n([\s\S]*)/m.exec(read('docs/architecture.md')) ?? []
    const folders = glossary.match(/(?<=`)(?:src|views|config|test|docs)[\w./-]*(?=`)/g) ?? []
    expect(folders).to.have.length.above(0)
    expect(folders.filter((folder) => !existsSync(join(root, folder)))).to.deep.equal([])
    const broken = citations(named).filter(({ what }) => !existsSync(join(root, what)))
    expect(broken).to.deep.equal([])
  })
})

describe('documents', () => {
  it('quote titles of tests in docs/recipes.md', () => {
    const quoted = [...flowing(read('docs/recipes.md')).matchAll(/"([^"]+)"/g)]
    const texts = tests.flatMap((one) => read(one).match(/(['"`])(?:\\.|(?!\1)[^\\\n])*\1/g) ?? [])
    const broken = quoted.filter(([, title = '']) => !texts.some((text) => text.includes(title)))
    expect(quoted).to.have.length.greaterThan(3)
    expect(broken.map(([, title]) => title)).to.deep.equal([])
  })

  it('link to existing files and headings', () => {
    const broken = documents.flatMap((file) =>
      [...read(file).matchAll(/\]\((?![a-z]+:|<)([^)\s#]*)(?:#([^)\s]*))?\)/g)]
        .filter(([, path = '', anchor]) => {
          const target = join(dirname(file), path || basename(file))
          if (!existsSync(join(root, target))) return true
          return anchor !== undefined && !anchorsOf(target).includes(anchor)
        })
        .map(([whole]) => `${file}: ${whole}`),
    )
    expect(broken).to.deep.equal([])
  })
})

it('docs/reference has each generated table once, and its README names every page', () => {
  const tables = referenceTables()
  const pages = renewReference(tables)
  for (const { path, text } of pages) expect(read(path), `${path}: run npm run docs`).to.equal(text)
  const shown = pages.flatMap(({ text }) => tablesIn(text))
  expect(shown.toSorted()).to.deep.equal(Object.keys(tables).toSorted())
  const files = globSync('docs/reference/**', { cwd: root, withFileTypes: true })
  const names = files.filter((file) => file.isFile()).map(({ name }) => name)
  const listed = read('docs/reference/README.md').match(/(?<=\]\().*(?=\))/g) ?? []
  expect(names).to.have.members(['README.md', ...listed])
})

it('docs/reference/asyncapi.json describes every type of event', () => {
  expect(read('docs/reference/asyncapi.json'), 'run npm run docs').to.equal(renderAsyncApi())
})

it('config/example.env lists every variable with its default', () => {
  expect(read('config/example.env'), 'run npm run docs').to.equal(renderExampleEnv())
  for (const name of Object.keys(environmentVariables.shape))
    expect(renderExampleEnv()).to.include(`# ${name}=`)
})

describe('rows of the reference', () => {
  it('have a test, or a reason without one', () => {
    const excused = sections.filter(({ why }) => why !== undefined).map(({ name }) => name)
    const gaps = rowNames.filter((row) => !annotated.has(row) && !excused.includes(row))
    expect(rowNames).to.have.length.greaterThan(600)
    expect(gaps).to.deep.equal([])
  })

  it('have unique names, and exist for every annotation', () => {
    const names = [...rowNames, ...tabulated.map(({ number }) => String(number))]
    const rows = new Set(names)
    expect(names).to.deep.equal([...rows])
    const unknown = annotations.filter(({ row }) => !rows.has(row))
    expect(unknown.map(({ file, row }) => `${file}: ${row}`)).to.deep.equal([])
  })

  it('of standards have a reason only without a test, and notes only with a test', () => {
    const strange = sections.filter(
      ({ name, why, note }) => why !== undefined && (annotated.has(name) || note !== undefined),
    )
    expect(strange.map(({ name }) => name)).to.deep.equal([])
  })

  it('of settings explain every field of config/service.json', () => {
    expect(explainedPaths()).to.have.members(settingPaths())
    expect(new Set(explainedPaths()).size).to.equal(explainedPaths().length)
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

  it('of hostile cases are more than 250 in tables, with distinct attacks', () => {
    expect(tabulated).to.have.length.greaterThan(250)
    expect(new Set(tabulated.map(({ attack }) => attack)).size).to.equal(tabulated.length)
  })

  it('include all sections of RFC 9700 that have text, without the introduction', () => {
    const withText =
      '2.1 2.1.1 2.1.2 2.2.1 2.2.2 2.3 2.4 2.5 2.6 3 4.1.1 4.1.2 4.1.3 4.2.1 4.2.2 4.2.3 4.2.4 4.3.1 4.3.2 4.4.1 4.4.2 4.4.2.1 4.4.2.2 4.5.1 4.5.2 4.5.3.1 4.5.3.2 4.5.3.3 4.5.4 4.6.1 4.7.1 4.8.1 4.8.2 4.9.1 4.9.2 4.9.3 4.10.1 4.10.2 4.10.3 4.11.1 4.11.2 4.12 4.13 4.14.1 4.14.2 4.15.1 4.16 4.17.1 4.17.2'
    const present = standards.find(({ name }) => name === 'RFC 9700')?.sections ?? []
    expect(present.map(({ section }) => section).join(' ')).to.equal(withText)
  })
})

it('annotations of tests are in the title of a test, or in a comment directly above it', () => {
  const files = [...readTestFiles()].filter(([file]) => file !== self)
  const lost = files.filter(([file, text]) => {
    const read = new Set(annotationsOf(file, text).map(({ row }) => row))
    return !namedRowsIn(joinLines(text)).every((row) => read.has(row))
  })
  expect(lost.map(([file]) => file)).to.deep.equal([])
})

function citations(form: RegExp) {
  return [...code, ...documents].flatMap((file) =>
    [...flowing(read(file)).matchAll(form)].map(([, what = '']) => ({ where: file, what })),
  )
}

function namesOf(tables: readonly Table[], prefix: (table: Table) => string): string[] {
  return tables.flatMap((table) => table.rows.map(([row]) => `${prefix(table)}${row}`))
}

function anchorsOf(file: string): string[] {
  const lines = read(file).replaceAll(/^```[\s\S]*?^```$/gm, '')
  return (lines.match(/(?<=^#+ ).+$/gm) ?? []).map(anchorOf)
}
