import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A table of test/data: `# ` begins a section, `: ` its introduction; cells are separated by ` | `. */
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
  /** The section number, or the heading if there is no number. */
  readonly section: string
  readonly asks: string
  /** The reason why no test covers the section. */
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

/** Columns: number, requirement, file. Under "Not shown": number, question, answer, file. */
export const requirements = readTables('requirements.txt')

/** Columns: number, attack, response. Only cases with tests of their own. */
export const hostileCases = readTables('hostile-cases.txt')

export const attackClasses = readTables('attack-classes.txt')

/** Columns: number, threat, attackers, defence. One table per surface. */
export const threats = readTables('threats.txt')

export const caseNumbers: readonly number[] = hostileCases.flatMap(({ rows }) =>
  rows.map(([number]) => Number(number)),
)

/** Three tables: errors of our own code (columns: function, status, error, condition, advice), of endpoints, and of protected resources. */
export const errorTables = readTables('errors.txt')

const [requestLimits, sizes] = readTables('limits.txt')

/** Columns: request limit, the place where it applies, the unit that it counts. */
export const requestLimitRows = requestLimits?.rows ?? []

/** Sizes and times. Columns: subject, figure, setting. `{setting}` in a figure stands for its current value. */
export const limitRows = sizes?.rows ?? []

/** Columns: function, password, hash. One table per program that created the hashes. */
export const passwordHashes = readTables('password-hashes.txt')

/** Columns: source file, data that callers make a process keep beyond a request, bound. */
export const remembered = rowsOf('remembered.txt')

/** Columns: tables of the database, and how long their rows are kept. */
export const retention = rowsOf('retention.txt')

/** Columns: tables with personal data, reason for storing it, fate after a deletion, inclusion in a download. */
export const personalData = rowsOf('personal-data.txt')

/** The meaning of each field of config/service.json, by section. */
export const settings = readTables('settings.txt')

export const alertAdvice = rowsOf('alerts.txt')
