import { type Annotation, renderTests } from './annotations.ts'
import { renderTable } from './markdown.ts'
import { requirements, type Table } from './reference-data.ts'

const introduction = `Every sentence of the specification as a numbered requirement, in our words, with the file that implements it and the
tests that show it. To find the test, search the file for the number. \`{base_url}\` is the address of the service and
the issuer of its tokens.

Rules that the specification numbers keep their number; a rule of several sentences has a row for each (\`Errors 4.1\`).
Sentences before the numbered rules of a heading start at \`0.1\`. [Not shown](#not-shown) lists what the specification
leaves open.`

const contradiction = `Two sentences of the specification contradict each other: registration "issues credentials for pre-registered vendor
platforms only" and "is open to any client whose \`redirect_uris\` are loopback addresses". Both apply, in the order of
[design 6](../design.md): first the name of a platform with callbacks of that platform, then loopback addresses.`

/** docs/reference/requirements.md, from test/data/requirements.txt and the annotations of the tests. */
export function renderRequirements(annotations: readonly Annotation[]): string {
  const sections = requirements.map((table) => renderSection(table, annotations))
  return [introduction, ...sections, contradiction].join('\n\n')
}

function renderSection({ title, rows }: Table, annotations: readonly Annotation[]): string {
  const cells = rows.map((row) => {
    const [number, ...texts] = row
    const file = texts.pop() ?? ''
    const name = `${title} ${number}`
    return [name, ...texts, `[${file}](../../${file})`, renderTests(name, annotations)]
  })
  const columns = title === 'Not shown' ? ['left open', 'what this service does'] : ['requirement']
  return `## ${title}\n\n${renderTable(['number', ...columns, 'file', 'tests'], cells)}`
}
