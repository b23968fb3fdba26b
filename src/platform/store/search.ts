import { sql } from 'kysely'

import type { Database } from './database.ts'

/** Returns the condition that a column contains a text, ignoring case. Uses no index. */
export function containsText(column: string, words: string) {
  const pattern = words.toLowerCase().replace(/[%_!]/g, '!$&').replaceAll('\0', '')
  return sql<boolean>`lower(${sql.ref(column)}) like ${`%${pattern}%`} escape '!'`
}

/** A character that sorts after every other. Texts from a prefix up to prefix + LAST_LETTER begin with the prefix. */
const LAST_LETTER = '\u{10ffff}'

type Engine = Pick<Database, 'engine'>

/** The columns that have prefix search. Each has an index on exactly this expression. */
const foldedColumns = {
  name: sql<string>`lower(person.name)`,
  address: sql<string>`person.email_canonical`,
} as const

/** Returns the indexed expression of a column: in lower case, compared byte by byte. SQLite folds only A to Z. */
export function folded({ engine }: Engine, column: keyof typeof foldedColumns) {
  const order = { sqlite: sql`collate binary`, postgres: sql`collate "C"` }[engine]
  return sql<string>`${foldedColumns[column]} ${order}`
}

/**
 * Returns the condition that the name or address of a person begins with a prefix. Uses an index range.
 *
 * @param from the start of a later page, used instead of the prefix: SQLite uses only one lower bound
 */
export function beginsWith(
  database: Engine,
  column: keyof typeof foldedColumns,
  { words, from }: { readonly words: string; readonly from: string | undefined },
) {
  const value = folded(database, column)
  const first = sql`lower(${words.replaceAll('\0', '')})`
  return sql<boolean>`${value} >= ${from ?? first} and ${value} < ${first} || ${LAST_LETTER}`
}
