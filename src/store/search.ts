import { sql } from 'kysely'

/** Whether a column holds these words, in any case of letters. It reads every row that is left. */
export function holdsWords(column: string, words: string) {
  return sql<boolean>`lower(${sql.ref(column)}) like ${`%${escaped(words)}%`} escape '!'`
}

/** The three signs that mean something in a pattern stand for themselves. */
function escaped(words: string): string {
  return words.toLowerCase().replace(/[%_!]/g, '!$&').replaceAll('\0', '')
}
