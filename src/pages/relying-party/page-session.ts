import { createHmac, randomBytes } from 'node:crypto'

import type { Context } from 'koa'

import type { Person, PersonStore } from '../../directory/people/person-store.ts'
import type { NoteEvent } from '../../platform/audit/event-rows.ts'
import type { Actor } from '../../platform/audit/record-audit-event.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'
import type { CameBack } from './sign-in.ts'

/**
 * Who is signed in to this service's own pages. The session is a record in the state store, so that
 * ending it ends it in every process; the cookie is only its random id, of which the store knows the
 * digest. Each sign-in begins a new one.
 */
export interface PageSession {
  readonly person: Person
  /** The token that every form of this session carries. */
  readonly csrf: string
  readonly sessionId: string
}

export interface SessionPorts {
  readonly baseUrl: string
  readonly state: StateStore
  readonly people: Pick<PersonStore, 'findPerson' | 'signOutSession' | 'signOutEverywhere'>
  readonly formKey: Buffer
  readonly sessionSeconds: number
  readonly noteEvent: NoteEvent
  readonly now: () => number
}

export type Sessions = ReturnType<typeof makeSessions>

export function makeSessions(ports: SessionPorts) {
  const { baseUrl, people, formKey, sessionSeconds, noteEvent, now } = ports
  const state = ports.state.adapterFor('AreaSession')
  const secure = baseUrl.startsWith('https:')
  // RFC 6265bis §4.1.3.2: a browser accepts the prefix from this very host only.
  const cookie = secure ? '__Host-gatehouse_pages' : 'gatehouse_pages'
  const options = { httpOnly: true, sameSite: 'lax', signed: true, secure, path: '/' } as const

  const end = async (ctx: Context) => {
    const sessionId = ctx.cookies.get(cookie, { signed: true })
    if (!sessionId) return
    // First where it cannot be forgotten: Redis may come back with a session that ended.
    const nowMs = now()
    await people.signOutSession(sessionId, { nowMs, keptUntilMs: nowMs + sessionSeconds * 1000 })
    await state.destroy(sha256(sessionId))
    ctx.cookies.set(cookie, null, options)
  }

  return {
    /** The session of the browser, unless signed out meanwhile, here or everywhere. */
    async find(ctx: Context): Promise<PageSession | undefined> {
      const sessionId = ctx.cookies.get(cookie, { signed: true })
      const record = sessionId ? await state.find(sha256(sessionId)) : undefined
      if (!sessionId || !record?.accountId) return undefined
      const person = await people.findPerson(record.accountId, sessionId)
      const beganAt = Number(record['beganAt'])
      if (!person || person.sessionEnded || beganAt <= (person.signedOutAt ?? 0)) return undefined
      const csrf = createHmac('sha256', formKey).update(`pages ${sessionId}`).digest('base64url')
      return { person, csrf, sessionId }
    },

    async begin(ctx: Context, { personId, signedInAt }: CameBack): Promise<void> {
      await end(ctx)
      const sessionId = randomBytes(32).toString('base64url')
      // It is as old as the sign-in that it comes from, so that a sign-out everywhere after that ends it too,
      // also when the way here was held back until later.
      const record = { accountId: personId, beganAt: signedInAt }
      await state.upsert(sha256(sessionId), record, sessionSeconds)
      ctx.cookies.set(cookie, sessionId, { ...options, maxAge: sessionSeconds * 1000 })
    },

    end,

    /** Ends every session of the person, of any browser, at the authorization server too. */
    async endEverywhere(ctx: Context, { id }: Person): Promise<void> {
      await people.signOutEverywhere(id, now())
      noteEvent({ action: 'sign_out.everywhere', personId: id, ...callerOf(ctx) })
      await end(ctx)
    },
  }
}

/** The person as the one who changes something, for the audit trail. */
export function actorOf(ctx: Context, { person }: PageSession, now: () => number): Actor {
  return { personId: person.id, ...callerOf(ctx), now: now() }
}
