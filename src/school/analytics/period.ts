export const DAY_MS = 86_400_000

/** The most days that are counted at a time. Sign-ins are kept for as many. */
export const DAYS_MAX = 92

/** Whole days in UTC, each as the number of days since 1970-01-01. */
export interface Period {
  readonly firstDay: number
  readonly lastDay: number
}

/** The days of two moments in epoch milliseconds and all between; whether there are too many is not asked. */
export function periodOf(fromMs: number, toMs: number): Period {
  return { firstDay: Math.floor(fromMs / DAY_MS), lastDay: Math.floor(toMs / DAY_MS) }
}

/** Each day of a period with its date, as `2026-03-01`. */
export function daysOf({ firstDay, lastDay }: Period) {
  return Array.from({ length: lastDay - firstDay + 1 }, (_, index) => {
    const day = firstDay + index
    return { day, date: new Date(day * DAY_MS).toISOString().slice(0, 10) }
  })
}

/** What the counting of one kind of figures is told. */
export interface Question {
  readonly siteId: string
  readonly period: Period
  /** The first moment of the period, in epoch milliseconds. */
  readonly fromMs: number
  /** The first moment after it. */
  readonly untilMs: number
}
