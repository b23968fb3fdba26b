import type { Context, Middleware } from 'koa'

import { layout, type Page } from '../../../views/layout.ts'
import { addressOf, pages } from './paths.ts'

/** Every page that is sent after this carries the name of the service, in its title and its header. */
export function nameOfService(serviceName: string): Middleware {
  return (ctx, next) => {
    ctx.state['serviceName'] = serviceName
    return next()
  }
}

/** Sends a page; its address may hold what only this person may know. */
export function sendPage(ctx: Context, page: Page): void {
  sendPublicPage(ctx, page)
  ctx.set('Cache-Control', 'no-store')
}

/** Sends a page that says nothing about anybody. */
export function sendPublicPage(ctx: Context, page: Page): void {
  const serviceName = String(ctx.state['serviceName'] ?? '')
  const stylesheetHref = addressOf(pages.stylesheet, { file: page.stylesheet.file })
  // ctx.body would turn a 404 into 200, and keeps every other status.
  ctx.body = layout(page, { serviceName, stylesheetHref }).toString()
  ctx.type = 'html'
}

/** The answer to a form: go and look at a page, which may be loaded again without sending twice. */
export function seeOther(ctx: Context, address: string): void {
  ctx.redirect(address)
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
}
