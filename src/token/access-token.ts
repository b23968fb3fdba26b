import { createHash } from 'node:crypto'

import type { StateStore } from '../store/state.ts'

/**
 * What the log says of a token that is worth nothing any more. To the caller all such tokens are
 * alike; whoever reads the log wants to know whether a client kept using a token that had expired,
 * one that was revoked, or one that this service never issued.
 */

/** How long an access token is remembered after its end. */
export const ENDED_KEPT_SECONDS = 600

/** A model of our own: marks of revoked access tokens, under the digest of the token. */
const MARKS = 'RevokedAccessToken'

export async function markRevoked(state: StateStore, token: string): Promise<void> {
  await state.adapterFor(MARKS).upsert(digest(token), {}, ENDED_KEPT_SECONDS)
}

/** Why the store does not know a token. One round trip, made for refused tokens only. */
export async function whyUnknown(state: StateStore, token: string): Promise<string> {
  const mark = await state.adapterFor(MARKS).find(digest(token))
  return mark
    ? 'the token was revoked'
    : 'the token is unknown: never issued, or ended with its grant or long ago'
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
