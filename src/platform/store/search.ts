import { type RawBuilder, sql } from 'kysely'

import type { Database } from './database.ts'

/** Returns the condition that a column contains a text, ignoring case; on SQLite, only of A to Z. Uses no index. */
export function containsText(column: string, words: string) {
  const pattern = words.replace(/[%_!]/g, '!$&').replaceAll('\0', '')
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${`%${pattern}%`}) escape '!'`
}

/** Maximum number of words of a search. More words are ignored. */
const WORDS_MAX = 8

/** Ends the words of names and addresses, as in the triggers that write `person_word`. */
const SEPARATORS = /[-\s.@_'+,()]+/

/**
 * Splits a search into words in the form of `person_word`: in lower case; on SQLite, only A to Z. Omits a word that begins
 * another one. Returns one empty word, which every word begins with, for a text without words.
 */
export function searchWords({ engine }: Pick<Database, 'engine'>, text: string): string[] {
  const clean = text.replaceAll('\0', '')
  const folded =
    engine === 'sqlite'
      ? clean.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
      : clean.toLowerCase()
  const words = [...new Set(folded.split(SEPARATORS))].slice(0, WORDS_MAX)
  return words.filter((word) => !words.some((other) => other !== word && other.startsWith(word)))
}

/** A character that sorts after every other. Texts from a prefix up to prefix + LAST_LETTER begin with the prefix. */
const LAST_LETTER = '\u{10ffff}'

/**
 * Returns the condition that a column begins with a prefix, byte by byte. Uses an index range.
 *
 * @param from where a later page starts; replaces the prefix as the lower bound, because SQLite uses only one bound
 */
export function beginsWith(value: RawBuilder<unknown>, prefix: string, from: string = prefix) {
  return sql<boolean>`${value} >= ${from} and ${value} < ${prefix + LAST_LETTER}`
}
