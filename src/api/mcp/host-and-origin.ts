import type { Middleware } from 'koa'

import { openCors } from '../../platform/http/cors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { seeOther } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { INVALID_REQUEST, sendFault } from './message.ts'

interface AdmissionPolicy {
  readonly baseUrl: string
  /** Additional origins that a service on a loopback address admits; `*` for all. */
  readonly allowedOrigins: readonly string[]
}

/**
 * Creates the checks of Host and Origin for the tool endpoints. They prevent DNS rebinding: a page that rebinds its DNS
 * name to a loopback address sends its own Host and Origin (MCP, Streamable HTTP: security warning).
 *
 * A public service admits the host of {base_url} and every origin: browsers add no access token automatically, and
 * rebinding threatens only local services. A service on a loopback address admits all loopback hosts and origins, at
 * any port, and the configured origins.
 */
export function makeAdmission({ baseUrl, allowedOrigins }: AdmissionPolicy) {
  const base = new URL(baseUrl)
  const isLocal = isLoopbackUrl(baseUrl)
  const listed = new Set(allowedOrigins)
  return {
    admitsHost(host: string | undefined = ''): boolean {
      const url = isHost(host) ? URL.parse(`${base.protocol}//${host}`) : null
      return url !== null && (url.host === base.host || (isLocal && isLoopbackUrl(url.href)))
    },
    admitsOrigin(origin: string): boolean {
      if (!isLocal || listed.has('*')) return true
      const url = URL.parse(origin)
      if (!url || url.origin !== origin) return false
      if (origin === base.origin || listed.has(origin)) return true
      return /^https?:$/.test(url.protocol) && isLoopbackUrl(origin)
    },
  }
}

/** Whether a Host header is only a host name or IP address and an optional port, unlike `evil@host`. */
function isHost(host: string): boolean {
  return /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:\d{1,5})?$/i.test(host)
}

/** Creates middleware that responds with 403 to a host or origin that is not allowed. The Origin header is optional. */
export function admitOnly(admission: ReturnType<typeof makeAdmission>): Middleware {
  return async (ctx, next) => {
    const host: unknown = ctx.state['presentedHost']
    const origin = ctx.get('Origin')
    ctx.vary('Origin')
    const refuse = (message: string) => sendFault(ctx, 403, INVALID_REQUEST, message)
    if (!admission.admitsHost(typeof host === 'string' ? host : undefined)) {
      refuse('the Host header is not allowed; connect to the public address of the service')
    } else if (origin && !admission.admitsOrigin(origin)) {
      refuse('this origin is not allowed; the service operator can add it to mcp.allowedOrigins')
    } else {
      await next()
    }
  }
}

/** Redirects a browser that opens a tool endpoint to the page about connecting an assistant. */
const redirectPeople: Middleware = async (ctx, next) => {
  const reads = ctx.method === 'GET' || ctx.method === 'HEAD'
  if (reads && ctx.get('Authorization') === '' && ctx.accepts('json', 'html') === 'html') {
    ctx.vary('Accept')
    seeOther(ctx, pages.connectHome)
  } else {
    await next()
  }
}

/** Middleware for browsers: CORS for pages from any origin (design 28), and a redirect for people. */
export const fromBrowsers: readonly Middleware[] = [openCors(['POST']), redirectPeople]
