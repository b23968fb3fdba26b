import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { caseNumbers, requirements, standards } from './reference-data.ts'

/** A row of the reference that a test names in its title or in the comment above it: `// [Errors 4.1; 71]`. */
export interface Annotation {
  readonly file: string
  readonly title: string
  /** The covered row: "RFC 6749 §5.2", "Errors 4.1", "71", "class leak", "threat 12". */
  readonly row: string
}

const root = join(import.meta.dirname, '../..')
const requirementNames = requirements.flatMap(({ title, rows }) =>
  rows.map(([number]) => `${title} ${number}`),
)
const names = [...standards.map(({ name }) => name), ...requirements.map(({ title }) => title)]
const named = new RegExp(`^(?:(?:${names.join('|')})(?: |$)|class |threat )`)
const numbers = /^\d{1,4}(?:-\d{1,4})?(?:, \d{1,4}(?:-\d{1,4})?)*$/
const test =
  /((?:^[ \t]*\/\/[^\n]*\n)*)^[ \t]*(?:it|describe)(?:\.\w+)?\(\s*(?:(['"`])((?:\\.|(?!\2).)*)\2|(\w+)\s*,)/gms

export function readTestFiles(): ReadonlyMap<string, string> {
  const files = globSync('test/**/*.test.ts', { cwd: root }).sort()
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
}

export function readAnnotations(): readonly Annotation[] {
  return [...readTestFiles()].flatMap(([file, text]) => annotationsOf(file, text))
}

export function annotationsOf(file: string, text: string): Annotation[] {
  return [...text.matchAll(test)].flatMap(([, comment = '', , literal, variable]) => {
    const title = (literal ?? `(${variable})`).replaceAll(/\\(.)/g, '$1')
    const items = bracketsIn(`${joinLines(comment)} ${title.replaceAll(/\$\{[^}]*\}/g, '')}`)
    const rows = [
      ...items.filter(isNamed).flatMap(expandRule),
      ...items.filter((item) => numbers.test(item)).flatMap(expandNumbers),
    ]
    return rows.map((row) => ({ file, title, row }))
  })
}

/** Returns the rows named in brackets, except hostile cases, because other brackets may contain numbers, too. */
export function namedRowsIn(text: string): string[] {
  return bracketsIn(text).filter(isNamed).flatMap(expandRule)
}

/** Joins the lines of a comment, because a bracket may continue on the next line. */
export function joinLines(text: string): string {
  return text.replaceAll(/\s*\n\s*\/\/\s*/g, ' ')
}

/** Returns links to the test files that cover a row; '' without a test. */
export function renderTests(row: string, annotations: readonly Annotation[]): string {
  const covering = annotations.filter((annotation) => annotation.row === row)
  const files = new Set(covering.map(({ file }) => file))
  return [...files].map(renderTestFile).join(', ')
}

export function renderTestFile(file: string): string {
  return `[${file.replace(/^test\//, '').replace(/\.test\.ts$/, '')}](../../${file})`
}

function bracketsIn(text: string): string[] {
  return [...text.matchAll(/\[([^\][]*)\]/g)].flatMap(([, inside = '']) => inside.split('; '))
}

const isNamed = (item: string): boolean => named.test(item)

/** Expands a rule such as "Errors 4" to all its rows. */
function expandRule(item: string): string[] {
  const parts = requirementNames.filter((name) => name.startsWith(`${item}.`))
  return parts.length > 0 ? parts : [item]
}

/** Expands "55-61, 71" to both ends of each range and the case numbers between them. */
function expandNumbers(item: string): string[] {
  return item.split(', ').flatMap((part) => {
    const [first = 0, last = first] = part.split('-').map(Number)
    const between = caseNumbers.filter((number) => number > first && number < last)
    return [...new Set([first, ...between, last])].map(String)
  })
}
