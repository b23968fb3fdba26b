import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { annotationsOf, readTestFiles, renderSections, standards } from './standards-document.ts'

/**
 * The part of docs/security.md on RFC 9700, from the table and the tests that docs/standards.md is made
 * of. `node test/support/security-document.ts` writes it again.
 */
const page = join(import.meta.dirname, '../../docs/security.md')
const marked = /(<!-- RFC 9700 -->\n)[\s\S]*?(\n<!-- end of RFC 9700 -->)/

export function readSecurityPage(): string {
  return readFileSync(page, 'utf8')
}

export function renderSecurityPage(text: string): string {
  const annotations = [...readTestFiles()].flatMap(([file, source]) => annotationsOf(file, source))
  const bestPractice = standards.find(({ name }) => name === 'RFC 9700')
  if (!bestPractice) throw new Error('the table of standards has no RFC 9700')
  const table = renderSections(bestPractice, annotations)
  return text.replace(marked, (_all, before, after) => `${before}${table}${after}`)
}

if (import.meta.main) writeFileSync(page, renderSecurityPage(readSecurityPage()))
