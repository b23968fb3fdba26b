import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'

import { errorHandler } from './error-handler.ts'
import { setFrame } from './page.ts'
import { endUnreadBody } from './request-body.ts'
import { type RequestListeners, requestLog } from './request-log.ts'
import { canonicalPath, pinnedHost, plainRequest } from './request-target.ts'
import { securityHeaders } from './security-headers.ts'
import { rememberStorageFailure } from './storage-guard.ts'

interface EveryRequestSettings extends Omit<Required<RequestListeners>, 'onRequest'> {
  readonly baseUrl: string
  readonly serviceName: string
  /** Records that X-Forwarded-For was ignored; undefined if the proxy is trusted. */
  readonly noteIgnoredProxy: ((ctx: Context) => void) | undefined
  /** Limits requests by client network, before and after they are handled. */
  readonly gate: Middleware
}

interface EveryRequestPorts {
  readonly logger: Logger
  readonly now: () => number
  readonly watch: { readonly trace: Middleware | undefined }
}

/** Returns the middleware that runs before every route, in order. `onRequest` receives each request's log line. */
export function everyRequest(
  { baseUrl, serviceName, noteIgnoredProxy, gate, shownAddress }: EveryRequestSettings,
  { logger, now, watch: { trace } }: EveryRequestPorts,
  onRequest: Required<RequestListeners>['onRequest'],
): Middleware[] {
  return [
    pinnedHost(baseUrl, noteIgnoredProxy),
    requestLog(logger, now, { onRequest, shownAddress }),
    ...(trace ? [trace] : []),
    endUnreadBody(),
    rememberStorageFailure(),
    setFrame(serviceName),
    securityHeaders(baseUrl),
    gate,
    errorHandler(),
    plainRequest(),
    canonicalPath(),
  ]
}
