import { randomBytes } from 'node:crypto'

import type { KoaContextWithOIDC } from 'oidc-provider'

import type { BrowserSessions } from '../../directory/people/browser-sessions.ts'
import type { Person, PersonStore } from '../../directory/people/person-store.ts'
import { browserOf } from '../../platform/http/browser.ts'

const ID_BYTES = 16

/** Finds the person of the browser's session. `session` of the result is undefined if the session has ended. */
export type FindSessionPerson = (
  ctx: KoaContextWithOIDC,
  personId: string,
) => Promise<Person | undefined>

/**
 * Creates the function that finds the person of the browser's session, after recording a sign-in or the use of the
 * session. The engine changes the session's own id at each sign-in, so a planted cookie is never signed in.
 */
export function makeFindSessionPerson({
  people,
  browserSessions,
}: {
  readonly people: Pick<PersonStore, 'findPerson'>
  readonly browserSessions: Pick<BrowserSessions, 'begin' | 'see'>
}): FindSessionPerson {
  return async (ctx, personId) => {
    const { session, route } = ctx.oidc
    if (!session) return await people.findPerson(personId)
    const person = await people.findPerson(personId, { id: session.uid })
    if (!person) return undefined
    const authenticatedAt = passwordGivenAt(ctx)
    if (authenticatedAt === undefined) {
      if (route === 'authorization' && person.session) {
        await browserSessions.see(person.session, browserOf(ctx))
      }
      return person
    }
    if (authenticatedAt <= (person.signedOutAt ?? 0)) return { ...person, session: undefined }
    // A session that has ended stays ended: copies of its cookies, or of the session store, may still exist.
    if (!person.session) session.uid = randomBytes(ID_BYTES).toString('base64url')
    const { uid: id } = session
    await browserSessions.begin({ id, personId }, authenticatedAt, browserOf(ctx))
    return { ...person, session: { id, authenticatedAt, seenAt: authenticatedAt } }
  }
}

/**
 * Returns when the person gave the password, in epoch milliseconds; undefined if that was not the step just completed.
 * Later steps still have the result of the sign-in, which must not restart a session that has ended since.
 */
function passwordGivenAt({ oidc }: KoaContextWithOIDC): number | undefined {
  const { route, entities, result } = oidc
  if (route !== 'resume' || entities.Interaction?.prompt.name !== 'login') return undefined
  const at = result?.login?.['givenAt']
  return typeof at === 'number' ? at : undefined
}
