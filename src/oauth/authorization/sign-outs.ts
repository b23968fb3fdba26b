/** Records people's sessions at applications that receive sign-out notices, and puts the notices into the outbox. */

import type { Kysely } from 'kysely'

import type { ChosenSessions } from '../../directory/people/browser-sessions.ts'
import { OPENID } from '../../directory/scopes/catalogue.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import { hasRole } from '../../directory/sites/site-choice.ts'
import { type MessageHandler, storeMessage, Undeliverable } from '../../platform/outbox/outbox.ts'
import type { Platform } from '../../platform/platform.ts'
import type { BackgroundTask } from '../../platform/process/background-tasks.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type FindGrant, judgeAccess, type LostReason } from '../grants/judge-access.ts'
import type { BegunSession } from '../token/authorization-code.ts'

export interface SignOutPorts extends Pick<Platform, 'database' | 'now' | 'sweeps'> {
  readonly findGrant: FindGrant
  /** Records that an application did not accept a notice. */
  readonly noteFailure: (clientId: string, reason: string) => void
}

/** Sends a notice. @throws if the application does not respond with 200 or 204 */
export type SendNotice = (notice: SignOutNotice) => Promise<void>

export type SignOuts = ReturnType<typeof makeSignOuts>

/** The time limit for an attempt to send a notice. An application that starts on demand needs several seconds. */
export const NOTICE_WITHIN_MS = 8000
/** The maximum number of attempts, which take about 75 minutes. After the last attempt, the notice is dropped. */
export const NOTICE_ATTEMPTS_MAX = 6

export function makeSignOuts(ports: SignOutPorts) {
  const { findEnds, ...sessions } = makeAppSessions(ports)
  return {
    ...sessions,
    /** Creates the background task that finds ended sessions. */
    task: (everySeconds: number): BackgroundTask => ({
      ...{ name: 'sign-outs', everySeconds, onlyWhen: ports.sweeps },
      async run(signal) {
        while (!signal.aborted && (await findEnds())) {
          // Continue while there may be more ended sessions.
        }
      },
    }),
    /** Creates the handler that sends the notices in the outbox. */
    handler: (send: SendNotice): MessageHandler => ({
      async send({ payload, attempt }) {
        const notice = payload as SignOutNotice
        try {
          await send(notice)
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error)
          ports.noteFailure(notice.clientId, reason)
          throw attempt < NOTICE_ATTEMPTS_MAX ? error : new Undeliverable(reason)
        }
      },
      gaveUp: () => {},
    }),
  }
}

/** Why a session at an application ended. */
export type SessionEnd = 'the person signed out everywhere' | LostReason

/**
 * Reasons that cause no notice. If the application has revoked its refresh token, or the grant has expired or is
 * missing, the application itself decides whether to end its session. All other reasons cause a notice, even a replayed
 * code or refresh token, because the application's tokens may be stolen.
 */
const quietEnds: ReadonlySet<SessionEnd> = new Set<SessionEnd>([
  'the grant has ended: the client revoked it',
  'the grant has expired',
  'the grant does not exist',
])

/** Whether the application is notified of a session that ended for this reason. */
function isNotified(reason: SessionEnd): boolean {
  return !quietEnds.has(reason)
}
const SESSIONS_PER_ROUND = 200

/**
 * Records the sessions that people have at applications, and queues a notice when a session ends, except for
 * `quietEnds`. Unless the person signs out, `judgeAccess` decides whether a session has ended. It also judges every use
 * of a token. So even a change made by hand in the database can cause a notice.
 */
function makeAppSessions({ database: { kysely }, findGrant, now }: SignOutPorts) {
  const end = async ({ family_id, grant_id, sid }: EndedSession, reason: SessionEnd) =>
    await kysely.transaction().execute(async (trx) => {
      // Exchanges with the same grant and `sid` belong to one session. One notice covers them all.
      const gone = await trx
        .deleteFrom('relying_party_session')
        .where('grant_id', '=', grant_id)
        .where(sid === null ? 'family_id' : 'sid', '=', sid ?? family_id)
        .returning(['client_id', 'person_id', 'sid'])
        .executeTakeFirst()
      // Another process may have deleted the session first.
      if (gone && isNotified(reason)) await queueNotice(trx, gone, now())
    })

  const reasonOf = async (row: EndedSession): Promise<SessionEnd | undefined> => {
    if (row.signed_out_at !== null && row.signed_out_at >= row.started_at) {
      return 'the person signed out everywhere'
    }
    return judgeAccess(await findGrant({ grantId: row.grant_id }), [OPENID], now())
  }

  return {
    begin: async (session: BegunSession) => {
      await insertNew(kysely, 'relying_party_session', {
        family_id: session.id,
        grant_id: session.grantId,
        client_id: session.clientId,
        person_id: session.personId,
        sid: session.token.sid ?? null,
        browser_session_id: session.browserSessionId ?? null,
        started_at: session.startedAt,
        expires_at: session.keptUntil,
      })
    },

    /** Ends the person's session with this `sid` at an application, or all if `sid` is undefined. Queues a notice. */
    signedOut: async ({ clientId, sub, sid }: SignOutNotice) =>
      await kysely.transaction().execute(async (trx) => {
        await trx
          .deleteFrom('relying_party_session')
          .where('client_id', '=', clientId)
          .where('person_id', '=', sub)
          .$if(sid !== undefined, (query) => query.where('sid', '=', sid ?? ''))
          .execute()
        await queueNotice(trx, { client_id: clientId, person_id: sub, sid: sid ?? null }, now())
      }),

    /** Ends the application sessions that began in the person's chosen browser sessions. Queues notices. */
    browsersSignedOut: async (personId: string, { id, others }: ChosenSessions) =>
      await kysely.transaction().execute(async (trx) => {
        const ended = await trx
          .deleteFrom('relying_party_session')
          .where('person_id', '=', personId)
          .where('browser_session_id', others ? '<>' : '=', id)
          .returning(['client_id', 'person_id', 'sid'])
          .execute()
        // Exchanges in the same session have the same `sid`. One notice covers them all.
        const notices = new Map(ended.map((row) => [`${row.client_id} ${row.sid}`, row]))
        for (const row of notices.values()) await queueNotice(trx, row, now())
      }),

    /** Deletes a batch of sessions that have ended, and queues their notices. @returns whether more may have ended */
    async findEnds(): Promise<boolean> {
      const rows = await endedSessions(kysely, now())
      let hasEnded = false
      for (const row of rows) {
        const reason = await reasonOf(row)
        if (reason !== undefined) await end(row, reason)
        hasEnded ||= reason !== undefined
      }
      return hasEnded && rows.length === SESSIONS_PER_ROUND
    },
  }
}

type EndedSession = Awaited<ReturnType<typeof endedSessions>>[number]

/** Finds sessions that may have ended, up to a maximum. `reasonOf` decides whether a session has ended. */
async function endedSessions(kysely: Kysely<Schema>, nowMs: number) {
  return await kysely
    .selectFrom('relying_party_session as s')
    .innerJoin('oauth_grant as g', 'g.id', 's.grant_id')
    .innerJoin('person as p', 'p.id', 'g.person_id')
    .leftJoin('oauth_application as app', 'app.client_id', 'g.client_id')
    .leftJoin('site_feature as sf', (join) =>
      join.onRef('sf.site_id', '=', 'app.site_id').on('sf.feature', '=', MCP_CONNECTIONS),
    )
    .select(['s.family_id', 's.grant_id', 's.sid', 's.started_at', 'p.signed_out_at'])
    .where((e) =>
      e.or([
        e('g.ended_at', 'is not', null),
        e('g.expires_at', '<=', nowMs),
        e('p.disabled_at', 'is not', null),
        // Each application has a row in `oauth_application`. If the row is missing, the application was deleted.
        e.and([e('app.client_id', 'is', null), e('g.client_origin', 'in', ['site', 'operator'])]),
        e('app.disabled_at', 'is not', null),
        e('app.deleted_at', 'is not', null),
        e.and([e('app.site_id', 'is not', null), e('sf.enabled_at', 'is', null)]),
        e('p.signed_out_at', '>=', e.ref('s.started_at')),
        e.and([e('g.site_id', 'is not', null), e.not(hasRole('g.person_id', 'g.site_id'))]),
      ]),
    )
    .limit(SESSIONS_PER_ROUND)
    .execute()
}

/** The content of a notice (OpenID Connect Back-Channel Logout 1.0 §2.4). */
interface SignOutNotice {
  readonly clientId: string
  /** The id of the person. Not named `personId`, because deleting an account deletes messages with that property. */
  readonly sub: string
  readonly sid: string | undefined
}

/** Queues a notice. Each application has its own queue, so a slow application does not delay others. */
async function queueNotice(
  trx: Kysely<Schema>,
  session: Pick<Schema['relying_party_session'], 'client_id' | 'person_id' | 'sid'>,
  nowMs: number,
): Promise<void> {
  const { client_id: clientId, person_id: sub, sid } = session
  const payload: SignOutNotice = { clientId, sub, sid: sid ?? undefined }
  const queue = `sign-out ${clientId}`
  await storeMessage(trx, { kind: 'sign_out_notice', queue, payload, nowMs })
}
