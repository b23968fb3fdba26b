import { randomUUID } from 'node:crypto'

import type { Kysely, Transaction } from 'kysely'

import { OPENID } from '../../directory/scopes/catalogue.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/feature.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type FindGrant, judgeAccess } from '../grants/access.ts'
import { type SessionEnd, tellsOf } from './ends.ts'

/** Somebody who signed in at an application that wants to hear of the end. */
export interface NewSession {
  readonly familyId: string
  readonly grantId: string
  readonly clientId: string
  readonly personId: string
  readonly sid: string | undefined
  readonly startedAt: number
  readonly expiresAt: number
}

/** The sign-out of a browser, which the engine knows by the session that its id_tokens name. */
export interface BrowserSignOut {
  readonly clientId: string
  readonly personId: string
  readonly sid: string | undefined
}

const SESSIONS_PER_ROUND = 200

export interface SessionDependencies {
  readonly database: Database
  readonly findGrant: FindGrant
  readonly now: () => number
}

/**
 * Who is signed in at which application, and what applications have yet to be told. An end is found by
 * looking at what decides about every use of a token, so that there is no way to end something, by hand
 * in the database too, of which nobody hears.
 */
export function makeSessions({ database: { kysely }, findGrant, now }: SessionDependencies) {
  const end = async (row: Pick<EndedSession, 'family_id'>, reason: SessionEnd) =>
    await kysely.transaction().execute(async (trx) => {
      const gone = await trx
        .deleteFrom('relying_party_session')
        .where('family_id', '=', row.family_id)
        .returning(['client_id', 'person_id', 'sid'])
        .executeTakeFirst()
      // Another process was quicker, or it is an end of which nobody is told.
      if (!gone || !tellsOf[reason]) return
      await addNotice(trx, { ...gone, reason, nowMs: now() })
    })

  return {
    begin: async (session: NewSession) => {
      await kysely
        .insertInto('relying_party_session')
        .values({
          family_id: session.familyId,
          grant_id: session.grantId,
          client_id: session.clientId,
          person_id: session.personId,
          sid: session.sid ?? null,
          started_at: session.startedAt,
          expires_at: session.expiresAt,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    /** Ends what the browser's session began at one application. */
    signedOut: async ({ clientId, personId, sid }: BrowserSignOut) =>
      await kysely.transaction().execute(async (trx) => {
        await trx
          .deleteFrom('relying_party_session')
          .where('client_id', '=', clientId)
          .where('person_id', '=', personId)
          .$if(sid !== undefined, (query) => query.where('sid', '=', sid ?? ''))
          .execute()
        const whose = { client_id: clientId, person_id: personId, sid: sid ?? null }
        await addNotice(trx, { ...whose, reason: 'the person signed out', nowMs: now() })
      }),

    /** Looks for sessions that are over. @returns whether there may be more */
    async findEnds(): Promise<boolean> {
      const rows = await endedSessions(kysely, now())
      for (const row of rows) {
        const reason = await reasonOf(row, { findGrant, now })
        if (reason !== undefined) await end(row, reason)
      }
      return rows.length === SESSIONS_PER_ROUND
    },
  }
}

type EndedSession = Awaited<ReturnType<typeof endedSessions>>[number]

async function reasonOf(
  row: EndedSession,
  { findGrant, now }: Pick<SessionDependencies, 'findGrant' | 'now'>,
): Promise<SessionEnd | undefined> {
  if (row.signed_out_at !== null && row.signed_out_at >= row.started_at) {
    return 'the person signed out everywhere'
  }
  const access = judgeAccess(await findGrant({ grantId: row.grant_id }), [OPENID], now())
  return access.kind === 'lost' ? access.reason : undefined
}

/** Those of which anything may have ended; what has, is judged as it is at the use of a token. */
async function endedSessions(kysely: Kysely<Schema>, nowMs: number) {
  return await kysely
    .selectFrom('relying_party_session as s')
    .innerJoin('oauth_grant as g', 'g.id', 's.grant_id')
    .innerJoin('person as p', 'p.id', 'g.person_id')
    .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
    .leftJoin('site_feature as sf', (join) =>
      join.onRef('sf.site_id', '=', 'app.site_id').on('sf.feature', '=', MCP_CONNECTIONS),
    )
    .leftJoin('signed_out_everywhere as o', 'o.person_id', 's.person_id')
    .select(['s.family_id', 's.grant_id', 's.started_at', 'o.signed_out_at'])
    .where((e) =>
      e.or([
        e('g.ended_at', 'is not', null),
        e('g.expires_at', '<=', nowMs),
        e('p.disabled_at', 'is not', null),
        // What has no row here and never had is not over: it would be looked at for ever.
        e.and([e('app.client_id', 'is', null), e('g.client_origin', '=', 'site')]),
        e('app.disabled_at', 'is not', null),
        e('app.deleted_at', 'is not', null),
        e.and([e('app.site_id', 'is not', null), e('sf.enabled_at', 'is', null)]),
        e('o.signed_out_at', '>=', e.ref('s.started_at')),
        e.and([
          e('g.site_id', 'is not', null),
          e.not(
            e.exists(
              e
                .selectFrom('site_role as r')
                .select('r.role')
                .whereRef('r.person_id', '=', 'g.person_id')
                .whereRef('r.site_id', '=', 'g.site_id'),
            ),
          ),
        ]),
      ]),
    )
    .limit(SESSIONS_PER_ROUND)
    .execute()
}

interface Notice {
  readonly client_id: string
  readonly person_id: string
  readonly sid: string | null
  readonly reason: SessionEnd
  readonly nowMs: number
}

async function addNotice(trx: Transaction<Schema>, { nowMs, ...notice }: Notice): Promise<void> {
  await trx
    .insertInto('sign_out_notice')
    .values({ id: randomUUID(), ...notice, created_at: nowMs, attempts: 0, next_attempt_at: nowMs })
    .execute()
}
