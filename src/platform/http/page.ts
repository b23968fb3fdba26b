import type { Context, Middleware } from 'koa'

import { layout, type Page } from '../../../views/layout.ts'
import { stylesheet } from '../../../views/stylesheet.ts'
import { readerOf } from './language.ts'
import { addressOf, pages } from './paths.ts'
import { contentSecurityPolicy } from './security-headers.ts'

/** Creates middleware that sets the service name for the title and header of every page. */
export function setFrame(serviceName: string): Middleware {
  return (ctx, next) => {
    ctx.state['serviceName'] = serviceName
    return next()
  }
}

/** Sends a page that caches must not store, for example because it contains personal data. */
export function sendPage(ctx: Context, page: Page): void {
  sendPublicPage(ctx, page)
  ctx.set('Cache-Control', 'no-store')
}

/** Sends a page. Leaves Cache-Control to the caller. */
export function sendPublicPage(ctx: Context, page: Page): void {
  const { scripts = [], leadsToClient } = page
  if (scripts.length > 0 || leadsToClient) {
    const allowed = scripts.map(({ source }) => source).join(' ') || undefined
    ctx.set('Content-Security-Policy', contentSecurityPolicy({ leadsToClient, scripts: allowed }))
  }
  const serviceName = String(ctx.state['serviceName'] ?? '')
  const stylesheetHref = addressOf(pages.stylesheet, { file: stylesheet.file })
  // Setting ctx.body keeps a status that was set before; otherwise, the status becomes 200.
  ctx.body = layout(page, { serviceName, stylesheetHref }).for({
    ...readerOf(ctx),
    ...(page.language && { language: page.language }),
  })
  ctx.type = 'html'
}

/** Sets status 422, and returns the page with `isWrong`, for a submitted form that has errors. */
export function invalid<Shown extends Pick<Page, 'isWrong'>>(ctx: Context, page: Shown): Shown {
  ctx.status = 422
  return { ...page, isWrong: true }
}

/** Redirects with status 303 after a form was submitted, so reloading the next page does not submit it again. */
export function seeOther(ctx: Context, address: string): void {
  ctx.redirect(address)
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
}
