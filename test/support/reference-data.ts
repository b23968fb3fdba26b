import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Tables of test/data: `# ` begins a section, `: ` its introduction; cells are separated by ` | `. */
export interface Table {
  readonly title: string
  readonly about: string
  readonly rows: readonly (readonly string[])[]
}

function readTables(name: string): readonly Table[] {
  return readFileSync(join(import.meta.dirname, '../data', name), 'utf8')
    .split(/^# /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.trim().split('\n')
      const about = lines.filter((line) => line.startsWith(': ')).map((line) => line.slice(2))
      const rows = lines.filter((line) => line !== '' && !line.startsWith(': '))
      return { title, about: about.join(' '), rows: rows.map((row) => row.split(' | ')) }
    })
}

export interface Section {
  /** Number, or heading without one. */
  readonly section: string
  readonly asks: string
  /** Why no test shows it. */
  readonly why?: string
  readonly note?: string
}

export type Standard = (typeof standards)[number]

export const standards = readTables('standards.txt').map((table) => {
  const [name = '', title = '', address = ''] = table.title.split(' | ')
  return { name, title, address, about: table.about, sections: table.rows.map(sectionOf) }
})

function sectionOf([section = '', asks = '', ...rest]: readonly string[]): Section {
  const more = rest.map((cell) => cell.split(/(?<=^(?:why|note)): /))
  return { section, asks, ...Object.fromEntries(more) }
}

function rowsOf(name: string): readonly (readonly string[])[] {
  return readTables(name).flatMap(({ rows }) => rows)
}

/** Number, requirement, file of each; under "Not shown" number, question, answer, file. */
export const requirements = readTables('requirements.txt')

/** Number, attack, answer of the cases whose tests are written one by one. */
export const hostileCases = readTables('hostile-cases.txt')

export const attackClasses = readTables('attack-classes.txt')

/** Number, threat, attackers, defence of each, by surface. */
export const threats = readTables('threats.txt')

export const caseNumbers: readonly number[] = hostileCases.flatMap(({ rows }) =>
  rows.map(([number]) => Number(number)),
)

/** Errors of our own code (function, status, error, when, advice), of endpoints, of protected resources. */
export const errorTables = readTables('errors.txt')

const [requestLimits, sizes] = readTables('limits.txt')

/** Name of each request limit, where it applies, what counts as one. */
export const requestLimitRows = requestLimits?.rows ?? []

/** Sizes and times (what, figure, setting): `{setting}` in a figure stands for the value in force. */
export const limitRows = sizes?.rows ?? []

/** Function, password, hash of real programs, by program. */
export const passwordHashes = readTables('password-hashes.txt')

/** File of the code, what a process remembers there beyond a request because of callers, and its bound. */
export const remembered = rowsOf('remembered.txt')

/** Tables of the database and how long their rows stay. */
export const retention = rowsOf('retention.txt')

/** Personal tables, why they are stored, what happens when the account is deleted, and whether a download has them. */
export const personalData = rowsOf('personal-data.txt')

/** Meaning of each field of config/service.json, by section. */
export const settings = readTables('settings.txt')

export const alertAdvice = rowsOf('alerts.txt')
