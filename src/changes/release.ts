import { sql } from 'kysely'

/** Where something that is offered stands on its way: what its two moments say. */
export type ReleaseState = 'DRAFT' | 'SCHEDULED' | 'PUBLISHED' | 'ARCHIVED'

export interface Release {
  readonly publishedAt: number | null
  readonly archivedAt: number | null
}

export function releaseStateOf({ publishedAt, archivedAt }: Release, nowMs: number): ReleaseState {
  if (archivedAt !== null) return 'ARCHIVED'
  if (publishedAt === null) return 'DRAFT'
  return publishedAt > nowMs ? 'SCHEDULED' : 'PUBLISHED'
}

/** The same, as a condition on the columns of a table. */
export function isInState(state: ReleaseState, nowMs: number) {
  switch (state) {
    case 'ARCHIVED':
      return sql<boolean>`archived_at is not null`
    case 'DRAFT':
      return sql<boolean>`archived_at is null and published_at is null`
    case 'SCHEDULED':
      return sql<boolean>`archived_at is null and published_at > ${nowMs}`
    case 'PUBLISHED':
      return sql<boolean>`archived_at is null and published_at <= ${nowMs}`
  }
}
