import type { Context } from 'koa'

import type { Html } from '../../views/html.ts'

/** Sends a page; its address may hold what only this person may know. */
export function sendPage(ctx: Context, page: Html): void {
  // ctx.body would turn a 404 into 200, and keeps every other status.
  ctx.body = page.toString()
  ctx.type = 'html'
  ctx.set('Cache-Control', 'no-store')
}

/** The answer to a form: go and look at a page, which may be loaded again without sending twice. */
export function seeOther(ctx: Context, address: string): void {
  ctx.redirect(address)
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
}
