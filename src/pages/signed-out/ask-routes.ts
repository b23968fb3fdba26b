import type { Context } from 'koa'
import type Router from 'koa-router'

import type { HtmlValue } from '../../../views/html.ts'
import type { Page } from '../../../views/layout.ts'
import { type AddressForm, linkSentPage } from '../../../views/recover.ts'
import type { SiteLook } from '../../../views/site-look.ts'
import { text } from '../../../views/text.ts'
import type { LinkRequest } from '../../directory/people/link-requests.ts'
import { findLastLink } from '../../directory/people/one-time-links.ts'
import { readerOf } from '../../platform/http/language.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { addressOf } from '../../platform/http/paths.ts'
import { waitingMessages } from '../../platform/outbox/outbox.ts'
import { isMailAddress } from '../../platform/store/mail-address.ts'
import type { SignedOutPorts } from './link-routes.ts'

/** A kind of link that a person can request. */
interface Asking<Found extends Opened> {
  readonly kind: 'recovery' | 'second_factor' | 'address'
  /** The page on which to request a link. */
  readonly ask: string
  /** The page that confirms the request. */
  readonly sent: string
  /** Reads the parameters of the path. Throws a refusal if the page does not exist. */
  readonly open: (ctx: Context) => Promise<Found>
}

interface Opened {
  readonly look?: SiteLook | undefined
  /** The values of the path parameters. */
  readonly named?: Readonly<Record<string, string>>
}

interface Asked extends Opened {
  readonly page: (form: AddressForm) => Page
  /** Requests the e-mail. Returns the seconds to wait if there were too many requests. */
  readonly request: (request: LinkRequest) => Promise<number | undefined>
}

/** Registers the form with which a person requests a mailed link, and the page that is shown afterwards. */
export function askRoutes(router: Router, ports: SignedOutPorts, asking: Asking<Asked>): void {
  const { visitors } = ports
  const { ask, sent, open } = asking
  router.get(ask, async (ctx) => {
    const { look, page, named } = await open(ctx)
    const [action, from] = [hrefOf(ctx, ask, named), readUid(ctx.query['from'])]
    sendPage(ctx, { ...page({ action, csrf: visitors.enter(ctx).csrf, login: '', from }), look })
  })
  router.post(ask, async (ctx) => {
    const { browser, csrf } = await visitors.submitted(ctx)
    const { look, page, request, named } = await open(ctx)
    const action = hrefOf(ctx, ask, named)
    const [login, from] = [formField(ctx, 'login').trim(), readUid(formField(ctx, 'from'))]
    const refuse = (status: number, problem: HtmlValue) => {
      ctx.status = status
      sendPage(ctx, { ...page({ action, csrf, login, from, problem }), look })
    }
    if (!isMailAddress(login)) return refuse(422, text('ask.address'))
    const { language } = readerOf(ctx)
    const waitSeconds = await request({ login, address: ctx.ip, browser, from, language })
    if (waitSeconds === undefined) return seeOther(ctx, hrefOf(ctx, sent, named))
    ctx.set('Retry-After', String(waitSeconds))
    refuse(429, text('ask.wait', { minutes: Math.ceil(waitSeconds / 60) }))
  })
  sentRoute(router, ports, asking)
}

/** Registers the page that is shown after a person has requested a mailed link. */
export function sentRoute(
  router: Router,
  { database, links, visitors, now }: SignedOutPorts,
  { kind, ask, sent, open }: Asking<Opened>,
): void {
  router.get(sent, async (ctx) => {
    const { browser } = visitors.enter(ctx)
    const { look, named } = await open(ctx)
    const againHref = hrefOf(ctx, ask, named)
    const link = await findLastLink(database.kysely, kind, { browser, nowMs: now() })
    if (!link) return seeOther(ctx, againHref)
    const mail = (await waitingMessages(database)).get('mail')
    const page = linkSentPage({
      login: link.email,
      // An address without an account gets no recovery e-mail, and the page must not reveal that.
      isCertain: kind !== 'recovery',
      code: links.codeOf(link),
      minutes: (link.expiresAt - link.createdAt) / 60_000,
      againHref,
      isDelayed: typeof mail?.error === 'string',
    })
    sendPage(ctx, { ...page, look })
  })
}

/** Returns the path of a page. Keeps the parameter `ui_locales`, which an interaction adds to its links. */
function hrefOf(ctx: Context, pattern: string, named: Opened['named'] = {}): string {
  const path = addressOf(pattern, named)
  if (ctx.query['ui_locales'] === undefined) return path
  return `${path}?${new URLSearchParams({ ui_locales: readerOf(ctx).language })}`
}

const UID = /^[\w-]{1,64}$/

/** Reads the id of an interaction from a parameter; undefined if it is malformed. */
function readUid(value: unknown): string | undefined {
  return typeof value === 'string' && UID.test(value) ? value : undefined
}
