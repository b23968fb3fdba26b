import { randomBytes } from 'node:crypto'

import type { Context } from 'koa'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'

import { type Authentication, assuranceOf, MFA_ACR } from '../../directory/people/authentication.ts'
import type { NewSession } from '../../directory/people/browser-sessions.ts'
import type { Person } from '../../directory/people/person-store.ts'
import { browserOf } from '../../platform/http/browser.ts'
import type { EngineDependencies } from './engine-dependencies.ts'

const newSessionId = () => randomBytes(16).toString('base64url')

/**
 * Creates the function that finds the person to whom the browser's session belongs. The function also records a
 * sign-in, or the use of the session. If the session has ended, `session` is undefined in the result. The engine
 * changes the id in the cookie at each sign-in, so a planted cookie never becomes a signed-in session.
 */
export function makeFindSessionPerson({ people, browserSessions }: EngineDependencies) {
  const begin = async (ctx: KoaContextWithOIDC, person: Person, session: NewSession) => {
    await browserSessions.begin(session, browserOf(ctx))
    // A sign-in that is valid at only one site must not cancel the deletion of the account.
    if (person.isLeaving && session.siteId === undefined) await people.cancelDeletion(person.id)
  }
  return async (ctx: KoaContextWithOIDC, personId: string): Promise<Person | undefined> => {
    const { session, route } = ctx.oidc
    if (!session) return await people.findPerson(personId)
    const person = await people.findPerson(personId, { id: session.uid })
    if (!person) return undefined
    const given = justAuthenticated(ctx)
    if (given === undefined) {
      if (route === 'authorization' && person.session) {
        await browserSessions.see(person.session, browserOf(ctx))
      }
      return person
    }
    if (given.authenticatedAt <= (person.signedOutAt ?? 0)) return { ...person, session: undefined }
    // Use a new id, because copies of an ended session's cookies, or of the session store, may still exist.
    if (!person.session) session.uid = newSessionId()
    const { uid: id } = session
    await begin(ctx, person, { id, personId, ...given })
    return { ...person, session: { id, ...given, seenAt: given.authenticatedAt } }
  }
}

/**
 * Replaces the browser's session after the person has changed the password on our own pages. Copies of the old cookie
 * no longer work. If the old session has the id `from`, the new one keeps any second factor. Returns the new id.
 */
export async function renewSession(
  engine: Provider,
  ctx: Context,
  { personId, authenticatedAt, methods, from }: Authentication & { readonly from: string },
  { browserSessions, lifetimes: { sessionIdleSeconds } }: EngineDependencies,
): Promise<string> {
  const session = await engine.Session.get(ctx)
  const given = assuranceOf(methods)
  const keepsFactor = session.uid === from && session.acr === MFA_ACR
  const acr = keepsFactor ? MFA_ACR : given.acr
  const amr = [...new Set([...given.amr, ...((keepsFactor && session.amr) || [])])]
  session.resetIdentifier()
  Object.assign(session, { uid: newSessionId(), authorizations: undefined })
  session.loginAccount({ accountId: personId, acr, amr })
  await session.save(sessionIdleSeconds)
  const options = { httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: true } as const
  const maxAge = sessionIdleSeconds * 1000
  ctx.cookies.set(engine.cookieName('session'), session.jti, { ...options, maxAge })
  await browserSessions.begin({ id: session.uid, personId, authenticatedAt, acr }, browserOf(ctx))
  return session.uid
}

/**
 * Returns how the person authenticated if the step just completed was a sign-in; otherwise undefined. Later steps still
 * contain the result of the sign-in, which must not restart a session that has ended since.
 */
function justAuthenticated({ oidc }: KoaContextWithOIDC) {
  const { route, entities, result } = oidc
  if (route !== 'resume' || entities.Interaction?.prompt.name !== 'login') return undefined
  const { acr, given } = (result?.login ?? {}) as Partial<LoginResult>
  return given && acr !== undefined ? { ...given, acr } : undefined
}

/** Builds the result of a sign-in for the engine. */
export function loginResult({ personId, methods, ...more }: Authentication) {
  const { authenticatedAt, siteId, providerId } = more
  const given = { authenticatedAt, siteId, providerId }
  const { acr, amr } = assuranceOf(methods)
  // Without `ts`, each later page would reset the time of the sign-in. `ts` must come from the engine's clock.
  const ts = Math.floor(Date.now() / 1000)
  return { accountId: personId, acr, amr: [...amr], ts, given }
}

type LoginResult = ReturnType<typeof loginResult>
