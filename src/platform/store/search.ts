import { type RawBuilder, sql } from 'kysely'

import type { Database } from './database.ts'

/** Returns the condition that a column contains a text, ignoring case; on SQLite, only of A to Z. Uses no index. */
export function containsText(column: string, words: string) {
  const pattern = words.replace(/[%_!]/g, '!$&').replaceAll('\0', '')
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${`%${pattern}%`}) escape '!'`
}

/** A character that sorts after every other. Texts from a prefix up to prefix + LAST_LETTER begin with the prefix. */
const LAST_LETTER = '\u{10ffff}'

/**
 * Makes a folded (lower-case) text compare byte by byte. The indexes for prefix search are on exactly this expression,
 * for `lower(person.name)` and `person.email_canonical`. SQLite folds only A to Z.
 */
export function folded({ engine }: Pick<Database, 'engine'>, text: RawBuilder<unknown>) {
  const order = { sqlite: sql`collate binary`, postgres: sql`collate "C"` }[engine]
  return sql<string>`${text} ${order}`
}

/**
 * Returns the condition that a folded text begins with a prefix. Uses an index range.
 *
 * @param from where a later page starts; replaces the prefix as the lower bound, because SQLite uses only one bound
 */
export function beginsWith(
  value: RawBuilder<string>,
  { words, from }: { readonly words: string; readonly from: string | undefined },
) {
  const first = sql`lower(${words.replaceAll('\0', '')})`
  return sql<boolean>`${value} >= ${from ?? first} and ${value} < ${first} || ${LAST_LETTER}`
}
