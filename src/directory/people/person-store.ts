/** Finds the people who can sign in, and records their sign-outs. The engine keeps the sessions. */

import { type Kysely, sql } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import { EVERYTHING_ENDED } from '../../platform/store/redis-memory.ts'
import type { Schema } from '../../platform/store/schema.ts'
import type { LiveSession } from './browser-sessions.ts'

export interface Person {
  readonly id: string
  readonly name: string
  readonly email: string
  /** The person's language (BCP 47) and time zone (IANA), if known. */
  readonly locale: string | null
  readonly timeZone: string | null
  /** When all sessions of the person were last ended, if ever. Sessions that were authenticated earlier are invalid. */
  readonly signedOutAt?: number | undefined
  /** Whether the account will be deleted unless the person signs in. */
  readonly isLeaving?: true | undefined
  /** The requested browser session; undefined if it has ended. The session store may still contain it. */
  readonly session?: LiveSession | undefined
}

/** The session to look up along with the person. */
interface SessionOf {
  /** The id of the browser's session. */
  readonly id: string
  /** The id of the session on our own pages; undefined outside these pages. */
  readonly pageSessionId?: string
}

export type PersonStore = ReturnType<typeof makePersonStore>

/** Creates the functions that find people, record sign-outs, and cancel the deletion of accounts. */
export function makePersonStore({ kysely }: Database, now: () => number) {
  return {
    /** Finds a person whose account is not disabled. Also finds the requested session, unless it has ended. */
    async findPerson(personId: string, asked?: SessionOf): Promise<Person | undefined> {
      const row = await kysely
        .selectFrom('person')
        .leftJoin('signed_out_session as ended', (join) =>
          join.on('ended.digest', '=', sha256(asked?.pageSessionId ?? '')),
        )
        .leftJoin('browser_session as s', (join) =>
          join.on('s.id', '=', asked?.id ?? '').onRef('s.person_id', '=', 'person.id'),
        )
        .leftJoin('setting as all', (join) => join.on('all.name', '=', EVERYTHING_ENDED))
        .select(['person.id', 'person.name', 'email', 'person.signed_out_at', 'all.value'])
        .select(['deletion_due_at', 's.authenticated_at', 's.acr', 's.site_id', 's.seen_at'])
        .select(['ended.digest', 's.expires_at', 'locale', 'time_zone'])
        .where('person.id', '=', personId)
        .where('disabled_at', 'is', null)
        .executeTakeFirst()
      if (!row) return undefined
      const { id, name, email, digest, expires_at } = row
      const authenticatedAt = Number(row.authenticated_at)
      const signedOutAt = Math.max(row.signed_out_at ?? 0, Number(row.value ?? 0))
      const lives = digest === null && Number(expires_at) > now() && authenticatedAt > signedOutAt
      const session = asked && {
        id: asked.id,
        authenticatedAt,
        acr: String(row.acr),
        siteId: row.site_id ?? undefined,
        seenAt: Number(row.seen_at),
      }
      return {
        ...{ id, name, email, locale: row.locale, timeZone: row.time_zone },
        ...(signedOutAt > 0 && { signedOutAt }),
        ...(row.deletion_due_at !== null && { isLeaving: true }),
        ...(lives && { session }),
      }
    },

    /** Records a sign-out from our own pages, because a restored session store may still contain the session. */
    async signOutSession(sessionId: string, keptSeconds: number): Promise<void> {
      const times = { signed_out_at: now(), kept_until: now() + keptSeconds * 1000 }
      await insertNew(kysely, 'signed_out_session', { digest: sha256(sessionId), ...times })
    },

    /** Cancels the scheduled deletion of an account, if any, and records an audit event. */
    async cancelDeletion(personId: string): Promise<void> {
      await kysely.transaction().execute(async (trx) => {
        const { numUpdatedRows } = await trx
          .updateTable('person')
          .set({ deletion_due_at: null })
          .where('id', '=', personId)
          .where('deletion_due_at', 'is not', null)
          .where('deleted_at', 'is', null)
          .executeTakeFirstOrThrow()
        if (numUpdatedRows === 0n) return
        const subject = { kind: 'person', id: personId }
        const event = { action: 'account.deletion_cancelled', subject, siteId: undefined } as const
        await recordAuditEvent(trx, { personId, now: now() }, event)
      })
    },
  }
}

/** Stores the language that a person chose; null if the browser decides. Records an audit event if it changed. */
export async function setLanguage(
  { kysely }: Database,
  locale: string | null,
  actor: Actor,
): Promise<void> {
  await kysely.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('person')
      .set({ locale, updated_at: actor.now })
      .where('id', '=', actor.personId)
      .where(sql`coalesce(locale, '')`, '<>', locale ?? '')
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    const subject = { kind: 'person', id: actor.personId }
    await recordAuditEvent(trx, actor, { action: 'account.language', subject, siteId: undefined })
  })
}

/** Selects the account with the given e-mail address. */
export const accountOf = (kysely: Kysely<Schema>, email: string) =>
  kysely.selectFrom('person').where('email_canonical', '=', canonicalEmail(email))

/** Marks an account's address as verified. @returns false if the account is disabled, or has another address */
export async function markVerified(
  trx: Kysely<Schema>,
  personId: string,
  email: string,
  nowMs: number,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('person')
    .set((e) => ({ email_verified_at: e.fn.coalesce('email_verified_at', e.val(nowMs)) }))
    .where('id', '=', personId)
    .where('email_canonical', '=', canonicalEmail(email))
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
