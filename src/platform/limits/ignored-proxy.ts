import ipaddr from 'ipaddr.js'
import type { Context } from 'koa'
import type { Logger } from 'pino'

import { PROXY_IGNORED } from '../http/request-target.ts'
import type { Database } from '../store/database.ts'
import { writeSetting } from '../store/settings.ts'

/** The minimum time between two warnings from a process. Under a day, because `doctor` reports only the last day. */
const NOTED_EVERY_MS = 12 * 3_600_000

interface WarningPorts {
  readonly logger: Logger
  readonly database: Pick<Database, 'kysely'>
  readonly now: () => number
  readonly watch: { readonly noteIgnoredProxy: () => void }
}

/**
 * Creates a function that counts requests whose X-Forwarded-For is ignored. The function also warns in the log and in
 * `doctor`, because all users behind an ignored proxy count as one address. It skips requests from public addresses,
 * because anyone on the internet can send the header.
 */
export function makeProxyWarning({ logger, database, now, watch }: WarningPorts) {
  let notedAtMs = Number.NEGATIVE_INFINITY
  return ({ req: { headers, socket } }: Context): void => {
    const { remoteAddress = '' } = socket
    if (headers['x-forwarded-for'] === undefined || !ipaddr.isValid(remoteAddress)) return
    if (ipaddr.process(remoteAddress).range() === 'unicast') return
    watch.noteIgnoredProxy()
    const nowMs = now()
    if (nowMs < notedAtMs + NOTED_EVERY_MS) return
    notedAtMs = nowMs
    logger.warn('X-Forwarded-For is ignored; if your own proxy sends it, set TRUST_PROXY=yes')
    writeSetting(database.kysely, PROXY_IGNORED, String(nowMs), nowMs).catch(() => {})
  }
}
