import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { type CheckName, checks, found } from '../../src/ops/doctor/checks.ts'

/**
 * The table of docs/operations.md with everything that doctor can find.
 * `node test/support/checks-document.ts` writes it again.
 */
const page = join(import.meta.dirname, '../../docs/operations.md')
const marked = /(<!-- checks -->\n)[\s\S]*?(\n<!-- end of checks -->)/

export function readChecksPage(): string {
  return readFileSync(page, 'utf8')
}

/** The page with the table as the code has it. */
export function renderChecksPage(text: string): string {
  const rows = (Object.keys(checks) as CheckName[]).map((name) => {
    const { severity, section = '', cure = '' } = found(name, '')
    return `| \`${name}\` | ${severity} | ${section} | ${cure} |`
  })
  const table = [
    '| found | severity | section | what to do |',
    '| --- | --- | --- | --- |',
    ...rows,
  ]
  return text.replace(marked, (_all, before, after) => `${before}${table.join('\n')}${after}`)
}

if (import.meta.main) writeFileSync(page, renderChecksPage(readChecksPage()))
