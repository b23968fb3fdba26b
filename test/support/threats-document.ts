import { type Annotation, renderTests } from './annotations.ts'
import { renderTable } from './markdown.ts'
import { threats } from './reference-data.ts'

/** Kinds of attackers, by the letter that the table of threats uses. */
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

const introduction = `Threats by surface, with the defence and the tests that show it. To find the test, search the file for \`threat\` and
the number. The first letter of a threat is its kind in STRIDE: spoofing, tampering, repudiation, information
disclosure, denial of service, elevation of privilege. Assets and trust boundaries are in
[security](../security.md#threats); single attacks are [hostile cases](hostile-cases.md).`

/** docs/reference/threats.md, from test/data/threats.txt and the annotations of the tests. */
export function renderThreats(annotations: readonly Annotation[]): string {
  const rows = threats.flatMap(({ title, rows }) =>
    rows.map(([number = '', threat = '', by = '', defence = '']) => [
      number,
      title,
      threat,
      by,
      defence,
      renderTests(`threat ${number}`, annotations),
    ]),
  )
  return [
    introduction,
    renderTable(['attacker', 'who'], Object.entries(attackers)),
    renderTable(['number', 'surface', 'threat', 'attackers', 'defence', 'tests'], rows),
  ].join('\n\n')
}
