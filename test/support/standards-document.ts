import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * docs/standards.md: every section that asks something of a service like this one, from the table in
 * test/data/standards.json, with the tests that name the section.
 * `node test/support/standards-document.ts` writes it again.
 */
export const standardsDocument: string = join(import.meta.dirname, '../../docs/standards.md')

const root = join(import.meta.dirname, '../..')

export interface Section {
  /** As the standard numbers it, or its heading where it has no numbers. */
  readonly section: string
  /** What it asks of this service, in our words. */
  readonly asks: string
  /** Why no test shows it: nothing asks it of this service, or it is not done. */
  readonly why?: string
  /** The same for what is being built or off by default: it goes as soon as a test names the section. */
  readonly pending?: string
  /** What a reader should know beside the tests. */
  readonly note?: string
}

export interface Standard {
  readonly name: string
  readonly title: string
  readonly address: string
  readonly about?: string
  readonly sections: readonly Section[]
}

export const standards: readonly Standard[] = JSON.parse(
  readFileSync(join(root, 'test/data/standards.json'), 'utf8'),
)

/** A test that names a section in brackets, in its title or in the comment directly above it. */
export interface Annotation {
  readonly file: string
  readonly title: string
  /** "RFC 6749 §5.2" */
  readonly section: string
}

const names = standards.map(({ name }) => name).join('|')
const ofStandard = new RegExp(`^(?:${names})(?: |$)`)
const inBrackets = new RegExp(`\\[((?:${names})(?: [^\\]]*)?)\\]`, 'g')
const test =
  /((?:^[ \t]*\/\/[^\n]*\n)*)^[ \t]*(?:it|describe)(?:\.\w+)?\(\s*(?:(['"`])((?:\\.|(?!\2).)*)\2|(\w+)\s*,)/gms

/** Every test file with its text, by its path from the root. */
export function readTestFiles(): ReadonlyMap<string, string> {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

/** The annotations of a test file, in the order of its tests. */
export function annotationsOf(file: string, text: string): Annotation[] {
  return [...text.matchAll(test)].flatMap(([, comment = '', , literal, variable]) => {
    const title = (literal ?? `(${variable})`).replaceAll(/\\(.)/g, '$1')
    return citationsIn(`${flowing(comment)} ${title}`).map((section) => ({ file, title, section }))
  })
}

/** What stands in brackets in a text and begins with the name of a standard of the table. */
export function citationsIn(text: string): string[] {
  return [...text.matchAll(inBrackets)]
    .flatMap(([, inside = '']) => inside.split('; '))
    .filter((what) => ofStandard.test(what))
}

/** A comment of several lines as one, so that a bracket may go on in the next. */
export function flowing(text: string): string {
  return text.replaceAll(/\s*\n\s*\/\/\s*/g, ' ')
}

/** The name that an annotation uses for a section. */
export function nameOfSection(standard: Standard, { section }: Section): string {
  return `${standard.name} §${section}`
}

/** The sections of which neither a test nor a reason is known. */
export function gaps(annotations: readonly Annotation[]): string[] {
  const shown = new Set(annotations.map(({ section }) => section))
  return standards.flatMap((standard) =>
    standard.sections
      .filter(({ why, pending }) => why === undefined && pending === undefined)
      .map((section) => nameOfSection(standard, section))
      .filter((name) => !shown.has(name)),
  )
}

const introduction = `What the standards ask of an authorization server and a resource server like this one, section by section in our
words, with the tests that show it or the reason why none does. \`node test/support/standards-document.ts\` writes this
page from [test/data/standards.json](../test/data/standards.json) and from the tests, which name sections in
brackets ([recipes](recipes.md#show-a-section-of-a-standard)); \`test/standards.test.ts\` holds it.
Sections that ask something of clients only, definitions, examples and registries are left out. Which suites were run
as a whole is in [conformance](conformance.md).`

/** The whole page. */
export function renderStandards(annotations: readonly Annotation[]): string {
  const missing = gaps(annotations)
  const parts = [
    '# Standards',
    introduction,
    renderOverview(annotations),
    '## Gaps',
    missing.length === 0
      ? 'Every section below has a test or a reason.'
      : missing.map((name) => `- ${name}`).join('\n'),
    ...standards.map((standard) => renderStandard(standard, annotations)),
  ]
  return `${parts.join('\n\n')}\n`
}

function renderOverview(annotations: readonly Annotation[]): string {
  const rows = standards.map((standard) => {
    const shown = standard.sections.filter(
      (section) => testsOf(standard, section, annotations).length > 0,
    )
    const { name, title, sections } = standard
    return `| [${name}](#${anchorOf(standard)}) | ${title} | ${shown.length} | ${sections.length - shown.length} |`
  })
  return [
    '| standard | title | shown by tests | with a reason |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function anchorOf({ name }: Standard): string {
  return name.toLowerCase().replaceAll(' ', '-')
}

function renderStandard(standard: Standard, annotations: readonly Annotation[]): string {
  return [
    `## ${standard.name}`,
    `[${standard.title}](${standard.address}).${standard.about === undefined ? '' : ` ${standard.about}`}`,
    renderSections(standard, annotations),
  ].join('\n\n')
}

/** The table of a standard: each section with its tests or its reason. */
export function renderSections(standard: Standard, annotations: readonly Annotation[]): string {
  const rows = standard.sections.map((section) => {
    const cells = [
      `§${section.section}`,
      section.asks,
      renderAnswer(section, testsOf(standard, section, annotations)),
    ]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return ['| section | what it asks | shown by |', '| --- | --- | --- |', ...rows].join('\n')
}

function renderAnswer({ why, pending, note }: Section, tests: readonly Annotation[]): string {
  const shown = tests.map(({ file, title }) => `\`${file}\` "${title}"`).join('; ')
  if (shown === '') return `*${why ?? pending ?? 'gap'}*`
  return note === undefined ? shown : `${shown}. ${note}`
}

function testsOf(
  standard: Standard,
  section: Section,
  annotations: readonly Annotation[],
): Annotation[] {
  const name = nameOfSection(standard, section)
  return annotations.filter((annotation) => annotation.section === name)
}

if (import.meta.main) {
  const annotations = [...readTestFiles()].flatMap(([file, text]) => annotationsOf(file, text))
  writeFileSync(standardsDocument, renderStandards(annotations))
}
