import type Router from 'koa-router'

import { type PasswordProblems, securityPage } from '../../../views/account-security.ts'
import type { QueueMail } from '../../directory/mail/messages.ts'
import type { SignInService } from '../../directory/people/authenticate.ts'
import { findLookOfPerson, siteLook } from '../../directory/sites/site-look.ts'
import { storeNewPassword } from '../../oauth/grants/new-password.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { actorOf, type PageSession } from '../relying-party/page-session.ts'
import type { OwnPages, PageContext } from '../relying-party/signed-in-pages.ts'
import { type NewPasswords, readNewPassword } from './password-fields.ts'
import { areaOf } from './query-routes.ts'

export interface SecurityPorts extends NewPasswords {
  readonly signIn: SignInService
  readonly queueMail: QueueMail
}

/** Creates the page where a person changes the password. It asks for the current one. */
export function securityRoutes(ownPages: OwnPages, ports: SecurityPorts): Router {
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
      const current = formField(ctx, 'current')
      const checked = await ports.signIn({
        login: person.email,
        password: current,
        address: ctx.ip,
      })
      if (checked.kind !== 'signed-in') return await refuse(...explain(checked))
      const read = await readNewPassword(ctx, person, ports)
      if ('problems' in read) return await refuse(read.status, read.problems)
      const actor = actorOf(ctx, session, now)
      const keptSession = session.browser.id
      const change = { personId: person.id, passwordHash: read.hash, endApps, keptSession }
      await database.kysely.transaction().execute(async (trx) => {
        await storeNewPassword(trx, { ...change, byMail: false }, actor)
        const mail = { kind: 'password_changed', to: person.email, personId: person.id } as const
        await ports.queueMail(trx, { ...mail, values: {} }, actor.now)
      })
      return `${pages.security}?done=changed`
    }),
  )
  return router
}

type Failure = Exclude<Awaited<ReturnType<SignInService>>, { readonly kind: 'signed-in' }>

function explain(failure: Failure): [number, PasswordProblems] {
  if (failure.kind === 'refused') return [422, { current: 'This is not your current password.' }]
  if (failure.kind === 'busy') {
    return [503, { current: 'Many people are signing in. Please try again in a few seconds.' }]
  }
  if (failure.kind === 'unavailable') {
    return [503, { current: 'Passwords cannot be checked. Please try again in a few minutes.' }]
  }
  const minutes = Math.ceil(failure.waitSeconds / 60)
  return [429, { current: `Too many attempts. Please wait ${minutes} min and try again.` }]
}
