import type { Context, Middleware } from 'koa'

import { layout, type Page } from '../../../views/layout.ts'
import { addressOf, pages } from './paths.ts'

/** Puts the name of the service into the title and the header of every page that is sent later. */
export function nameOfService(serviceName: string): Middleware {
  return (ctx, next) => {
    ctx.state['serviceName'] = serviceName
    return next()
  }
}

/** Sends a page of one person, which no cache may keep. */
export function sendPage(ctx: Context, page: Page): void {
  sendPublicPage(ctx, page)
  ctx.set('Cache-Control', 'no-store')
}

/** Sends a page without personal data. */
export function sendPublicPage(ctx: Context, page: Page): void {
  const serviceName = String(ctx.state['serviceName'] ?? '')
  const stylesheetHref = addressOf(pages.stylesheet, { file: page.stylesheet.file })
  // ctx.body turns a 404 into 200, and keeps every other status.
  ctx.body = layout(page, { serviceName, stylesheetHref }).toString()
  ctx.type = 'html'
}

/** Answers a form with a redirect to a page, which may be reloaded without sending the form twice. */
export function seeOther(ctx: Context, address: string): void {
  ctx.redirect(address)
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
}

/** The sentence of what was just done. The address has only a key, so that no link can put words on a page. */
export function noticeOf(
  ctx: Context,
  sentences: Readonly<Record<string, string>>,
): string | undefined {
  const key = ctx.query['done']
  return typeof key === 'string' && Object.hasOwn(sentences, key) ? sentences[key] : undefined
}
