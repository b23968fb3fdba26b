import { sql } from 'kysely'

import { conflict } from './refusals.ts'

/** Where something that is shown to visitors stands on its way: what its two moments say. */
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

/** What may be done with a release; each is no change where it is so already. */
export type ReleaseChange =
  | { readonly kind: 'publish'; readonly at: number | undefined }
  | { readonly kind: 'unpublish' }
  | { readonly kind: 'archive' }
  | { readonly kind: 'restore' }

/**
 * What a release is to be after a change: published now or at a time, taken back, put away, or
 * brought back.
 *
 * @throws ChangeRefused when it is archived and should be published
 */
export function decideRelease(
  release: Release,
  change: ReleaseChange,
  { nowMs, noun }: { readonly nowMs: number; readonly noun: string },
): Partial<Release> {
  switch (change.kind) {
    case 'publish':
      if (release.archivedAt !== null) {
        throw conflict(`the ${noun} is archived; restore it first`)
      }
      // What is published already stays so since then.
      return { publishedAt: change.at ?? Math.min(release.publishedAt ?? nowMs, nowMs) }
    case 'unpublish':
      return { publishedAt: null }
    case 'archive':
      return { archivedAt: release.archivedAt ?? nowMs }
    case 'restore':
      return { archivedAt: null }
  }
}
