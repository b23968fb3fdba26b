import type { ClaimsParameter } from 'oidc-provider'

import { compiled, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'

/**
 * A family of tokens: all tokens from one code exchange and later refreshes. Stored as one row, from which the tokens
 * are derived (oauth/token/token-values.ts). The row also marks the code as used.
 */
export interface Family {
  readonly id: string
  /** 128 random bits in base64url, needed to derive the tokens of the family. */
  readonly seed: string
  readonly token: FamilyToken
  /** The number of times the refresh token was replaced. Older refresh tokens are accepted only as retries. */
  readonly generation: number
  /**
   * Start times of the latest generations, oldest first, in epoch milliseconds. After a refresh that keeps the refresh
   * token, contains only the time of that refresh.
   */
  readonly steps: readonly number[]
  readonly startedAt: number
  readonly ended: boolean
}

/** The content that all tokens of a family share. An access token may have fewer scopes. */
export interface FamilyToken {
  readonly scopes: readonly string[]
  /** Whether the family has refresh tokens. */
  readonly refreshes: boolean
  /** The audience of the access tokens (RFC 8707); undefined for a sign-in without a resource. */
  readonly audience?: string | undefined
  /** The `claims` parameter of the authorization request (OpenID Connect Core §5.5). */
  readonly claims?: ClaimsParameter | undefined
  readonly sid?: string | undefined
  /** The session's authentication method at the authorization (directory/people/authentication.ts). */
  readonly acr?: string | undefined
  /** When the person authenticated, in epoch seconds. A refresh does not change it. */
  readonly authTime?: number | undefined
  /** The thumbprint of the key to which access tokens and public clients' refresh tokens are bound (RFC 9449 §5). */
  readonly jkt?: string | undefined
}

export interface NewFamily extends Omit<Family, 'generation' | 'steps' | 'ended'> {
  readonly grantId: string
  /** The time until which the row is kept, in epoch milliseconds. The code and all tokens must have expired by then. */
  readonly keptUntil: number
}

export function makeFamilyStore({ kysely }: Database) {
  type Values = Omit<NewFamily, 'token'> & { readonly token: string; readonly steps: string }
  const insert = compiled(kysely, (value: Valued<Values>) =>
    kysely
      .insertInto('refresh_token_family')
      .values({
        id: value('id'),
        grant_id: value('grantId'),
        seed: value('seed'),
        token: value('token'),
        generation: 0,
        steps: value('steps'),
        started_at: value('startedAt'),
        kept_until: value('keptUntil'),
      })
      .onConflict((conflict) => conflict.doNothing()),
  )
  const advance = compiled(
    kysely,
    (value: Valued<{ id: string; from: number; to: number; steps: string }>) =>
      kysely
        .updateTable('refresh_token_family')
        .set({ generation: value('to'), steps: value('steps') })
        .where('id', '=', value('id'))
        .where('generation', '=', value('from'))
        .where('ended_at', 'is', null),
  )
  return {
    /** Stores a new family. @returns false if it already exists, because another exchange has used the code */
    async begin(family: NewFamily): Promise<boolean> {
      const token = JSON.stringify(family.token)
      const { numAffectedRows } = await insert({ ...family, token, steps: `${family.startedAt}` })
      return numAffectedRows === 1n
    },

    /**
     * Starts the generation `to`, or records a refresh that keeps the current generation.
     *
     * @returns false if another request has started a generation, or if the family has ended
     */
    async step({ id, generation }: Family, to: number, steps: readonly number[]): Promise<boolean> {
      const values = { id, from: generation, to, steps: steps.join(' ') }
      const { numAffectedRows } = await advance(values)
      return numAffectedRows === 1n
    },

    /** Binds existing and future tokens to a key. @returns false if another request has changed the binding */
    async bind({ id, token }: Pick<Family, 'id' | 'token'>, jkt: string): Promise<boolean> {
      const { numUpdatedRows } = await kysely
        .updateTable('refresh_token_family')
        .set({ token: JSON.stringify({ ...token, jkt }) })
        .where('id', '=', id)
        .where('token', '=', JSON.stringify(token))
        .executeTakeFirstOrThrow()
      return numUpdatedRows === 1n
    },

    /** Revokes all tokens of the family. The grant stays valid. */
    async end(id: string, nowMs: number): Promise<void> {
      await kysely
        .updateTable('refresh_token_family')
        .set({ ended_at: nowMs })
        .where('id', '=', id)
        .where('ended_at', 'is', null)
        .execute()
    },
  }
}
