/** Creates the pages on which people join a site, with an invitation or by signing up themselves. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import {
  joinedPage,
  joinPage,
  type NewAccountProblems,
  newAccountPage,
  otherAccountPage,
} from '../../../views/joining.ts'
import { signUpPage } from '../../../views/recover.ts'
import { text } from '../../../views/text.ts'
import { type LinkRequests, SIGN_UP_SECONDS } from '../../directory/people/link-requests.ts'
import { findLook, shownText, siteLook } from '../../directory/sites/site-look.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField, type Visitor } from '../../platform/http/page-form.ts'
import { addressOf, linkPages, nameOfSite, pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import {
  type Joining,
  type JoiningFlows,
  makeJoining,
  personName,
} from '../../school/members/joining.ts'
import { type NewPasswords, readNewPassword } from '../account/password-fields.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import type { SignedInPages } from '../relying-party/signed-in-pages.ts'
import { type AskPorts, askRoutes, continueHref } from './ask-routes.ts'
import { mayUse, showGone } from './link-routes.ts'

export interface JoiningPages extends NewPasswords, AskPorts {
  readonly linkRequests: LinkRequests
  readonly signedInPages: SignedInPages
}

type Ports = JoiningPages & { readonly joining: JoiningFlows }

/** Creates the routes of invitations and of self sign-up. */
export function joiningRoutes(joiningPages: JoiningPages): Router {
  const router = makeRouter()
  const ports = { ...joiningPages, joining: makeJoining(joiningPages) }
  signUpRoutes(router, ports)
  for (const kind of ['invitation', 'address'] as const) {
    router.get(linkPages[kind], async (ctx) => {
      const visitor = ports.visitors.enter(ctx)
      const found = await findJoining(ctx, kind, ports)
      if (!found) return showGone(ctx)
      if (found.accountId === undefined)
        return await showForm(ctx, { visitor, joining: found }, ports)
      const show = async (_: Context, session: PageSession) =>
        await questionFor(ctx, { session, joining: found }, ports)
      await ports.signedInPages.page(show)(ctx, nothingNext)
    })
    router.post(linkPages[kind], async (ctx) => {
      const found = await findJoining(ctx, kind, ports)
      if (!found) return showGone(ctx)
      if (found.accountId === undefined) {
        const visitor = await ports.visitors.submitted(ctx)
        return await createAccount(ctx, { visitor, joining: found }, ports)
      }
      ctx.set('Referrer-Policy', 'no-referrer')
      const answer = async (_: Context, session: PageSession) =>
        await answerQuestion(ctx, { session, joining: found }, ports)
      await ports.signedInPages.form(answer)(ctx, nothingNext)
    })
  }
  return router
}

/** Registers the pages on which a person asks for a link to sign up. They exist only if the site allows self sign-up. */
function signUpRoutes(router: Router, ports: Ports): void {
  askRoutes(router, ports, {
    kind: 'address',
    ask: pages.signUp,
    sent: pages.signUpSent,
    livesSeconds: SIGN_UP_SECONDS,
    isCertain: true,
    async open(ctx) {
      const site = await ports.joining.findSignUpSite(String(ctx['params'].site))
      if (!site) throw nothingHere()
      const named = { site: nameOfSite(site) }
      const { look, siteName } = await shownSite(ctx, site.id, ports.database)
      return {
        askHref: addressOf(pages.signUp, named),
        sentHref: addressOf(pages.signUpSent, named),
        look,
        page: (form) => signUpPage(form, siteName),
        request: async (request) => await ports.linkRequests.signUp(site.id, request),
      }
    },
  })
}

const nothingNext = async () => {}

async function findJoining(
  ctx: Context,
  kind: 'invitation' | 'address',
  { joining }: Ports,
): Promise<Joining | undefined> {
  const { token, site } = ctx['params'] as Record<string, string>
  const found = await joining.find(kind, String(token))
  return found && (kind === 'invitation' || site === nameOfSite(found.site)) ? found : undefined
}

async function viewOf(ctx: Context, { site, roles, link }: Joining, { database }: Ports) {
  return {
    ...(await shownSite(ctx, site.id, database)),
    action: ctx.path,
    roles,
    email: link.email,
  }
}

async function shownSite(ctx: Context, siteId: string, database: Ports['database']) {
  const look = await findLook(database, siteId)
  return { siteName: look && shownText(look, 'displayName'), look: siteLook(ctx, look) }
}

interface Opened {
  readonly visitor: Visitor
  readonly joining: Joining
}

async function showForm(
  ctx: Context,
  { visitor, joining, ...typed }: Opened & { name?: string; problems?: NewAccountProblems },
  ports: Ports,
): Promise<void> {
  const { links, passwordCharactersMin: charactersMin } = ports
  const page = newAccountPage({
    ...(await viewOf(ctx, joining, ports)),
    csrf: visitor.csrf,
    name: joining.name ?? '',
    charactersMin,
    needsCode: !links.isFor(joining.link, visitor.browser),
    ...typed,
  })
  sendPage(ctx, page)
}

async function createAccount(ctx: Context, opened: Opened, ports: Ports): Promise<void> {
  const { visitor, joining } = opened
  const typed = formField(ctx, 'name')
  const refuse = async (status: number, problems: NewAccountProblems) => {
    ctx.status = status
    await showForm(ctx, { ...opened, name: typed, problems }, ports)
  }
  const { success, data: name } = personName.safeParse(typed)
  if (!success) {
    return await refuse(422, {
      name: text('join.nameProblem', { max: personName.maxLength }),
    })
  }
  const { link } = joining
  const isSame = ports.links.isFor(link, visitor.browser)
  const admits = async () => await mayUse(ctx, ports, link, visitor)
  const read = await readNewPassword(ctx, { name, email: link.email }, ports, admits)
  if ('problems' in read) return await refuse(read.status, read.problems)
  const joiner = { name, passwordHash: read.hash }
  const outcome = await ports.joining.accept(joining, joiner, callerOf(ctx))
  if (outcome === 'gone') return showGone(ctx)
  // The account was created in the meantime, so the page now asks the person to sign in.
  if (outcome === 'taken') return seeOther(ctx, ctx.path)
  sendPage(ctx, await outcomePage(ctx, joining, { isDeclined: false, isSame }, ports))
}

interface Asked {
  readonly session: PageSession
  readonly joining: Joining
}

/** Returns the page that asks whether to join or, if another account is signed in, a page that says so. */
async function questionFor(ctx: Context, { session, joining }: Asked, ports: Ports) {
  const { person, csrf } = session
  const view = { ...(await viewOf(ctx, joining, ports)), csrf }
  if (person.id === joining.accountId) return joinPage(view)
  ctx.status = 403
  return otherAccountPage({ ...view, signedInAs: person.email })
}

async function answerQuestion(ctx: Context, asked: Asked, ports: Ports) {
  const { joining, session } = asked
  const answer = formField(ctx, 'answer')
  if (answer === 'switch') {
    return await ports.signedInPages.switchAccount(ctx, joining.link.email)
  }
  const { id: personId } = session.person
  if (personId !== joining.accountId) return await questionFor(ctx, asked, ports)
  if (answer === 'decline') {
    await ports.joining.decline(joining)
    return await outcomePage(ctx, joining, { isDeclined: true, isSame: false }, ports)
  }
  const outcome = await ports.joining.accept(joining, { personId }, callerOf(ctx))
  if (outcome === 'joined') {
    return await outcomePage(ctx, joining, { isDeclined: false, isSame: true }, ports)
  }
  return showGone(ctx)
}

async function outcomePage(
  ctx: Context,
  { site, link }: Joining,
  { isDeclined, isSame }: { readonly isDeclined: boolean; readonly isSame: boolean },
  { database }: Ports,
) {
  return joinedPage({
    ...(await shownSite(ctx, site.id, database)),
    isDeclined,
    continueHref: isSame && link.kind === 'address' ? continueHref(link) : pages.account,
    connectHref: addressOf(pages.connect, { site: nameOfSite(site) }),
  })
}
