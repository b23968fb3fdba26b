import Router from 'koa-router'

import { areaStylesheet, stylesheet } from '../../views/stylesheet.ts'
import { type WelcomePage, welcomePage } from '../../views/welcome.ts'
import { isRefusal } from './errors.ts'
import { paths } from './paths.ts'
import { logFields } from './request-log.ts'

export interface HttpDependencies {
  /** Rejects when a store does not answer in time. */
  readonly checkStores: () => Promise<void>
  readonly welcome: Pick<WelcomePage, 'baseUrl' | 'demoAccounts'>
  /** Whether the conformance profile is on, which nobody should overlook (design 26). */
  readonly conformance: boolean
}

/** GET /, the stylesheet, /healthz (the process is alive) and /readyz (its stores answer). */
export function httpRoutes({ checkStores, welcome, conformance }: HttpDependencies): Router {
  const router = new Router()

  router.get('/', (ctx) => {
    ctx.type = 'html'
    ctx.body = welcomePage({ ...welcome, links: welcomeLinks }).toString()
  })

  for (const { path, content } of [stylesheet, areaStylesheet]) {
    router.get(path, (ctx) => {
      // The address holds a digest of the content, so that it may be kept for ever.
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable')
      ctx.type = 'css'
      ctx.body = content
    })
  }

  router.get(paths.health, (ctx) => {
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { status: 'alive', ...(conformance && { conformance_profile: 'on' }) }
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

const welcomeLinks = [
  {
    href: paths.openidConfiguration,
    label: 'OpenID configuration',
    what: 'OpenID Connect Discovery',
  },
  { href: paths.authMd, label: 'auth.md', what: 'how to get and use a token, step by step' },
  { href: paths.openApi, label: 'openapi.json', what: 'every endpoint and answer' },
]
