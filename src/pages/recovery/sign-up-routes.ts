/** Creates the pages on which a person asks for a link to sign up. They exist only if the site allows it. */

import { bodyParser } from '@koa/bodyparser'
import type { Context } from 'koa'
import type Router from 'koa-router'

import { signUpPage } from '../../../views/joining.ts'
import { linkSentPage } from '../../../views/recover.ts'
import { isMailAddress } from '../../directory/mail/mail-address.ts'
import type { OneTimeLinks } from '../../directory/people/one-time-links.ts'
import {
  makeSignUp,
  type SignUpPorts as SendPorts,
  SIGN_UP_SECONDS,
} from '../../directory/people/sign-up.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, nameOfSite, pages } from '../../platform/http/paths.ts'
import type { Visitor, VisitorForms } from '../../platform/http/visitor-form.ts'
import type { JoiningFlows } from '../../school/members/joining.ts'
import { readUid } from './recovery-routes.ts'

const parse = bodyParser({ enableTypes: ['form'], formLimit: '16kb' })

export interface SignUpPorts extends SendPorts {
  readonly links: OneTimeLinks
  /** Whether messages are waiting because the mail server does not respond. */
  readonly mailIsDelayed: () => Promise<boolean>
  readonly visitors: VisitorForms
}

/** Registers the pages of self sign-up. */
export function signUpRoutes(router: Router, ports: SignUpPorts, joining: JoiningFlows): void {
  const { database, links, visitors, now } = ports
  const requestSignUp = makeSignUp(ports)
  const siteOf = async (ctx: Context) => {
    const site = await joining.findSignUpSite(String(ctx['params'].site))
    if (!site) throw nothingHere()
    return site
  }
  type Typed = { login: string; from: string | undefined; problem?: string }
  const show = async (ctx: Context, { csrf }: Visitor, typed: Typed) => {
    const site = await siteOf(ctx)
    const look = siteLook(await findLook(database, site.id))
    const action = addressOf(pages.signUp, { site: nameOfSite(site) })
    sendPage(ctx, signUpPage({ siteName: site.name, action, csrf, look, ...typed }))
  }

  router.get(pages.signUp, async (ctx) => {
    await show(ctx, visitors.enter(ctx), { login: '', from: readUid(ctx.query['from']) })
  })
  router.post(pages.signUp, parse, async (ctx) => {
    const visitor = visitors.submitted(ctx)
    const site = await siteOf(ctx)
    const login = formField(ctx, 'login').trim()
    const from = readUid(formField(ctx, 'from'))
    if (!isMailAddress(login)) {
      ctx.status = 422
      const problem = 'Please enter your e-mail address.'
      return await show(ctx, visitor, { login, from, problem })
    }
    const request = { login, address: ctx.ip, browser: visitor.browser, from }
    const waitSeconds = await requestSignUp(site.id, request)
    if (waitSeconds === undefined) {
      return seeOther(ctx, addressOf(pages.signUpSent, { site: nameOfSite(site) }))
    }
    ctx.status = 429
    ctx.set('Retry-After', String(waitSeconds))
    const problem = `Too many requests. Please wait ${Math.ceil(waitSeconds / 60)} min.`
    await show(ctx, visitor, { login, from, problem })
  })
  router.get(pages.signUpSent, async (ctx) => {
    const { browser } = visitors.enter(ctx)
    const site = await siteOf(ctx)
    const link = await links.findLast(database.kysely, 'address', { browser, nowMs: now() })
    const againHref = addressOf(pages.signUp, { site: nameOfSite(site) })
    if (!link) return seeOther(ctx, againHref)
    const page = linkSentPage({
      login: link.email,
      isCertain: true,
      code: links.codeOf(link),
      minutes: SIGN_UP_SECONDS / 60,
      againHref,
      isDelayed: await ports.mailIsDelayed(),
    })
    sendPage(ctx, { ...page, look: siteLook(await findLook(database, site.id)) })
  })
}
