/** Tracks the sessions of applications that receive sign-out notices. Queues and sends the notices. */

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import type { Kysely, Selectable, Transaction } from 'kysely'
import type { Logger } from 'pino'

import type { ChosenSessions } from '../../directory/people/browser-sessions.ts'
import { OPENID } from '../../directory/scopes/catalogue.ts'
import { MCP_CONNECTIONS } from '../../directory/sites/site-admin.ts'
import type { BackgroundTask } from '../../platform/process/background-tasks.ts'
import type { Database } from '../../platform/store/database.ts'
import { countRows } from '../../platform/store/keyset.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { type FindGrant, judgeAccess, type LostReason } from '../grants/judge-access.ts'
import type { BegunSession } from '../token/authorization-code.ts'

export interface SignOutPorts {
  readonly database: Database
  readonly findGrant: FindGrant
  readonly now: () => number
  readonly logger: Logger
  /** Records that an application did not accept a notice. */
  readonly noteFailure: (clientId: string, reason: string) => void
  /** Whether this process runs the background tasks for all processes on its host. */
  readonly sweeps: BackgroundTask['onlyWhen']
}

/** Sends a notice. @throws if the application does not respond with 200 or 204 */
export type SendNotice = (notice: SignOutNotice) => Promise<void>

export type SignOuts = ReturnType<typeof makeSignOuts>

/** Time limit of an attempt to send a notice. An application that starts on demand needs several seconds. */
export const NOTICE_WITHIN_MS = 8000
/** Delays from the time limit of each attempt to the next attempt, in seconds. */
const WAITS_SECONDS = [10, 60, 600, 3600]
export const NOTICE_ATTEMPTS_MAX = WAITS_SECONDS.length + 1
const CLIENTS_AT_ONCE = 8
const NOTICES_AT_ONCE = 4
/** Time after which `takeTurn` sends no more notices, so other applications do not wait long. */
const TURN_MS = 1000

export function makeSignOuts(ports: SignOutPorts) {
  const { findEnds, ...sessions } = makeSessions(ports)
  return {
    ...sessions,
    waitingNotices: async () =>
      await countRows(ports.database.kysely.selectFrom('sign_out_notice')),
    /** Creates the background tasks that find ended sessions and send due notices. */
    tasks(send: SendNotice, everySeconds: number): readonly BackgroundTask[] {
      const find = async (signal: AbortSignal) => {
        while (!signal.aborted && (await findEnds())) {
          // Continue while there may be more ended sessions.
        }
      }
      const deliver = async (signal: AbortSignal) =>
        await sendDue(send, ports, signal, everySeconds * 1000)
      const shared = { everySeconds, onlyWhen: ports.sweeps }
      // Separate tasks, because a slow application must not delay the search for ended sessions.
      return [
        { name: 'sign-outs', run: find, ...shared },
        { name: 'sign-out-notices', run: deliver, ...shared },
      ]
    },
  }
}

/**
 * Sends all due notices, to a few applications at a time, in short turns. Applications without a turn in this run come
 * first. After a failure, an application waits for `NOTICE_WITHIN_MS` or the next run. So eight failing applications
 * delay the others by about that time. There is no rate limit, because a notice that it rejected would count as an
 * attempt.
 */
async function sendDue(
  send: SendNotice,
  ports: SignOutPorts,
  signal: AbortSignal,
  lookMs: number,
): Promise<void> {
  const nextTurns = new Map<string, number>()
  const turns = new Map<string, Promise<void>>()
  const nextTurn = (clientId: string) => nextTurns.get(clientId) ?? 0
  const tell = async (clientId: string) => {
    const accepted = await takeTurn(clientId, send, ports, signal)
    nextTurns.set(clientId, performance.now() + (accepted ? 0 : NOTICE_WITHIN_MS))
    turns.delete(clientId)
  }
  while (!signal.aborted) {
    const ready = (await dueClients(ports))
      .filter((clientId) => !turns.has(clientId) && nextTurn(clientId) <= performance.now())
      .toSorted((one, other) => nextTurn(one) - nextTurn(other))
    for (const clientId of ready.slice(0, CLIENTS_AT_ONCE - turns.size)) {
      turns.set(clientId, tell(clientId))
    }
    if (turns.size === 0) return
    // Notices for other applications may become due in the meantime.
    await Promise.race([...turns.values(), delay(lookMs, undefined, { ref: false })])
  }
  await Promise.all(turns.values())
}

/** Finds the applications with due notices, the longest waiting first. */
async function dueClients({ database, now }: SignOutPorts): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('sign_out_notice')
    .select('client_id')
    .where('next_attempt_at', '<=', now())
    .groupBy('client_id')
    .orderBy((e) => e.fn.min('next_attempt_at'))
    .execute()
  return rows.map((row) => row.client_id)
}

/** Sends due notices to one application, for a limited time. @returns false if the application did not accept one */
async function takeTurn(
  clientId: string,
  send: SendNotice,
  ports: SignOutPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const endsAt = performance.now() + TURN_MS
  while (!signal.aborted && performance.now() < endsAt) {
    const due = await ports.database.kysely
      .selectFrom('sign_out_notice')
      .selectAll()
      .where('client_id', '=', clientId)
      .where('next_attempt_at', '<=', ports.now())
      .orderBy('next_attempt_at')
      .limit(NOTICES_AT_ONCE)
      .execute()
    const taken = await Promise.all(due.map(async (row) => await attempt(row, send, ports)))
    if (taken.includes(false)) return false
    if (due.length < NOTICES_AT_ONCE) return true
  }
  return true
}

/** Sends one notice, unless another process does. @returns false if the application did not accept it */
async function attempt(
  row: Selectable<Schema['sign_out_notice']>,
  send: SendNotice,
  ports: SignOutPorts,
): Promise<boolean> {
  const { kysely } = ports.database
  const attempts = row.attempts + 1
  const wait = WAITS_SECONDS[row.attempts] ?? WAITS_SECONDS.at(-1) ?? 0
  // Only the process that succeeds in postponing the notice sends it. If that process crashes, the notice is due again
  // later. The delay begins after the time limit, so no attempt starts while another one waits for a response.
  const { numUpdatedRows } = await kysely
    .updateTable('sign_out_notice')
    .set({ attempts, next_attempt_at: ports.now() + NOTICE_WITHIN_MS + wait * 1000 })
    .where('id', '=', row.id)
    .where('next_attempt_at', '=', row.next_attempt_at)
    .where('attempts', '=', row.attempts)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) return true
  const remove = async () =>
    await kysely.deleteFrom('sign_out_notice').where('id', '=', row.id).execute()
  try {
    const { client_id: clientId, person_id: personId, sid } = row
    await send({ clientId, personId, sid: sid ?? undefined })
    await remove()
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const isLast = attempts >= NOTICE_ATTEMPTS_MAX
    ports.logger.warn(
      { client: row.client_id, cause: reason, isLast },
      'the application did not accept a back-channel logout',
    )
    ports.noteFailure(row.client_id, reason)
    if (isLast) await remove()
    return false
  }
}

/** Why a session at an application ended. */
export type SessionEnd = 'the person signed out everywhere' | LostReason

/**
 * Reasons that cause no notice. If the application has revoked a token, or the grant has expired or is missing, the
 * application decides about its own session. All other reasons cause a notice, even a replayed code or refresh token,
 * because the application's tokens may be stolen.
 */
const quietEnds: ReadonlySet<SessionEnd> = new Set<SessionEnd>([
  'the grant has ended: the client revoked it',
  'the grant has expired',
  'the grant does not exist',
])

/** Whether the application is notified of a session that ended for this reason. */
export function isNotified(reason: SessionEnd): boolean {
  return !quietEnds.has(reason)
}
const SESSIONS_PER_ROUND = 200

/**
 * Records the sessions that people have at applications, and queues a notice when one ends. Apart from sign-outs,
 * `judgeAccess` decides whether a session has ended, as it does for every use of a token. So even a change made by hand
 * in the database causes a notice.
 */
function makeSessions({ database: { kysely }, findGrant, now }: SignOutPorts) {
  const end = async ({ family_id, grant_id, sid }: EndedSession, reason: SessionEnd) =>
    await kysely.transaction().execute(async (trx) => {
      // Exchanges in the same session have the same grant and `sid`. One notice covers them all.
      const gone = await trx
        .deleteFrom('relying_party_session')
        .where('grant_id', '=', grant_id)
        .where(sid === null ? 'family_id' : 'sid', '=', sid ?? family_id)
        .returning(['client_id', 'person_id', 'sid'])
        .executeTakeFirst()
      // Another process may have deleted the session first.
      if (gone && isNotified(reason)) await addNotice(trx, gone, now())
    })

  const reasonOf = async (row: EndedSession): Promise<SessionEnd | undefined> => {
    if (row.signed_out_at !== null && row.signed_out_at >= row.started_at) {
      return 'the person signed out everywhere'
    }
    return judgeAccess(await findGrant({ grantId: row.grant_id }), [OPENID], now())
  }

  return {
    begin: async (session: BegunSession) => {
      await kysely
        .insertInto('relying_party_session')
        .values({
          family_id: session.id,
          grant_id: session.grantId,
          client_id: session.clientId,
          person_id: session.personId,
          sid: session.token.sid ?? null,
          browser_session_id: session.browserSessionId ?? null,
          started_at: session.startedAt,
          expires_at: session.keptUntil,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    /** Ends the person's session with this `sid` at an application, or all if there is no `sid`. Queues a notice. */
    signedOut: async ({ clientId, personId, sid }: SignOutNotice) =>
      await kysely.transaction().execute(async (trx) => {
        await trx
          .deleteFrom('relying_party_session')
          .where('client_id', '=', clientId)
          .where('person_id', '=', personId)
          .$if(sid !== undefined, (query) => query.where('sid', '=', sid ?? ''))
          .execute()
        await addNotice(trx, { client_id: clientId, person_id: personId, sid: sid ?? null }, now())
      }),

    /** Ends the sessions at applications that began in the person's chosen browser sessions. Queues notices. */
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
        for (const row of notices.values()) await addNotice(trx, row, now())
      }),

    /** Deletes a batch of sessions that have ended, and queues their notices. @returns whether there may be more */
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

/** Finds sessions that may have ended, up to a maximum. `reasonOf` decides whether they have. */
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
    .select(['s.family_id', 's.grant_id', 's.sid', 's.started_at', 'o.signed_out_at'])
    .where((e) =>
      e.or([
        e('g.ended_at', 'is not', null),
        e('g.expires_at', '<=', nowMs),
        e('p.disabled_at', 'is not', null),
        // The row of a site's application is missing. Other clients never have this row.
        e.and([e('app.client_id', 'is', null), e('g.client_origin', 'in', ['site', 'operator'])]),
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

/** The content of a notice (OpenID Connect Back-Channel Logout 1.0 §2.4). */
interface SignOutNotice {
  readonly clientId: string
  readonly personId: string
  readonly sid: string | undefined
}

async function addNotice(
  trx: Transaction<Schema>,
  session: Pick<Schema['sign_out_notice'], 'client_id' | 'person_id' | 'sid'>,
  nowMs: number,
): Promise<void> {
  const due = { created_at: nowMs, attempts: 0, next_attempt_at: nowMs }
  const notice = { id: randomUUID(), ...session, ...due }
  await trx.insertInto('sign_out_notice').values(notice).execute()
}
