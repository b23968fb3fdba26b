import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The tables in test/data that pages of docs/reference are generated from. A table is text: `# ` begins a
 * section, `: ` its introduction, and every other line is a row with cells between ` | `.
 */
export interface Table {
  readonly title: string
  readonly about: string
  readonly rows: readonly (readonly string[])[]
}

function readTables(name: string): readonly Table[] {
  const text = readFileSync(join(import.meta.dirname, '../data', name), 'utf8')
  return text
    .split(/^# /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.trim().split('\n')
      const about = lines.filter((line) => line.startsWith(': ')).map((line) => line.slice(2))
      const rows = lines.filter((line) => line !== '' && !line.startsWith(': '))
      return { title, about: about.join(' '), rows: rows.map((row) => row.split(' | ')) }
    })
}

/** A section of a standard. */
export interface Section {
  /** As the standard numbers it, or its heading where it has no numbers. */
  readonly section: string
  /** What it requires of this service, in our words. */
  readonly asks: string
  /** Why no test shows it: it does not apply, or this service leaves it out on purpose. */
  readonly why?: string
  /** What a reader should know besides the tests. */
  readonly note?: string
}

export interface Standard {
  readonly name: string
  readonly title: string
  readonly address: string
  readonly about: string
  readonly sections: readonly Section[]
}

export const standards: readonly Standard[] = readTables('standards.txt').map((table) => {
  const [name = '', title = '', address = ''] = table.title.split(' | ')
  return { name, title, address, about: table.about, sections: table.rows.map(sectionOf) }
})

function sectionOf([section = '', asks = '', ...rest]: readonly string[]): Section {
  const more = rest.map((cell) => cell.split(/(?<=^(?:why|note)): /))
  return { section, asks, ...Object.fromEntries(more) }
}

/** Number, requirement, file of each; under "Not shown" number, question, answer, file. */
export const requirements: readonly Table[] = readTables('requirements.txt')

/** Number, attack, answer of the cases whose tests are written one by one. */
export const hostileCases: readonly Table[] = readTables('hostile-cases.txt')

/** Name and meaning of each class of attacks. */
export const attackClasses: readonly Table[] = readTables('attack-classes.txt')

/** Number, threat, attackers, defence of each, by surface. */
export const threats: readonly Table[] = readTables('threats.txt')

export const caseNumbers: readonly number[] = hostileCases.flatMap(({ rows }) =>
  rows.map(([number]) => Number(number)),
)

/** Errors of our own code (function, status, error, when, advice), of endpoints, of protected resources. */
export const errorTables: readonly Table[] = readTables('errors.txt')

/** Sizes and times (what, figure, setting): `{setting}` in a figure stands for the value in force. */
export const limitRows: readonly (readonly string[])[] = readTables('limits.txt').flatMap(
  ({ rows }) => rows,
)

/** Tables of the database and how long their rows stay. */
export const retention: readonly (readonly string[])[] = readTables('retention.txt').flatMap(
  ({ rows }) => rows,
)

/** Meaning of each field of config/service.json, by section. */
export const settings: readonly Table[] = readTables('settings.txt')

/** What to do about each alert. */
export const alertAdvice: readonly (readonly string[])[] = readTables('alerts.txt').flatMap(
  ({ rows }) => rows,
)
