/**
 * Applications that hear of sign-outs: who is signed in there, when that ends, and what they have yet to
 * be told. How a notice is signed and sent is the engine's.
 */

import type { Logger } from 'pino'

import type { Database } from '../store/database.ts'
import type { SessionDependencies } from './sessions.ts'
import { makeSessions } from './sessions.ts'

/** What an application is told (OpenID Connect Back-Channel Logout 1.0 §2.4). */
export interface SignOutNotice {
  readonly clientId: string
  readonly personId: string
  readonly sid: string | undefined
}

export interface SignOutPorts extends SessionDependencies {
  readonly logger: Logger
  /** Hears of a notice that nobody took. */
  readonly noteFailure: (clientId: string, reason: string) => void
}

/** @throws when the application did not answer with 200 or 204 */
export type SendNotice = (notice: SignOutNotice) => Promise<void>

export type SignOuts = ReturnType<typeof makeSignOuts>

/** After each try but the last, in seconds. The last is an hour and some minutes after the first. */
const WAITS_SECONDS = [10, 60, 600, 3600]
export const NOTICE_ATTEMPTS_MAX = WAITS_SECONDS.length + 1
const NOTICES_AT_ONCE = 8

export function makeSignOuts(ports: SignOutPorts) {
  const sessions = makeSessions(ports)
  return {
    begin: sessions.begin,
    signedOut: sessions.signedOut,
    /** How many notices have not been taken yet. */
    async waitingNotices(): Promise<number> {
      const { count } = await ports.database.kysely
        .selectFrom('sign_out_notice')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      return Number(count)
    },
    /** One round of the background task: ends are found, and what is due is sent. */
    async run(send: SendNotice, signal: AbortSignal): Promise<void> {
      while (!signal.aborted && (await sessions.findEnds())) {
        // There may be more.
      }
      while (!signal.aborted && (await sendDue(send, ports))) {
        // There may be more.
      }
    },
  }
}

/** @returns whether there may be more that is due */
async function sendDue(send: SendNotice, ports: SignOutPorts): Promise<boolean> {
  const { database, now } = ports
  const due = await database.kysely
    .selectFrom('sign_out_notice')
    .selectAll()
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(NOTICES_AT_ONCE)
    .execute()
  await Promise.all(due.map(async (row) => await attempt(row, send, ports)))
  return due.length === NOTICES_AT_ONCE
}

interface DueNotice {
  readonly id: string
  readonly client_id: string
  readonly person_id: string
  readonly sid: string | null
  readonly attempts: number
  readonly next_attempt_at: number
}

async function attempt(row: DueNotice, send: SendNotice, ports: SignOutPorts): Promise<void> {
  const { database, logger, noteFailure, now } = ports
  const wait = WAITS_SECONDS[row.attempts] ?? WAITS_SECONDS.at(-1) ?? 0
  // Whoever moves the time has the notice; one that crashes leaves it for the next try.
  if (!(await claim(database, row, now() + wait * 1000))) return
  try {
    const { client_id: clientId, person_id: personId, sid } = row
    await send({ clientId, personId, sid: sid ?? undefined })
    await remove(database, row.id)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const isLast = row.attempts + 1 >= NOTICE_ATTEMPTS_MAX
    logger.warn({ client: row.client_id, cause: reason, isLast }, 'a sign-out was not taken')
    noteFailure(row.client_id, reason)
    if (isLast) await remove(database, row.id)
  }
}

async function claim({ kysely }: Database, row: DueNotice, nextAttemptAt: number) {
  const { numUpdatedRows } = await kysely
    .updateTable('sign_out_notice')
    .set({ attempts: row.attempts + 1, next_attempt_at: nextAttemptAt })
    .where('id', '=', row.id)
    .where('next_attempt_at', '=', row.next_attempt_at)
    .where('attempts', '=', row.attempts)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

async function remove({ kysely }: Database, id: string): Promise<void> {
  await kysely.deleteFrom('sign_out_notice').where('id', '=', id).execute()
}
