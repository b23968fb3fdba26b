import { type Annotation, renderTests } from './annotations.ts'
import { renderTable } from './markdown.ts'
import { type Section, type Standard, standards } from './reference-data.ts'

const introduction = `Sections of the standards that apply to this service, in our words, with the tests that show each or the reason why
no test does. To find the test, search the file for the section. Sections that apply to clients only, definitions,
examples and registries are left out. [Conformance](../conformance.md) lists the test suites of others that were run.`

/** docs/reference/standards.md, from test/data/standards.txt and the annotations of the tests. */
export function renderStandards(annotations: readonly Annotation[]): string {
  return [
    introduction,
    renderOverview(annotations),
    ...standards.map((standard) => renderStandard(standard, annotations)),
  ].join('\n\n')
}

/** The name that an annotation uses for a section. */
export function nameOfSection(standard: Standard, { section }: Section): string {
  return `${standard.name} §${section}`
}

function renderOverview(annotations: readonly Annotation[]): string {
  const shown = new Set(annotations.map(({ row }) => row))
  const rows = standards.map((standard) => {
    const { name, title, sections } = standard
    const tested = sections.filter((section) => shown.has(nameOfSection(standard, section)))
    const anchor = name.toLowerCase().replaceAll(' ', '-')
    return [`[${name}](#${anchor})`, title, tested.length, sections.length - tested.length]
  })
  return renderTable(['standard', 'title', 'sections with tests', 'with a reason'], rows)
}

function renderStandard(standard: Standard, annotations: readonly Annotation[]): string {
  const { name, title, address, about, sections } = standard
  const rows = sections.map((section) => {
    const tests = renderTests(nameOfSection(standard, section), annotations)
    return [`§${section.section}`, section.asks, renderAnswer(section, tests)]
  })
  return [
    `## ${name}`,
    `[${title}](${address}). ${about}`.trim(),
    renderTable(['section', 'requirement', 'tests'], rows),
  ].join('\n\n')
}

function renderAnswer({ why, note }: Section, tests: string): string {
  if (tests === '') return `*${why ?? 'gap'}*`
  return note === undefined ? tests : `${tests}. ${note}`
}
