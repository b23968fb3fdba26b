/**
 * Applications that hear of sign-outs: who is signed in there, when that ends, and what they have yet to
 * be told. How a notice is signed and sent is the engine's.
 */

import type { Logger } from 'pino'

import type { Database } from '../../platform/store/database.ts'
import { makeSessions, type SessionDependencies } from './sessions.ts'

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
const CLIENTS_AT_ONCE = 8
const NOTICES_AT_ONCE = 4
/** As many times as many are sent to one application before it is the turn of others. */
const BATCHES_A_TURN = 25

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
      await sendDue(send, ports, signal)
    },
  }
}

/**
 * Sends what is due. Applications take turns, and one that does not take a notice gets no more in this round:
 * whose host is away keeps nobody else waiting. How many go out at once is all that bounds them, since one
 * that was put off for having many beside it would come to its last try, and its application hear nothing.
 */
async function sendDue(send: SendNotice, ports: SignOutPorts, signal: AbortSignal): Promise<void> {
  const silent = new Set<string>()
  while (!signal.aborted) {
    const clients = await dueClients(ports, silent)
    if (clients.length === 0) return
    const tell = async (clientId: string) => {
      if (!(await takeTurn(clientId, { send, ports, signal }))) silent.add(clientId)
    }
    await Promise.all(clients.map(tell))
  }
}

/** Applications with something due, whoever has waited the longest first. */
async function dueClients(
  { database, now }: SignOutPorts,
  silent: ReadonlySet<string>,
): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('sign_out_notice')
    .select('client_id')
    .where('next_attempt_at', '<=', now())
    .$if(silent.size > 0, (query) => query.where('client_id', 'not in', [...silent]))
    .groupBy('client_id')
    .orderBy((e) => e.fn.min('next_attempt_at'))
    .limit(CLIENTS_AT_ONCE)
    .execute()
  return rows.map((row) => row.client_id)
}

interface Turn {
  readonly send: SendNotice
  readonly ports: SignOutPorts
  readonly signal: AbortSignal
}

/** @returns false when the application did not take one */
async function takeTurn(clientId: string, { send, ports, signal }: Turn): Promise<boolean> {
  for (let batch = 0; batch < BATCHES_A_TURN && !signal.aborted; batch += 1) {
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

interface DueNotice {
  readonly id: string
  readonly client_id: string
  readonly person_id: string
  readonly sid: string | null
  readonly attempts: number
  readonly next_attempt_at: number
}

/** @returns false when the application did not take it */
async function attempt(row: DueNotice, send: SendNotice, ports: SignOutPorts): Promise<boolean> {
  const { database, logger, noteFailure, now } = ports
  const wait = WAITS_SECONDS[row.attempts] ?? WAITS_SECONDS.at(-1) ?? 0
  // Whoever moves the time has the notice; one that crashes leaves it for the next try.
  if (!(await claim(database, row, now() + wait * 1000))) return true
  try {
    const { client_id: clientId, person_id: personId, sid } = row
    await send({ clientId, personId, sid: sid ?? undefined })
    await remove(database, row.id)
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const isLast = row.attempts + 1 >= NOTICE_ATTEMPTS_MAX
    logger.warn({ client: row.client_id, cause: reason, isLast }, 'a sign-out was not taken')
    noteFailure(row.client_id, reason)
    if (isLast) await remove(database, row.id)
    return false
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
