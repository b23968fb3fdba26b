import type Router from 'koa-router'

import { iconPng, iconSvg } from '../../../views/icon.ts'
import { stylesheet } from '../../../views/stylesheet.ts'
import { inCode, inEnglish, text } from '../../../views/text.ts'
import { type WelcomePage, welcomePage } from '../../../views/welcome.ts'
import { isRefusal } from './errors.ts'
import { sendPublicPage } from './page.ts'
import { addressOf, pages, paths } from './paths.ts'
import { logFields } from './request-log.ts'
import { makeRouter } from './router.ts'

const links = [
  {
    href: paths.openidConfiguration,
    label: text('api.openid'),
    what: inEnglish('OpenID Connect Discovery'),
  },
  { href: paths.authMd, label: inCode('auth.md'), what: text('api.authMd') },
  { href: paths.llmsTxt, label: inCode('llms.txt'), what: text('api.llmsTxt') },
  { href: paths.openApi, label: inCode('openapi.json'), what: text('api.openApi') },
]

const CACHE_ONE_DAY = 'public, max-age=86400'
const CACHE_FOREVER = 'public, max-age=31536000, immutable'

const assets = [
  {
    path: addressOf(pages.stylesheet, { file: stylesheet.file }),
    type: 'css',
    content: stylesheet.content,
    cached: CACHE_FOREVER,
  },
  { path: pages.icon, type: 'image/svg+xml', content: iconSvg, cached: CACHE_ONE_DAY },
  { path: pages.iconPng, type: 'image/png', content: iconPng, cached: CACHE_ONE_DAY },
]

/**
 * Creates the routes for the welcome page, stylesheet, icons and health checks. /healthz shows that the process runs.
 * /readyz shows whether its stores respond.
 *
 * @param checkStores rejects if a store does not respond in time
 */
export function welcomeAndHealth(
  { showsMail, ...welcome }: Pick<WelcomePage, 'baseUrl' | 'demoPeople'> & { showsMail: boolean },
  checkStores: () => Promise<void>,
): Router {
  const router = makeRouter()
  const page = welcomePage({
    ...welcome,
    accountHref: pages.account,
    connectHref: pages.connectHome,
    mailHref: showsMail ? pages.mail : undefined,
    links,
  })
  router.get(pages.welcome, (ctx) => sendPublicPage(ctx, page))

  for (const { path, type, content, cached } of assets) {
    router.get(path, (ctx) => {
      ctx.set('Cache-Control', cached)
      // Allow other origins, because assistants show the icons on their own pages.
      if (type !== 'css') ctx.set('Access-Control-Allow-Origin', '*')
      ctx.type = type
      ctx.body = content
    })
  }

  router.get(paths.health, (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { status: 'alive' }
  })

  router.get(paths.ready, async (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    try {
      await checkStores()
      ctx.body = { status: 'ready' }
    } catch (error) {
      logFields(ctx).cause = isRefusal(error) ? error.cause : error
      ctx.status = 503
      ctx.body = { status: 'unready' }
    }
  })

  return router
}
