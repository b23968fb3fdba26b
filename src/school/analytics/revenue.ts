/** Adds up a site's orders and refunds by period and currency. Callers subtract the refunds. */

import { setImmediate } from 'node:timers/promises'

import { type Kysely, type RawBuilder, sql } from 'kysely'

import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { DAY_MS, dayOfColumn, type Question as SiteQuestion } from './counting.ts'

/** The length of a period's name (`2026-10-01` or `2026-10`), by kind. The total has an empty name. */
const nameLengths = { DAY: 10, MONTH: 7, TOTAL: 0 } as const

type Question = Omit<SiteQuestion, 'period'>

/** The orders and refunds of a period in one currency. Amounts are in hundredths of its unit. */
interface Revenue {
  /** The day or month, such as `2026-10-01` or `2026-10`; empty for the total. */
  readonly period: string
  readonly currency: string
  orderCount: number
  grossCents: number
  refundCount: number
  refundedCents: number
}

/** The time span of one statement. It is short, because SQLite blocks the event loop. */
const PIECE_MS = 7 * DAY_MS

/**
 * Adds up orders and refunds by period and currency. Orders count when they were placed, and refunds when they were
 * made, so a later refund does not change an earlier period. Days are in UTC. Sorts the sums by period and currency.
 */
export async function sumRevenue(
  { kysely }: Database,
  { siteId, fromMs, untilMs }: Question,
  by: keyof typeof nameLengths,
): Promise<Revenue[]> {
  const sums = new Map<string, Revenue>()
  for (let start = fromMs; start < untilMs; start += PIECE_MS) {
    if (start > fromMs) await setImmediate()
    const end = Math.min(start + PIECE_MS, untilMs)
    for (const row of await sumPiece(kysely, { siteId, fromMs: start, untilMs: end })) {
      const { day, currency } = row
      const period = new Date(Number(day) * DAY_MS).toISOString().slice(0, nameLengths[by])
      const key = `${period} ${currency}`
      const none = { orderCount: 0, grossCents: 0, refundCount: 0, refundedCents: 0 }
      const sum = sums.get(key) ?? { period, currency, ...none }
      const [count, cents] = row.isRefund
        ? (['refundCount', 'refundedCents'] as const)
        : (['orderCount', 'grossCents'] as const)
      sum[count] += Number(row.orders)
      sum[cents] += Number(row.cents)
      sums.set(key, sum)
    }
  }
  return [...sums.entries()].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum)
}

interface Sum {
  readonly currency: string
  readonly day: number
  readonly isRefund: number
  readonly orders: number
  readonly cents: number
}

async function sumPiece(kysely: Kysely<Schema>, { siteId, fromMs, untilMs }: Question) {
  const sumBy = (column: 'placed_at' | 'refunded_at', isRefund: number): RawBuilder<Sum> => sql`
    select currency, ${dayOfColumn(column)} as day, ${sql.lit(isRefund)} as ${sql.ref('isRefund')},
      count(*) as orders, sum(total_cents) as cents
    from customer_order
    where site_id = ${siteId} and ${sql.ref(column)} >= ${fromMs} and ${sql.ref(column)} < ${untilMs}
    group by 1, 2`
  const both = sql<Sum>`${sumBy('placed_at', 0)} union all ${sumBy('refunded_at', 1)}`
  return (await both.execute(kysely)).rows
}
