import { renderTable } from '../support/markdown.ts'
import { type Agent, agents } from './client-table.ts'
import { type WayName, wayNames, ways } from './ways.ts'

export function renderClients(): string {
  const columns = [
    'client',
    'package',
    'set up by',
    ...wayNames.map((way) => `as ${way === 'member' ? 'a member' : 'an operator'}`),
  ]
  const rows = agents.map((client) => [
    client.name,
    `\`${client.package.name}\` ${client.package.version}`,
    client.setUp,
    ...wayNames.map((way) => resultOf(client, way)),
  ])
  return renderTable(columns, rows)
}

function resultOf({ known }: Agent, way: WayName): string {
  const failing = known?.[way]
  return failing === undefined
    ? `calls \`${ways[way].tool}\``
    : `no: ${failing.reason}. The user sees “${failing.sentence}”`
}
