import { sql } from 'kysely'

import type { Database } from './database.ts'

/** Whether a column holds these words, in any case of letters. It reads every row that is left. */
export function holdsWords(column: string, words: string) {
  return sql<boolean>`lower(${sql.ref(column)}) like ${`%${escaped(words)}%`} escape '!'`
}

/** The three signs that mean something in a pattern stand for themselves. */
function escaped(words: string): string {
  return words.toLowerCase().replace(/[%_!]/g, '!$&').replaceAll('\0', '')
}

/** Greater than every letter, so that what lies between a beginning and it begins so. */
const LAST_LETTER = '\u{10ffff}'

type Engine = Pick<Database, 'engine'>

/** Where a search for a beginning reads, and in which order: an index has exactly this expression. */
export type FoldedColumn = keyof typeof foldedColumns

const foldedColumns = {
  name: sql<string>`lower(person.name)`,
  address: sql<string>`person.email_canonical`,
} as const

/**
 * A column of people as its index has it: in small letters, compared byte by byte. Which letters of
 * other alphabets have a small one is the engine's to say; SQLite knows A to Z only.
 */
export function folded({ engine }: Engine, column: FoldedColumn) {
  const order = { sqlite: sql`collate binary`, postgres: sql`collate "C"` }[engine]
  return sql<string>`${foldedColumns[column]} ${order}`
}

/**
 * Whether name or address of a person begins like this, as a range of an index.
 *
 * @param from where a page begins that is not the first: the same bound again would make SQLite read
 * from the beginning
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
