/** Notices of sign-outs to applications: what is due, tries and turns. The engine signs and sends them. */

import type { Selectable } from 'kysely'
import type { Logger } from 'pino'

import type { Schema } from '../../platform/store/schema.ts'
import { makeSessions, type SessionDependencies, type SignOutNotice } from './sessions.ts'

export interface SignOutPorts extends SessionDependencies {
  readonly logger: Logger
  /** Hears of a notice that the application did not take. */
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
/** How many times so many are sent to one application before others get their turn. */
const BATCHES_A_TURN = 25

export function makeSignOuts(ports: SignOutPorts) {
  const { begin, signedOut, findEnds } = makeSessions(ports)
  return {
    begin,
    signedOut,
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
      while (!signal.aborted && (await findEnds())) {
        // There may be more.
      }
      await sendDue(send, ports, signal)
    },
  }
}

/**
 * Sends what is due. Applications take turns, and one that does not take a notice gets no more in this
 * round, so that a dead host delays no other. Only the number that goes out at once is bounded: a notice put
 * off because many wait beside it would reach its last try, and its application would hear nothing.
 */
async function sendDue(send: SendNotice, ports: SignOutPorts, signal: AbortSignal): Promise<void> {
  const silent = new Set<string>()
  while (!signal.aborted) {
    const clients = await dueClients(ports, silent)
    if (clients.length === 0) return
    const tell = async (clientId: string) => {
      if (!(await takeTurn(clientId, send, ports, signal))) silent.add(clientId)
    }
    await Promise.all(clients.map(tell))
  }
}

/** Applications with something due, the longest wait first. */
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

/** @returns false when the application did not take a notice */
async function takeTurn(
  clientId: string,
  send: SendNotice,
  ports: SignOutPorts,
  signal: AbortSignal,
): Promise<boolean> {
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

/** @returns false when the application did not take it */
async function attempt(
  row: Selectable<Schema['sign_out_notice']>,
  send: SendNotice,
  ports: SignOutPorts,
): Promise<boolean> {
  const { kysely } = ports.database
  const attempts = row.attempts + 1
  const wait = WAITS_SECONDS[row.attempts] ?? WAITS_SECONDS.at(-1) ?? 0
  // The process that moves the time has the notice; one that crashes leaves it for the next try.
  const { numUpdatedRows } = await kysely
    .updateTable('sign_out_notice')
    .set({ attempts, next_attempt_at: ports.now() + wait * 1000 })
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
    ports.logger.warn({ client: row.client_id, cause: reason, isLast }, 'a sign-out was not taken')
    ports.noteFailure(row.client_id, reason)
    if (isLast) await remove()
    return false
  }
}
