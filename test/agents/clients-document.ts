import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type Agent, agents } from './client-table.ts'
import { type WayName, wayNames, ways } from './ways.ts'

/**
 * The generated part of docs/reference/mcp-clients.md begins here; what stands above it is written by hand.
 * `node test/agents/clients-document.ts` writes it again.
 */
export const GENERATED_FROM = '## What was tried'

/** The table of clients as people read it; what it says is what a run holds each client to. */
export function renderClients(clients: readonly Agent[]): string {
  const columns = ['client', 'package', 'set up by', ...wayNames.map((way) => `as ${nameOf(way)}`)]
  const rows = clients.map((client) => [
    client.name,
    `\`${client.package.name}\` ${client.package.version}`,
    client.setUp,
    ...wayNames.map((way) => resultOf(client, way)),
  ])
  const table = [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return `${GENERATED_FROM}\n\n${table.join('\n')}\n`
}

function nameOf(way: WayName): string {
  return way === 'member' ? 'a member' : 'an operator'
}

function resultOf({ known }: Agent, way: WayName): string {
  const failing = known?.[way]
  return failing === undefined
    ? `calls \`${ways[way].tool}\``
    : `no: ${failing.reason}. Its user reads “${failing.sentence}”`
}

if (import.meta.main) {
  const file = join(import.meta.dirname, '../../docs/reference/mcp-clients.md')
  const [byHand = ''] = readFileSync(file, 'utf8').split(GENERATED_FROM)
  writeFileSync(file, byHand + renderClients(agents))
}
