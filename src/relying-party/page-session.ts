import { createHmac, randomBytes } from 'node:crypto'

import type { Context } from 'koa'

import type { Actor } from '../audit/audit-log.ts'
import { requestIdOf } from '../http/request-log.ts'
import type { Person } from '../people/person-store.ts'
import { sha256 } from '../store/digest.ts'
import type { StateAdapter } from '../store/state.ts'

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

export interface SessionDependencies {
  /** Records of the model `AreaSession`. */
  readonly state: Pick<StateAdapter, 'upsert' | 'find' | 'destroy'>
  readonly findPerson: (personId: string) => Promise<Person | undefined>
  readonly formKey: Buffer
  readonly sessionSeconds: number
  readonly secure: boolean
  readonly now: () => number
}

export interface Sessions {
  /** Whose browser sent the request, unless signed out meanwhile, here or everywhere. */
  find(ctx: Context): Promise<PageSession | undefined>
  begin(ctx: Context, personId: string): Promise<void>
  end(ctx: Context): Promise<void>
}

export function makeSessions(dependencies: SessionDependencies): Sessions {
  const { state, findPerson, formKey, sessionSeconds, secure, now } = dependencies
  // RFC 6265bis §4.1.3.2: a browser accepts the prefix from this very host only.
  const cookie = secure ? '__Host-gatehouse_pages' : 'gatehouse_pages'
  const options = { httpOnly: true, sameSite: 'lax', signed: true, secure, path: '/' } as const

  const end = async (ctx: Context) => {
    const sessionId = ctx.cookies.get(cookie, { signed: true })
    if (!sessionId) return
    await state.destroy(sha256(sessionId))
    ctx.cookies.set(cookie, null, options)
  }

  return {
    async find(ctx) {
      const sessionId = ctx.cookies.get(cookie, { signed: true })
      const record = sessionId ? await state.find(sha256(sessionId)) : undefined
      if (!sessionId || !record?.accountId) return undefined
      const person = await findPerson(record.accountId)
      const beganAt = Number(record['beganAt'])
      if (!person || beganAt <= (person.signedOutAt ?? 0)) return undefined
      const csrf = createHmac('sha256', formKey).update(`pages ${sessionId}`).digest('base64url')
      return { person, csrf, sessionId }
    },

    async begin(ctx, personId) {
      await end(ctx)
      const sessionId = randomBytes(32).toString('base64url')
      const record = { accountId: personId, beganAt: now() }
      await state.upsert(sha256(sessionId), record, sessionSeconds)
      ctx.cookies.set(cookie, sessionId, { ...options, maxAge: sessionSeconds * 1000 })
    },

    end,
  }
}

/** The person as the one who changes something, for the audit trail. */
export function actorOf(ctx: Context, { person }: PageSession, now: () => number): Actor {
  return { personId: person.id, requestId: requestIdOf(ctx), now: now() }
}
