import type Router from 'koa-router'

import { type PasswordProblems, securityPage } from '../../../views/account-security.ts'
import type { QueueMail } from '../../directory/mail/messages.ts'
import type { SignInService } from '../../directory/people/authenticate.ts'
import { explainFailure } from '../../directory/people/sign-in-failure.ts'
import { findLookOfPerson, siteLook } from '../../directory/sites/site-look.ts'
import { storeNewPassword } from '../../oauth/grants/end-access.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { actorOf, type PageSession, type Sessions } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext } from '../relying-party/signed-in-pages.ts'
import { type NewPasswords, readNewPassword } from './password-fields.ts'
import { areaOf } from './query-routes.ts'

export interface SecurityPorts extends NewPasswords {
  readonly signIn: SignInService
  readonly queueMail: QueueMail
  readonly sessions: Pick<Sessions, 'begin'>
  readonly noteEvent: NoteEvent
}

/** Creates the page where a person changes the password. It asks for the current one. */
export function securityRoutes(
  ownPages: OwnPages,
  ports: SecurityPorts,
  renewSession: (
    ctx: PageContext,
    renewed: { readonly personId: string; readonly authenticatedAt: number },
  ) => Promise<string>,
): Router {
  const router = makeRouter()
  const { database, signedInPages, now } = ownPages

  const show = async (
    ctx: PageContext,
    session: PageSession,
    { problems, endApps }: { readonly problems?: PasswordProblems; readonly endApps: boolean },
  ) => {
    const page = securityPage({
      area: areaOf(session, pages.security),
      email: session.person.email,
      action: pages.security,
      charactersMin: ports.passwordCharactersMin,
      recoverHref: pages.recover,
      problems,
      endApps,
      done: noticeOf(ctx, {
        changed: 'Your password was changed. You are signed out in all other browsers.',
      }),
    })
    return { ...page, look: siteLook(await findLookOfPerson(database, session.person.id)) }
  }

  router.get(
    pages.security,
    signedInPages.page(async (ctx, session) => await show(ctx, session, { endApps: true })),
  )
  router.post(
    pages.security,
    signedInPages.form(async (ctx, session) => {
      const { person } = session
      const endApps = formField(ctx, 'end_apps') === 'yes'
      const refuse = async (status: number, problems: PasswordProblems) => {
        ctx.status = status
        return await show(ctx, session, { problems, endApps })
      }
      const typed = { login: person.email, password: formField(ctx, 'current') }
      const checked = await ports.signIn({ ...typed, address: ctx.ip })
      if (checked.kind !== 'signed-in') {
        const { status, problem, reason } = explainFailure(checked)
        const failed = { personId: person.id, reason, ...callerOf(ctx) }
        ports.noteEvent({ ...failed, action: 'password.failure' })
        return checked.kind === 'refused'
          ? await refuse(422, { current: 'This is not your current password.' })
          : await refuse(status, { current: problem })
      }
      const read = await readNewPassword(ctx, person, ports)
      if ('problems' in read) return await refuse(read.status, read.problems)
      const actor = actorOf(ctx, session, now)
      const personId = person.id
      const change = { personId, passwordHash: read.hash, endApps }
      await database.kysely.transaction().execute(async (trx) => {
        await storeNewPassword(trx, { ...change, byMail: false }, actor)
        const mail = { kind: 'password_changed', to: person.email, personId } as const
        await ports.queueMail(trx, { ...mail, values: {} }, actor.now)
      })
      // All sessions have ended, because there may be copies of their cookies. This browser gets a new session.
      const authenticatedAt = actor.now + 1
      const browserSessionId = await renewSession(ctx, { personId, authenticatedAt })
      await ports.sessions.begin(ctx, { personId, browserSessionId }, authenticatedAt)
      return `${pages.security}?done=changed`
    }),
  )
  return router
}
