import type { Context } from 'koa'

import type { Actor } from '../audit/audit-log.ts'
import { requestIdOf } from '../http/request-log.ts'
import type { PageSession } from './page-session.ts'

/** The visitor as the one who changes something, for the audit trail. */
export function actorOf(ctx: Context, { person }: PageSession, now: () => number): Actor {
  return { personId: person.id, requestId: requestIdOf(ctx), now: now() }
}
