import { type Annotation, renderTests } from './annotations.ts'
import { code, page, renderTable } from './markdown.ts'
import {
  errorTables,
  requirements,
  type Section,
  type Standard,
  standards,
  threats,
} from './reference-data.ts'

/** docs/reference/errors.md, from test/data/errors.txt; test/errors.test.ts compares it with the code. */
export function renderErrors(): string {
  const [own = [], endpoints = [], resources = []] = errorTables.map(({ rows }) => rows)
  const codes = (errors: string) => code(...errors.split(', '))
  return page(
    `OAuth endpoints answer with the JSON of RFC 6749 §5.2: \`error\` and \`error_description\`. Pages show both and the id of
the request, which is also the \`X-Request-Id\` header and in the log. The description says what to do. Only the log, and
for site operators the page Refusals, has the reason why a credential was rejected.

A 503 decides nothing: repeat the same request after \`Retry-After\`. A 500 \`server_error\` contains only the id of its log
line; repeating the request does not help.

Errors of the authorization endpoint are redirected to the client with \`state\` and \`iss\`, once client and redirect URI
are valid; before that they are a page.`,
    '## Errors of all endpoints and pages',
    renderTable(
      ['status', 'error', 'when', 'what to do'],
      own.map(([, status = '', error = '', ...rest]) => [status, code(error), ...rest]),
    ),
    '## Errors of single endpoints',
    renderTable(
      ['endpoint', 'status', 'error', 'when'],
      endpoints.map(([endpoint = '', status = '', errors = '', when = '']) => [
        ...[endpoint, status, codes(errors), when],
      ]),
    ),
    '## Protected resources',
    renderTable(
      ['status', 'error', 'when', 'challenge'],
      resources.map(([status = '', errors = '', ...rest]) => [status, codes(errors), ...rest]),
    ),
  )
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

/** docs/reference/threats.md, from test/data/threats.txt and the annotations of the tests. */
export function renderThreats(annotations: readonly Annotation[]): string {
  const rows = threats.flatMap(({ title, rows }) =>
    rows.map(([number = '', ...rest]) => [
      ...[number, title, ...rest],
      renderTests(`threat ${number}`, annotations),
    ]),
  )
  return page(
    `Threats by surface, with the defence and the tests that show it. To find the test, search the file for \`threat\` and
the number. The first letter of a threat is its kind in STRIDE: spoofing, tampering, repudiation, information
disclosure, denial of service, elevation of privilege. Assets and trust boundaries are in
[security](../security.md#threats); single attacks are [hostile cases](hostile-cases.md).`,
    renderTable(['attacker', 'who'], Object.entries(attackers)),
    renderTable(['number', 'surface', 'threat', 'attackers', 'defence', 'tests'], rows),
  )
}

/** docs/reference/requirements.md, from test/data/requirements.txt and the annotations of the tests. */
export function renderRequirements(annotations: readonly Annotation[]): string {
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
  return page(
    `Every sentence of the specification as a numbered requirement, in our words, with the file that implements it and the
tests that show it. To find the test, search the file for the number. \`{base_url}\` is the address of the service and
the issuer of its tokens.

Rules that the specification numbers keep their number; a rule of several sentences has a row for each (\`Errors 4.1\`).
Sentences before the numbered rules of a heading start at \`0.1\`. [Not shown](#not-shown) lists what the specification
leaves open.`,
    ...sections,
    `Two sentences of the specification contradict each other: registration "issues credentials for pre-registered vendor
platforms only" and "is open to any client whose \`redirect_uris\` are loopback addresses". Both apply, in the order of
[design 6](../design.md): first the name of a platform with callbacks of that platform, then loopback addresses.`,
  )
}

/** docs/reference/standards.md, from test/data/standards.txt and the annotations of the tests. */
export function renderStandards(annotations: readonly Annotation[]): string {
  return page(
    `Sections of the standards that apply to this service, in our words, with the tests that show each or the reason why
no test does. To find the test, search the file for the section. Sections that apply to clients only, definitions,
examples and registries are left out. [Conformance](../conformance.md) lists the test suites of others that were run.`,
    renderOverview(annotations),
    ...standards.map((standard) => renderStandard(standard, annotations)),
  )
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
