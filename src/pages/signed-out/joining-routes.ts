/** Creates the pages on which people join a site, with an invitation or by signing up themselves. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { html } from '../../../views/html.ts'
import {
  joinPage,
  type NewAccountProblems,
  newAccountPage,
  otherAccountPage,
} from '../../../views/joining.ts'
import { notePage } from '../../../views/note-page.ts'
import { signUpPage } from '../../../views/recover.ts'
import { inLink, text } from '../../../views/text.ts'
import type { OneTimeLink } from '../../directory/people/one-time-links.ts'
import { findLook, shownText, siteLook } from '../../directory/sites/site-look.ts'
import { nothingHere, unknownAnswer } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, linkPages, nameOfSite, pages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import {
  type Joining,
  type JoiningFlows,
  makeJoining,
  personName,
} from '../../school/members/joining.ts'
import { readNewPassword } from '../account/password-fields.ts'
import type { PageSession } from '../relying-party/page-session.ts'
import { askRoutes } from './ask-routes.ts'
import {
  explainGone,
  LinkGone,
  mayUse,
  type OpenedLink,
  openLink,
  type SignedOutPorts,
} from './link-routes.ts'

type Ports = SignedOutPorts & { readonly joining: JoiningFlows }

/** Creates the routes for invitations and self sign-up. */
export function joiningRoutes(signedOut: SignedOutPorts): Router {
  const router = makeRouter()
  const ports = { ...signedOut, joining: makeJoining(signedOut) }
  const { visitors, signedInPages } = ports
  signUpRoutes(router, ports)
  const gone = explainGone()
  for (const kind of ['invitation', 'address'] as const) {
    router.get(linkPages[kind], gone, async (ctx) => {
      const visitor = visitors.enter(ctx)
      const joining = await findJoining(ctx, kind, ports)
      if (joining.accountId === undefined) {
        const opened = openLink(ctx, joining.link, visitor)
        return showForm(ctx, joining, { opened, name: joining.name ?? '' }, ports)
      }
      const show = (_: Context, session: PageSession) => questionFor(ctx, joining, session)
      await signedInPages.page(show)(ctx, nothingNext)
    })
    router.post(linkPages[kind], gone, async (ctx) => {
      const joining = await findJoining(ctx, kind, ports)
      if (joining.accountId === undefined) {
        const opened = openLink(ctx, joining.link, await visitors.submitted(ctx))
        return await createAccount(ctx, joining, opened, ports)
      }
      ctx.set('Referrer-Policy', 'no-referrer')
      const answer = async (_: Context, session: PageSession) =>
        await answerQuestion(ctx, joining, session, ports)
      await signedInPages.form(answer)(ctx, nothingNext)
    })
  }
  return router
}

/** Registers the pages on which a person requests a sign-up link. They exist only if the site allows self sign-up. */
function signUpRoutes(router: Router, ports: Ports): void {
  askRoutes(router, ports, {
    kind: 'address',
    ask: pages.signUp,
    sent: pages.signUpSent,
    async open(ctx) {
      const site = await ports.joining.findSignUpSite(String(ctx['params'].site))
      if (!site) throw nothingHere()
      const { look, siteName } = await shownSite(ctx, site, ports)
      return {
        look,
        named: { site: nameOfSite(site) },
        page: (form) => signUpPage(form, siteName),
        request: async (request) => await ports.linkRequests.signUp(site.id, request),
      }
    },
  })
}

const nothingNext = async () => {}

/** Finds the site and roles of a link, and the site's appearance. @throws LinkGone if the link no longer works */
async function findJoining(ctx: Context, kind: 'invitation' | 'address', ports: Ports) {
  const { token, site } = ctx['params'] as Record<string, string>
  const found = await ports.joining.find(kind, String(token))
  if (!found || (kind === 'address' && site !== nameOfSite(found.site))) throw new LinkGone()
  return { ...found, shown: await shownSite(ctx, found.site, ports) }
}

type FoundJoining = Awaited<ReturnType<typeof findJoining>>

async function shownSite(ctx: Context, { id }: Joining['site'], { database }: Ports) {
  const look = await findLook(database, id)
  return { siteName: look && shownText(look, 'displayName'), look: siteLook(ctx, look) }
}

interface Typed {
  readonly opened: OpenedLink<OneTimeLink>
  readonly name: string
  readonly problems?: NewAccountProblems
}

function showForm(
  ctx: Context,
  { shown, roles }: FoundJoining,
  { opened: { form }, ...typed }: Typed,
  { passwordCharactersMin: charactersMin }: Ports,
): void {
  const { siteName, look } = shown
  const page = newAccountPage({ siteName, ...form, ...typed, roles, charactersMin })
  sendPage(ctx, { ...page, look })
}

async function createAccount(
  ctx: Context,
  joining: FoundJoining,
  opened: Typed['opened'],
  ports: Ports,
): Promise<void> {
  const typed = formField(ctx, 'name')
  const refuse = (status: number, problems: NewAccountProblems) => {
    ctx.status = status
    showForm(ctx, joining, { opened, name: typed, problems }, ports)
  }
  const { success, data: name } = personName.safeParse(typed)
  if (!success) {
    return refuse(422, { name: text('join.nameProblem', { max: personName.maxLength }) })
  }
  const owner = { name, email: opened.link.email }
  const read = await readNewPassword(ctx, owner, ports, () => mayUse(ctx, opened, ports))
  if ('problems' in read) return refuse(read.status, read.problems)
  const joiner = { name, passwordHash: read.hash }
  const outcome = await ports.joining.accept(joining, joiner, callerOf(ctx))
  if (outcome === 'gone') throw new LinkGone()
  // An account with this address was created in the meantime. Reload the page, which asks the person to sign in.
  if (outcome === 'taken') return seeOther(ctx, ctx.path)
  sendPage(ctx, joinedPageOf(joining, opened.continueHref))
}

/** Returns the page that asks whether to join or, if another account is signed in, a page that says so. */
function questionFor(ctx: Context, joining: FoundJoining, { person, csrf }: PageSession) {
  const { link, shown, roles, accountId } = joining
  const { siteName, look } = shown
  const page = { siteName, action: ctx.path, csrf, email: link.email, roles }
  if (person.id === accountId) return { ...joinPage(page), look }
  ctx.status = 403
  return { ...otherAccountPage({ ...page, signedInAs: person.email }), look }
}

async function answerQuestion(
  ctx: Context,
  joining: FoundJoining,
  session: PageSession,
  ports: Ports,
) {
  const { link, accountId } = joining
  const answer = formField(ctx, 'answer')
  if (answer === 'switch') return await ports.signedInPages.switchAccount(ctx, link.email)
  const { id: personId } = session.person
  if (personId !== accountId) return questionFor(ctx, joining, session)
  if (answer === 'decline') {
    await ports.joining.decline(joining)
    return joinedPageOf(joining)
  }
  if (answer !== 'accept') throw unknownAnswer()
  const outcome = await ports.joining.accept(joining, { personId }, callerOf(ctx))
  if (outcome !== 'joined') throw new LinkGone()
  return joinedPageOf(joining, openLink(ctx, link, ports.visitors.enter(ctx)).continueHref)
}

/** @param nextHref where to continue after joining; undefined if the person declined */
function joinedPageOf({ site, shown: { siteName, look } }: FoundJoining, nextHref?: string) {
  const connectHref = addressOf(pages.connect, { site: nameOfSite(site) })
  const values = { site: html`<bdi>${siteName}</bdi>`, a: inLink(connectHref) }
  const name = nextHref === undefined ? 'declined' : 'joined'
  return { ...notePage(name, nextHref ?? pages.account, values), look }
}
