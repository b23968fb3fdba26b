import { setImmediate } from 'node:timers/promises'

import { type Kysely, type RawBuilder, sql } from 'kysely'

import type { Schema } from '../../platform/store/schema.ts'

export const DAY_MS = 86_400_000

/** The maximum number of days in a period, enforced by the Admin API. */
export const DAYS_MAX = 92

/** A period of whole days in UTC, both ends inclusive. Day 0 is 1970-01-01. */
export interface Period {
  readonly firstDay: number
  readonly lastDay: number
}

/** Returns the period from the day of `fromMs` through the day of `toMs`. Does not limit the period's length. */
export function periodOf(fromMs: number, toMs: number): Period {
  return { firstDay: Math.floor(fromMs / DAY_MS), lastDay: Math.floor(toMs / DAY_MS) }
}

/** Lists the days of a period, with dates such as `2026-03-01`. */
export function daysOf({ firstDay, lastDay }: Period) {
  return Array.from({ length: lastDay - firstDay + 1 }, (_, index) => {
    const day = firstDay + index
    return { day, date: new Date(day * DAY_MS).toISOString().slice(0, 10) }
  })
}

export interface Question {
  readonly siteId: string
  readonly period: Period
  readonly fromMs: number
  /** The end of the period, exclusive. */
  readonly untilMs: number
}

/** Computes one of a site's figures for each day of the period. */
export type CountByDay = (kysely: Kysely<Schema>, question: Question) => Promise<Tally<number>>

/** Computes one of a site's figures for each of the given courses. */
export type CountByCourse = (
  kysely: Kysely<Schema>,
  question: Question,
  courseIds: readonly string[],
) => Promise<Tally<string>>

/** The count for each day or id. A missing key means zero. */
export type Tally<Key extends string | number> = Map<Key, number>

export interface Counted<Key> {
  readonly key: Key
  readonly total: number
}

/** Calls `count` for each piece of a list, and adds up the counts by key. */
export async function tallyOf<Piece, Key extends string | number>(
  pieces: AsyncIterable<Piece>,
  count: (piece: Piece) => Promise<readonly Counted<Key>[]>,
): Promise<Tally<Key>> {
  const tally: Tally<Key> = new Map()
  for await (const piece of pieces) addTo(tally, await count(piece))
  return tally
}

export function addTo<Key extends string | number>(
  tally: Tally<Key>,
  rows: readonly Counted<Key>[],
): Tally<Key> {
  for (const { key, total } of rows) tally.set(key, (tally.get(key) ?? 0) + total)
  return tally
}

/**
 * Returns the SQL for the day number of a time column. The divisor is a literal: PostgreSQL treats two parameters
 * as different values, so a query with parameters could not repeat the expression in `group by`.
 */
export function dayOfColumn(column: string): RawBuilder<number> {
  return sql<number>`${sql.ref(column)} / ${sql.lit(DAY_MS)}`
}

/**
 * Reads a long list in pieces, to keep each statement short. Yields to the event loop between pieces, because SQLite
 * blocks it.
 *
 * @param next reads up to `size` rows after the given row or, without one, from the start
 */
export async function* readInPieces<Row>(
  size: number,
  next: (after: Row | undefined) => Promise<readonly Row[]>,
): AsyncGenerator<readonly Row[]> {
  let after: Row | undefined
  for (;;) {
    const rows = await next(after)
    if (rows.length > 0) yield rows
    if (rows.length < size) return
    after = rows.at(-1)
    await setImmediate()
  }
}

/** Reads the distinct values of an id column for a site, in ascending order and in pieces. */
export function idsOfSite(
  kysely: Kysely<Schema>,
  siteId: string,
  [table, column]: readonly ['site_role' | 'oauth_grant', 'id' | 'person_id'],
  size: number,
): AsyncGenerator<readonly string[]> {
  return readInPieces<string>(size, async (after = '') => {
    const { rows } = await sql<{ id: string }>`
      select distinct ${sql.ref(column)} as id from ${sql.table(table)}
      where site_id = ${siteId} and ${sql.ref(column)} > ${after}
      order by 1 limit ${size}`.execute(kysely)
    return rows.map(({ id }) => id)
  })
}
