import { createHmac, randomBytes } from 'node:crypto'

import type { Context } from 'koa'

import type { BrowserSessions, LiveSession } from '../../directory/people/browser-sessions.ts'
import type { Person, PersonStore } from '../../directory/people/person-store.ts'
import { browserOf } from '../../platform/http/browser.ts'
import { prefer } from '../../platform/http/language.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { sha256 } from '../../platform/store/digest.ts'
import type { StateStore } from '../../platform/store/oauth-state.ts'
import type { CompletedSignIn } from './sign-in.ts'

/**
 * A session on our own pages. It ends with the browser's session, or earlier. Its record is in the state store, so the
 * session ends in all processes at once. The cookie contains the session id, and the store only a digest of the id.
 * Each sign-in starts a new session.
 */
export interface PageSession {
  readonly person: Person
  /** The CSRF token for all forms and scripts of this session. */
  readonly csrf: string
  readonly sessionId: string
  /** The browser session in which this page session was started. */
  readonly browser: LiveSession
  /** When the person authenticated for this session; 0 if the person authenticated again later in this browser. */
  readonly authenticatedAt: number
}

interface SessionSettings {
  readonly baseUrl: string
  readonly people: Pick<PersonStore, 'findPerson' | 'signOutSession'>
  readonly browserSessions: Pick<BrowserSessions, 'see'>
  readonly formKey: Buffer
  readonly sessionSeconds: number
}

export type Sessions = ReturnType<typeof makePageSessions>

export function makePageSessions(stateStore: StateStore, settings: SessionSettings) {
  const { baseUrl, people, browserSessions, formKey, sessionSeconds } = settings
  const state = stateStore.adapterFor('AreaSession')
  const secure = baseUrl.startsWith('https:')
  // With this prefix, no other host can set the cookie (RFC 6265bis §4.1.3.2).
  const cookie = secure ? '__Host-gatehouse_pages' : 'gatehouse_pages'
  const options = { httpOnly: true, sameSite: 'lax', signed: true, secure, path: '/' } as const

  const end = async (ctx: Context) => {
    const sessionId = ctx.cookies.get(cookie, { signed: true })
    if (!sessionId) return
    // Record the sign-out in the database first, because a restarted Redis may restore a deleted session.
    await people.signOutSession(sessionId, sessionSeconds)
    await state.destroy(sha256(sessionId))
    ctx.cookies.set(cookie, null, options)
    // Also delete the queries stored in this browser, because other people may use the browser.
    ctx.set('Clear-Site-Data', '"storage"')
  }

  return {
    /** Finds the session by its cookie, and records its use. Ignores ended sessions and disabled accounts. */
    async find(ctx: Context): Promise<PageSession | undefined> {
      const sessionId = ctx.cookies.get(cookie, { signed: true })
      const record = sessionId ? await state.find(sha256(sessionId)) : undefined
      if (!sessionId || !record?.accountId) return undefined
      const id = String(record['browserSessionId'])
      const person = await people.findPerson(record.accountId, { id, pageSessionId: sessionId })
      const browser = person?.session
      if (!browser) return undefined
      await browserSessions.see(browser, browserOf(ctx))
      prefer(ctx, { person: person.locale, timeZone: person.timeZone })
      const csrf = createHmac('sha256', formKey).update(`pages ${sessionId}`).digest('base64url')
      const isLater = browser.authenticatedAt > Number(record['authenticatedAt'])
      const authenticatedAt = isLater ? 0 : browser.authenticatedAt
      return { person, csrf, sessionId, browser, authenticatedAt }
    },

    /**
     * Starts a session in place of the browser's earlier page session. If the person later authenticates again in this
     * browser, this page session no longer counts as a recent sign-in.
     */
    async begin(ctx: Context, signedIn: CompletedSignIn): Promise<void> {
      await end(ctx)
      const sessionId = randomBytes(32).toString('base64url')
      const { personId: accountId, ...rest } = signedIn
      const record = { accountId, ...rest }
      await state.upsert(sha256(sessionId), record, sessionSeconds)
      ctx.cookies.set(cookie, sessionId, { ...options, maxAge: sessionSeconds * 1000 })
    },

    end,
  }
}

/** Returns the signed-in person as the actor of an audit event. */
export function pageActor(ctx: Context, { person }: PageSession, now: () => number) {
  return {
    ...{ personId: person.id, ...callerOf(ctx) },
    // Read the time late. A change may wait for a lock, and must not predate the row that it finds after the wait.
    get now() {
      return now()
    },
  }
}
