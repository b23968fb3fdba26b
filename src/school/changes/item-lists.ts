import { type RawBuilder, sql } from 'kysely'

import type { ListOrder } from '../../platform/store/keyset.ts'
import { holdsWords } from '../../platform/store/search.ts'
import { isInState, type ReleaseState } from './release.ts'
import type { ItemTable } from './released-items.ts'

/** Which of the things of one kind a list is of. */
export interface ItemFilter {
  readonly nowMs: number
  /** A part of the title or of the slug, in any case of letters. */
  readonly search?: string | null | undefined
  readonly state?: ReleaseState | null | undefined
}

/** The filter as a condition on the rows of the table. */
export function itemMatches(
  table: ItemTable,
  { nowMs, search, state }: ItemFilter,
): RawBuilder<boolean> {
  const words = search ?? ''
  const found = sql<boolean>`(${holdsWords(`${table}.title`, words)} or ${holdsWords(`${table}.slug`, words)})`
  const conditions = [
    ...(search == null ? [] : [found]),
    ...(state == null ? [] : [isInState(state, nowMs)]),
  ]
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `)
}

interface Listed {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly createdAt: number
}

/** The orders that lists of any kind can have. */
export function itemOrders(table: ItemTable) {
  const id = `${table}.id`
  return {
    SLUG: {
      ...{ by: `${table}.slug`, id, direction: 'asc' },
      placeOf: (row) => [row.slug, row.id],
    },
    TITLE: {
      ...{ by: `${table}.title`, id, direction: 'asc' },
      placeOf: (row) => [row.title, row.id],
    },
    NEWEST: {
      ...{ by: `${table}.created_at`, id, direction: 'desc' },
      placeOf: (row) => [row.createdAt, row.id],
    },
  } as const satisfies Record<string, ListOrder<Listed>>
}
