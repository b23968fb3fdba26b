import { sql } from 'kysely'

import type { Database } from './database.ts'

/** Whether a column contains these words, ignoring case. Reads every remaining row. */
export function holdsWords(column: string, words: string) {
  const pattern = words.toLowerCase().replace(/[%_!]/g, '!$&').replaceAll('\0', '')
  return sql<boolean>`lower(${sql.ref(column)}) like ${`%${pattern}%`} escape '!'`
}

/** Greater than every letter, so that texts between a prefix and prefix + this have the prefix. */
const LAST_LETTER = '\u{10ffff}'

type Engine = Pick<Database, 'engine'>

/** The columns that can be searched by prefix; an index has exactly this expression. */
type FoldedColumn = keyof typeof foldedColumns

const foldedColumns = {
  name: sql<string>`lower(person.name)`,
  address: sql<string>`person.email_canonical`,
} as const

/** A column of people as its index has it: in lower case, compared byte by byte. SQLite folds A to Z only. */
export function folded({ engine }: Engine, column: FoldedColumn) {
  const order = { sqlite: sql`collate binary`, postgres: sql`collate "C"` }[engine]
  return sql<string>`${foldedColumns[column]} ${order}`
}

/**
 * Whether name or address of a person has this prefix, as a range of an index.
 *
 * @param from where a later page begins: a second bound would make SQLite read from the first page
 */
export function beginsWith(
  database: Engine,
  column: FoldedColumn,
  { words, from }: { readonly words: string; readonly from: string | undefined },
) {
  const value = folded(database, column)
  const first = sql`lower(${words.replaceAll('\0', '')})`
  return sql<boolean>`${value} >= ${from ?? first} and ${value} < ${first} || ${LAST_LETTER}`
}
