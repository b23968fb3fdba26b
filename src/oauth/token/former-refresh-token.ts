import { createHmac } from 'node:crypto'

import type { AdapterPayload } from 'oidc-provider'

import { sha256 } from '../../platform/store/digest.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { FamilyToken } from '../grants/family-store.ts'

/**
 * A refresh token of version 0.1.0, which kept a record of each. The first use of one begins a family,
 * of which it is generation 0 from then on. They live for 30 days at most, so that this file goes with
 * the release after the next.
 */
export interface FormerToken {
  readonly value: string
  readonly grantId: string | undefined
  readonly token: FamilyToken
  readonly startedAt: number
  readonly issuedAt: number
  /** What the version before answered to its use, derived from a seed in the record. */
  readonly answered?: {
    readonly atMs: number
    readonly refreshToken: string
  }
}

/** @returns nothing for a value that the version before has not stored, or not any more */
export async function findFormerToken(
  value: string,
  records: Pick<StateAdapter, 'find' | 'consumeOnce'>,
): Promise<FormerToken | undefined> {
  const record = await records.find(value)
  if (!record) return undefined
  const former = {
    value,
    grantId: record.grantId,
    token: familyTokenOf(record),
    startedAt: Number(record['iiat'] ?? record.iat) * 1000,
    issuedAt: Number(record.iat) * 1000,
  }
  if (!record['consumed']) return former
  // It was consumed, so that this only reads what is there.
  const { seed = '', consumedAtMs = 0 } = (await records.consumeOnce(value)) ?? {}
  const refreshToken = createHmac('sha256', seed).update(`refresh ${value}`).digest('base64url')
  // A successor that is not there was never answered, and the token may be used again.
  if (!(await records.find(refreshToken))) return former
  return { ...former, answered: { atMs: consumedAtMs, refreshToken } }
}

/** The id of the family of a former token. No code has it, whatever its value is. */
export function familyOfFormer(value: string): string {
  return sha256(`refresh token ${value}`)
}

/** What a code, or a refresh token of the version before, says for the tokens that come of it. */
export function familyTokenOf(record: AdapterPayload): FamilyToken {
  const text = (name: string) => (typeof record[name] === 'string' ? record[name] : undefined)
  return {
    scopes: (record.scope ?? '').split(' ').filter(Boolean),
    refreshes: true,
    audience: text('resource'),
    claims: record['claims'],
    sid: text('sid'),
    sessionUid: text('sessionUid'),
  }
}
