import { renderTable } from '../support/markdown.ts'
import { type Agent, agents } from './client-table.ts'
import { type WayName, ways } from './ways.ts'

/** The columns with results: a title, the way, the index of its call, and a verb for a call that succeeds. */
const columns: readonly (readonly [title: string, way: WayName, call: number, what: string])[] = [
  ['as a member', 'member', 0, 'calls'],
  ['operator: reads', 'operator', 0, 'calls'],
  ['writes', 'changes', 0, 'calls'],
  ['approval', 'changes', 1, 'approved in the browser, calls'],
]

export function renderClients(): string {
  const titles = ['client', 'package', 'set up by', ...columns.map(([title]) => title)]
  const rows = agents.map((client) => [
    client.name,
    `\`${client.package.name}\` ${client.package.version}`,
    client.setUp,
    ...columns.map(([, way, call, what]) =>
      resultOf(client, way, `${what} \`${ways[way].calls[call]?.tool}\``),
    ),
  ])
  return renderTable(titles, rows)
}

function resultOf({ known }: Agent, way: WayName, works: string): string {
  const failing = known?.[way]
  return failing === undefined
    ? works
    : `no: ${failing.reason}. The user sees “${failing.sentence}”`
}
