import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { limitsInForce, limitTable } from '../../src/platform/limits/limit-table.ts'

/** Where the tables of limits are written: what stands between these lines of a page. */
const BEGIN = '<!-- limits: test/support/limits-document.ts writes this table -->'
const END = '<!-- end of limits -->'

const root = join(import.meta.dirname, '../..')
export const limitPages = ['docs/security.md', 'docs/operations.md'] as const

/** The table of every limit of requests, with the figures of config/service.json. */
function renderLimits(policy: object): string {
  const inForce = limitsInForce(policy)
  const rows = Object.entries(limitTable).map(([name, { by, at, counts, setting }]) => {
    const { max, windowSeconds } = inForce[name as keyof typeof limitTable]
    return `| \`${name}\` | ${by} | ${at} | ${counts} | ${max} in ${windowSeconds} s | \`${setting}\` |`
  })
  return [
    '| limit | of each | at | one point is | at most | setting |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

/** A page with the table as it is now. */
export function withLimits(page: string, policy: object): string {
  const [before, rest = ''] = page.split(`${BEGIN}\n`)
  const [, after = ''] = rest.split(END)
  return `${before}${BEGIN}\n\n${renderLimits(policy)}\n\n${END}${after}`
}

if (import.meta.main) {
  const policy = JSON.parse(readFileSync(join(root, 'config/service.json'), 'utf8'))
  for (const name of limitPages) {
    const file = join(root, name)
    writeFileSync(file, withLimits(readFileSync(file, 'utf8'), policy))
  }
}
