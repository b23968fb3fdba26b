import type { Middleware } from 'koa'

import { openCors } from '../../platform/http/cors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { seeOther } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { INVALID_REQUEST, sendFault } from './message.ts'

export interface AdmissionPolicy {
  readonly baseUrl: string
  /** Further origins of browser clients at a loopback address, or `*` for all. */
  readonly allowedOrigins: readonly string[]
}

/**
 * From which hosts and origins the tool endpoint may be spoken to. A page of a stranger that rebinds
 * its name to a loopback address sends its own name as Host and Origin (MCP, Streamable HTTP:
 * security warning), and is refused for either.
 *
 * The host of {base_url} is admitted, and at a public address every origin: no browser adds a
 * credential by itself here, and whoever is asked there cannot be rebound to. A service on a loopback
 * address admits every name of the machine itself at any port, for clients that run beside it, and of
 * other origins those that the configuration lists.
 */
export function makeAdmission({ baseUrl, allowedOrigins }: AdmissionPolicy) {
  const base = new URL(baseUrl)
  const atHome = isLoopbackUrl(baseUrl)
  const listed = new Set(allowedOrigins)
  return {
    admitsHost(host: string | undefined = ''): boolean {
      const url = isHost(host) ? URL.parse(`${base.protocol}//${host}`) : null
      return url !== null && (url.host === base.host || (atHome && isLoopbackUrl(url.href)))
    },
    admitsOrigin(origin: string): boolean {
      if (!atHome || listed.has('*')) return true
      const url = URL.parse(origin)
      if (!url || url.origin !== origin) return false
      if (origin === base.origin || listed.has(origin)) return true
      return /^https?:$/.test(url.protocol) && isLoopbackUrl(origin)
    },
  }
}

/** A name or address and a port, and nothing by which a URL could be led elsewhere: `evil@host`. */
function isHost(host: string): boolean {
  return /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(:\d{1,5})?$/i.test(host)
}

/**
 * Refuses a foreign host or origin. What passes may be read by the page that asked (design 28): no
 * answer here depends on a credential that a browser adds by itself.
 */
export function admitOnly(admission: ReturnType<typeof makeAdmission>): Middleware {
  return async (ctx, next) => {
    const host: unknown = ctx.state['presentedHost']
    const origin = ctx.get('Origin')
    ctx.vary('Origin')
    if (!admission.admitsHost(typeof host === 'string' ? host : undefined)) {
      sendFault(ctx, { status: 403, code: INVALID_REQUEST, message: 'this Host is not admitted' })
    } else if (origin && !admission.admitsOrigin(origin)) {
      sendFault(ctx, { status: 403, code: INVALID_REQUEST, message: 'this Origin is not admitted' })
    } else {
      await next()
    }
  }
}

/** Redirects a browser that opens an address of the tools to the page that explains it. */
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
