import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { readConfig } from '../../src/config/config.ts'
import {
  type InForce,
  type Kept,
  keptForStrangers,
  keptInAnHour,
  keptOfNetwork,
} from './strangers/kept.ts'
import { rememberedInMemory } from './strangers/remembered.ts'

/**
 * The section of docs/security.md about what strangers can make the service keep, from the table in
 * test/support/strangers/kept.ts and the limits of the default configuration.
 * `node test/support/strangers-document.ts` writes it again.
 */
export const securityDocument: string = join(import.meta.dirname, '../../docs/security.md')

const HEADING = '## What a stranger can make this service keep\n'

/** What a deployment has that changes nothing. */
export function defaultsInForce(): InForce {
  return readConfig({}, join(import.meta.dirname, '../../config'))
}

/** The text of the section as it stands in the document. */
export function sectionIn(document: string): string {
  const start = document.indexOf(HEADING) + HEADING.length
  const end = document.indexOf('\n## ', start)
  return document.slice(start, end === -1 ? undefined : end)
}

const introduction = `
Whatever somebody who is not signed in leaves in the stores, each with what bounds it at the default configuration. Nothing else
is kept for strangers: \`test/strangers.test.ts\` sends every method to every address of the service and looks at every table.
\`node test/support/strangers-document.ts\` writes this section from \`test/support/strangers/kept.ts\`. Sizes are those of the
largest; an ordinary authorization request is 700 bytes, an ordinary registration 300.`

/** The whole section. */
export function renderStrangers(inForce: InForce): string {
  const kept = keptForStrangers(inForce)
  const memory = rememberedInMemory.map(({ what, file, bound }) => [what, `\`${file}\``, bound])
  return [
    introduction,
    table(
      ['what', 'at', 'kept', 'how long', 'one, at most', 'bound', 'of one network, at most'],
      kept.map(cellsOf),
    ),
    total(kept),
    'What a process remembers beyond a request, by what callers send:',
    table(['what', 'where', 'bound'], memory),
    '',
  ].join('\n\n')
}

function cellsOf(kept: Kept): string[] {
  const { what, at, where, seconds, bytesMax, bound } = kept
  const most = keptOfNetwork(kept)
  return [
    what,
    at.map((address) => `\`${address}\``).join(', '),
    where,
    seconds === undefined ? 'until others take its place' : duration(seconds),
    size(bytesMax),
    bound,
    most === undefined ? 'as its bound says' : size(most),
  ]
}

function total(kept: readonly Kept[]): string {
  const hours = new Map<string, number>()
  for (const each of kept) {
    // What one limit bounds together is the largest of them.
    const { limit = each.what } = each
    hours.set(limit, Math.max(hours.get(limit) ?? 0, keptInAnHour(each) ?? 0))
  }
  const sum = [...hours.values()].reduce((one, other) => one + other, 0)
  return `One address adds ${size(sum)} in an hour at most, by what has a number above.`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

function duration(seconds: number): string {
  const [name, length] = units.find(([, unit]) => seconds >= unit) ?? (['second', 1] as const)
  const count = Math.round(seconds / length)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

if (import.meta.main) {
  const document = readFileSync(securityDocument, 'utf8')
  const section = sectionIn(document)
  writeFileSync(
    securityDocument,
    document.replace(HEADING + section, () => HEADING + renderStrangers(defaultsInForce())),
  )
}
