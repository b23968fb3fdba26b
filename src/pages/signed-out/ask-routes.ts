import type { Context } from 'koa'
import type Router from 'koa-router'

import type { HtmlValue } from '../../../views/html.ts'
import type { Page } from '../../../views/layout.ts'
import { type AddressForm, linkSentPage } from '../../../views/recover.ts'
import type { SiteLook } from '../../../views/site-look.ts'
import { text } from '../../../views/text.ts'
import { isMailAddress } from '../../directory/mail/mail-address.ts'
import type { LinkRequest } from '../../directory/people/link-requests.ts'
import type { OneTimeLink } from '../../directory/people/one-time-links.ts'
import { readerOf } from '../../platform/http/language.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf, pages, promptPages } from '../../platform/http/paths.ts'
import type { LinkPorts } from './link-routes.ts'

export interface AskPorts extends LinkPorts {
  /** Whether an attempt to send a waiting message has failed. */
  readonly mailIsDelayed: () => Promise<boolean>
}

/** A kind of link that a person can request, with the route of the page that confirms the request. */
interface Sent {
  readonly kind: 'recovery' | 'second_factor' | 'address'
  readonly sent: string
  readonly livesSeconds: number
  /** Whether a message is sent even to an address without an account, so the page may say so. */
  readonly isCertain: boolean
  /** Reads the parameters of the path. Throws a refusal if the page does not exist. */
  readonly open: (ctx: Context) => Promise<Pick<Asked, 'askHref' | 'look'>>
}

/** A kind of link for which there is a form, with its route. */
interface Asking extends Sent {
  readonly ask: string
  readonly open: (ctx: Context) => Promise<Asked>
}

interface Asked {
  readonly askHref: string
  readonly sentHref: string
  readonly look?: SiteLook | undefined
  readonly page: (form: AddressForm) => Page
  /** Requests the mail. Returns the seconds to wait if there were too many requests. */
  readonly request: (request: LinkRequest) => Promise<number | undefined>
}

/** Registers the form in which a person asks for a link by mail, and the page that is shown afterwards. */
export function askRoutes(router: Router, ports: AskPorts, asking: Asking): void {
  const { visitors } = ports
  const { ask } = asking
  const open = async (ctx: Context): Promise<Asked> => {
    const asked = await asking.open(ctx)
    if (ctx.query['ui_locales'] === undefined) return asked
    // The pages of an interaction lead here with their language. Keep it on the next pages.
    const query = `?${new URLSearchParams({ ui_locales: readerOf(ctx).language })}`
    return { ...asked, askHref: asked.askHref + query, sentHref: asked.sentHref + query }
  }
  router.get(ask, async (ctx) => {
    const { askHref: action, look, page } = await open(ctx)
    const from = readUid(ctx.query['from'])
    sendPage(ctx, { ...page({ action, csrf: visitors.enter(ctx).csrf, login: '', from }), look })
  })
  router.post(ask, async (ctx) => {
    const { browser, csrf } = await visitors.submitted(ctx)
    const { askHref: action, sentHref, look, page, request } = await open(ctx)
    const [login, from] = [formField(ctx, 'login').trim(), readUid(formField(ctx, 'from'))]
    const refuse = (status: number, problem: HtmlValue) => {
      ctx.status = status
      sendPage(ctx, { ...page({ action, csrf, login, from, problem }), look })
    }
    if (!isMailAddress(login)) return refuse(422, text('ask.address'))
    const waitSeconds = await request({
      login,
      address: ctx.ip,
      browser,
      from,
      language: readerOf(ctx).language,
    })
    if (waitSeconds === undefined) return seeOther(ctx, sentHref)
    ctx.set('Retry-After', String(waitSeconds))
    refuse(429, text('ask.wait', { minutes: Math.ceil(waitSeconds / 60) }))
  })
  sentRoute(router, ports, { ...asking, open })
}

/** Registers the page that is shown after a mail with a link was sent. */
export function sentRoute(
  router: Router,
  { database: { kysely }, links, mailIsDelayed, visitors, now }: AskPorts,
  { kind, sent, livesSeconds, isCertain, open }: Sent,
): void {
  router.get(sent, async (ctx) => {
    const { browser } = visitors.enter(ctx)
    const { askHref: againHref, look } = await open(ctx)
    const link = await links.findLast(kysely, kind, { browser, nowMs: now() })
    if (!link) return seeOther(ctx, againHref)
    const [code, isDelayed] = [links.codeOf(link), await mailIsDelayed()]
    const { email: login } = link
    const minutes = livesSeconds / 60
    sendPage(ctx, {
      ...linkSentPage({ login, isCertain, code, minutes, againHref, isDelayed }),
      look,
    })
  })
}

const UID = /^[\w-]{1,64}$/

/** Reads the id of an interaction from a parameter; undefined if it is malformed. */
function readUid(value: unknown): string | undefined {
  return typeof value === 'string' && UID.test(value) ? value : undefined
}

/** Returns the path of the interaction from which the person requested a link; otherwise, of the account page. */
export function continueHref({ data }: OneTimeLink): string {
  const { from } = data === null ? {} : (JSON.parse(data) as { from?: string })
  return from === undefined ? pages.account : addressOf(promptPages.login, { uid: from })
}
