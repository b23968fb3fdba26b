import { type Annotation, renderTests } from '../../test/support/annotations.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'
import {
  errorTables,
  requirements,
  type Section,
  type Standard,
  standards,
  threats,
} from '../../test/support/reference-data.ts'

const [ownErrors = [], endpointErrors = [], resourceErrors = []] = errorTables.map(
  ({ rows }) => rows,
)
const codes = (errors: string) => code(...errors.split(', '))

/** Creates the tables of docs/reference from test/data and the annotations of the tests. */
export function dataTables(annotations: readonly Annotation[]): Tables {
  return {
    errors: () =>
      renderTable(
        ['status', 'error', 'when', 'what to do'],
        ownErrors.map(([, status = '', error = '', ...rest]) => [status, code(error), ...rest]),
      ),
    'endpoint-errors': () =>
      renderTable(
        ['endpoint', 'status', 'error', 'when'],
        endpointErrors.map(([endpoint = '', status = '', errors = '', when = '']) => [
          ...[endpoint, status, codes(errors), when],
        ]),
      ),
    'resource-errors': () =>
      renderTable(
        ['status', 'error', 'when', 'challenge'],
        resourceErrors.map(([status = '', errors = '', ...rest]) => [
          ...[status, codes(errors), ...rest],
        ]),
      ),
    attackers: () => renderTable(['attacker', 'who'], Object.entries(attackers)),
    threats: () => renderThreats(annotations),
    requirements: () => renderRequirements(annotations),
    standards: () => renderOverview(annotations),
    sections: () => page(...standards.map((standard) => renderStandard(standard, annotations))),
  }
}

export const attackers: Readonly<Record<string, string>> = {
  S: 'a stranger with any number of network addresses',
  C: 'a registered client, its developer, or a thief of its credentials',
  P: 'a person with an account, in any role at some site',
  O: 'an operator of another site',
  R: 'a resource server, upstream or proxy that receives tokens',
  N: 'an attacker who reads or changes network traffic',
  D: 'an attacker with a copy of a store or a backup',
  L: 'a reader of logs and metrics',
}

function renderThreats(annotations: readonly Annotation[]): string {
  const rows = threats.flatMap(({ title, rows }) =>
    rows.map(([number = '', ...rest]) => [
      ...[number, title, ...rest],
      renderTests(`threat ${number}`, annotations),
    ]),
  )
  return renderTable(['number', 'surface', 'threat', 'attackers', 'defence', 'tests'], rows)
}

function renderRequirements(annotations: readonly Annotation[]): string {
  const sections = requirements.map(({ title, rows }) => {
    const cells = rows.map((row) => {
      const [number, ...texts] = row
      const file = texts.pop() ?? ''
      const name = `${title} ${number}`
      return [name, ...texts, `[${file}](../../${file})`, renderTests(name, annotations)]
    })
    const columns =
      title === 'Not shown' ? ['left open', 'what this service does'] : ['requirement']
    return page(`## ${title}`, renderTable(['number', ...columns, 'file', 'tests'], cells))
  })
  return page(...sections)
}

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
    const { asks, why = 'gap', note } = section
    const tests = renderTests(nameOfSection(standard, section), annotations)
    const shown = note === undefined ? tests : `${tests}. ${note}`
    return [`§${section.section}`, asks, tests === '' ? `*${why}*` : shown]
  })
  return page(
    `## ${name}`,
    `[${title}](${address}). ${about}`.trim(),
    renderTable(['section', 'requirement', 'tests'], rows),
  )
}
