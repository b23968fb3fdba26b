import type { Config } from '../../config/config.ts'
import { openSmtp } from '../../directory/mail/smtp.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { waitingMessages } from '../../platform/outbox/outbox.ts'
import type { Database } from '../../platform/store/database.ts'
import { type Finding, found, ok } from './checks.ts'

/** Connects and signs in to the mail server, or reports that messages are only files. */
export async function* checkMail({ smtpUrl, baseUrl }: Config): AsyncGenerator<Finding> {
  if (smtpUrl === undefined) {
    if (isLoopbackUrl(baseUrl)) return
    return yield found('mail.folder', 'No mail server is configured, so messages are only files')
  }
  const server = openSmtp(smtpUrl)
  try {
    await server.verify()
    yield ok('The mail server accepts the connection.')
  } catch (error) {
    yield found('mail.server', error instanceof Error ? error.message : String(error))
  } finally {
    server.close()
  }
}

const WAITING_MINUTES_MAX = 15

/** Reports messages that have waited for too long. */
export async function* checkOutbox(
  database: Pick<Database, 'kysely'>,
  now: () => number,
): AsyncGenerator<Finding> {
  const { count, oldestAt = now(), error = 'not tried yet' } = await waitingMessages(database)
  const minutes = Math.floor((now() - oldestAt) / 60_000)
  if (minutes < WAITING_MINUTES_MAX) return
  const waiting = count === 1 ? '1 message waits' : `${count} messages wait`
  const said = `${waiting}, the oldest for ${minutes} minutes (last error: ${error})`
  yield found('mail.waiting', said)
}
