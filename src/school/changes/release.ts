import { sql } from 'kysely'

import { conflict } from './refusals.ts'

/** The release state of an item, derived from its two timestamps. */
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

/** Returns the SQL condition for rows in a release state, equivalent to `releaseStateOf`. */
export function isInState(state: ReleaseState, nowMs: number) {
  const conditions = {
    ARCHIVED: sql<boolean>`archived_at is not null`,
    DRAFT: sql<boolean>`archived_at is null and published_at is null`,
    SCHEDULED: sql<boolean>`archived_at is null and published_at > ${nowMs}`,
    PUBLISHED: sql<boolean>`archived_at is null and published_at <= ${nowMs}`,
  }
  return conditions[state]
}

/** A change of the release state. `at` is the publication time, which may be in the future. */
export type ReleaseChange =
  | { readonly kind: 'publish'; readonly at: number | undefined }
  | { readonly kind: 'unpublish' }
  | { readonly kind: 'archive' }
  | { readonly kind: 'restore' }

/** Returns the timestamp that a change sets; null clears it. @throws ChangeRefused for publishing an archived item */
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
      // Without `at`, an item that is already published keeps its publication time.
      return { publishedAt: change.at ?? Math.min(release.publishedAt ?? nowMs, nowMs) }
    case 'unpublish':
      return { publishedAt: null }
    case 'archive':
      return { archivedAt: release.archivedAt ?? nowMs }
    case 'restore':
      return { archivedAt: null }
  }
}
