import { type RawBuilder, sql } from 'kysely'

import type { Database } from './database.ts'

/** Builds the condition that a column contains the text. Ignores case (on SQLite, only for A to Z). Uses no index. */
export function containsText(column: string, words: string) {
  const pattern = words.replace(/[%_!]/g, '!$&').replaceAll('\0', '')
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${`%${pattern}%`}) escape '!'`
}

/** The maximum number of words in a search. Further words are ignored. */
const WORDS_MAX = 8

/** The separators between words, the same as in the triggers that write `person_word`. */
const SEPARATORS = /[-\s.@_'+,()]+/

/**
 * Splits a search into words as in `person_word`: in lower case (on SQLite, only A to Z). Omits a word that is a prefix
 * of another word. If there are no words, returns one empty word, which is a prefix of every word.
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

/** A character that sorts after all others. Texts from a prefix up to prefix + LAST_LETTER begin with the prefix. */
const LAST_LETTER = '\u{10ffff}'

/**
 * Builds the condition that a column begins with a prefix, compared byte by byte. Uses an index range.
 *
 * @param from the start of a later page. It replaces the prefix as the lower bound, because SQLite uses only one
 */
export function beginsWith(value: RawBuilder<unknown>, prefix: string, from: string = prefix) {
  return sql<boolean>`${value} >= ${from} and ${value} < ${prefix + LAST_LETTER}`
}
