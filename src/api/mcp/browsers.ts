import type { Middleware } from 'koa'

import { openCors } from '../../platform/http/cors.ts'
import { seeOther } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'

/** Somebody who opens an address of the tools is led to the page that says what to do with it. */
const leadPeople: Middleware = async (ctx, next) => {
  const reads = ctx.method === 'GET' || ctx.method === 'HEAD'
  if (reads && ctx.get('Authorization') === '' && ctx.accepts('json', 'html') === 'html') {
    ctx.vary('Accept')
    seeOther(ctx, pages.connectHome)
  } else {
    await next()
  }
}

/** What happens to the requests of browsers: those of pages, and those of people. */
export const fromBrowsers: readonly Middleware[] = [openCors(['POST']), leadPeople]
