import type { CursorScope, Cursors } from '../../platform/store/cursor.ts'
import type { PageRequest } from '../../platform/store/keyset.ts'
import { badArgument } from './errors.ts'

/** design 21; `schema.graphql` says the same two numbers. */
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100

export interface PageArguments {
  readonly first?: number | null
  readonly after?: string | null
}

/** Reads `first` and `after`, or throws an error for the caller that names the argument. */
export function pageRequest(
  { first, after }: PageArguments,
  cursors: Cursors,
  scope: CursorScope,
): PageRequest {
  const size = first ?? PAGE_SIZE_DEFAULT
  if (size < 1 || size > PAGE_SIZE_MAX) {
    throw badArgument('first', `first must be from 1 to ${PAGE_SIZE_MAX}`)
  }
  if (after == null) return { first: size, after: undefined }
  const place = cursors.open(after, scope)
  if (!place) throw badArgument('after', 'after is not a cursor of this list')
  return { first: size, after: place }
}

const ID_LENGTH_MAX = 200

/** Whether something may have this id; PostgreSQL fails on a NUL where it should find nothing. */
export function isPossibleId(id: string): boolean {
  return id.length <= ID_LENGTH_MAX && !id.includes('\0')
}
