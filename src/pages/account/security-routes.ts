import { type PasswordProblems, securityPage } from '../../../views/account-security.ts'
import { text } from '../../../views/text.ts'
import { explainFailure, type SignInService } from '../../directory/people/authenticate.ts'
import { type Authentication, MFA_ACR } from '../../directory/people/authentication.ts'
import { SessionEnded, storeNewPassword } from '../../oauth/grants/end-access.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { Answer } from '../relying-party/area-answer.ts'
import type { Sessions } from '../relying-party/page-session.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AccountPages, Asked } from './account-pages.ts'
import { type NewPasswords, readNewPassword } from './password-fields.ts'

export interface SecurityPorts extends NewPasswords {
  readonly signIn: SignInService
  readonly sessions: Pick<Sessions, 'begin'>
  readonly noteEvent: NoteEvent
}

/** Creates the page where a person changes the password. It asks for the current password. */
export function securityRoutes(
  { database, now, signedInPages, page, form }: AccountPages,
  ports: SecurityPorts,
  renewSession: (ctx: PageContext, renewed: Authentication, from: string) => Promise<string>,
): void {
  const show = (
    { session }: Asked,
    typed: { readonly problems?: PasswordProblems; readonly endApps: boolean },
  ) =>
    securityPage({
      email: session.person.email,
      charactersMin: ports.passwordCharactersMin,
      recoverHref: pages.recover,
      ...typed,
    })

  // After the change, the new session keeps this session's second factor. If there is one, require a recent sign-in.
  const fresh = (answer: (asked: Asked) => Promise<Answer>) => async (asked: Asked) => {
    const { ctx, session } = asked
    const suffices = session.browser.acr !== MFA_ACR || signedInPages.isFresh(session)
    if (suffices) return await answer(asked)
    return await signedInPages.signInAgain(ctx, session, pages.security)
  }
  const showForm = fresh(async (asked) => show(asked, { endApps: true }))
  page(pages.security, showForm)
  const change = fresh(async (asked) => {
    const { session, ctx } = asked
    const { person } = session
    const endApps = formField(ctx, 'end_apps') === 'yes'
    const refuse = (status: number, problems: PasswordProblems) => {
      ctx.status = status
      return show(asked, { problems, endApps })
    }
    const typed = { login: person.email, password: formField(ctx, 'current') }
    const checked = await ports.signIn({ ...typed, address: ctx.ip })
    if (checked.kind !== 'signed-in') {
      const { status, problem, reason } = explainFailure(checked)
      const failed = { personId: person.id, reason, ...callerOf(ctx) }
      ports.noteEvent({ ...failed, action: 'password.failure' })
      return checked.kind === 'refused'
        ? refuse(422, { current: text('password.notCurrent') })
        : refuse(status, { current: problem })
    }
    const read = await readNewPassword(ctx, person, ports)
    if ('problems' in read) return refuse(read.status, read.problems)
    // Read the time after hashing, to also end sessions that were opened with the old password in the meantime.
    const actor = { ...asked.actor, now: now() }
    const { personId } = actor
    const sessionSince = session.browser.authenticatedAt
    const change = { personId, passwordHash: read.hash, endApps, sessionSince }
    try {
      await database.kysely
        .transaction()
        .execute(async (trx) => await storeNewPassword(trx, change, actor))
    } catch (error) {
      // The session ended in the meantime, so the page asks the person to sign in.
      if (error instanceof SessionEnded) return pages.security
      throw error
    }
    // All sessions have ended, because their cookies may have been copied. This browser gets a new session.
    const authenticatedAt = actor.now + 1
    const renewed = { personId, methods: ['password'], authenticatedAt } as const
    const browserSessionId = await renewSession(ctx, renewed, session.browser.id)
    await ports.sessions.begin(ctx, { personId, browserSessionId, authenticatedAt })
    return `${pages.security}?done=changed`
  })
  form(pages.security, change)
}
