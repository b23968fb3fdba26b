import type { Middleware } from 'koa'

import { errorHandler } from './error-handler.ts'
import { makeProxyWarning, type WarningPorts } from './ignored-proxy.ts'
import { nameOfService } from './page.ts'
import { endUnreadBody } from './request-body.ts'
import { type RequestListeners, requestLog } from './request-log.ts'
import { canonicalPath, pinnedHost, plainRequest } from './request-target.ts'
import { securityHeaders } from './security-headers.ts'
import { rememberStorageFailure } from './storage-guard.ts'

interface EveryRequestSettings extends Omit<Required<RequestListeners>, 'hear'> {
  readonly baseUrl: string
  readonly serviceName: string
  readonly trustProxy: boolean
  /** Limits requests by client network. Also sees the responses to allowed requests. */
  readonly gate: Middleware
}

interface EveryRequestPorts extends WarningPorts {
  /** Starts the trace of a request, if traces are enabled. */
  readonly watch: WarningPorts['watch'] & { readonly trace: Middleware | undefined }
}

/** The middleware that runs before every route, in order. `hear` receives each request's log line. */
export function everyRequest(
  { baseUrl, serviceName, trustProxy, gate, shownAddress }: EveryRequestSettings,
  ports: EveryRequestPorts,
  hear: Required<RequestListeners>['hear'],
): Middleware[] {
  const { logger, now } = ports
  const { trace } = ports.watch
  return [
    pinnedHost(baseUrl, trustProxy ? undefined : makeProxyWarning(ports)),
    requestLog(logger, now, { hear, shownAddress }),
    ...(trace ? [trace] : []),
    endUnreadBody(),
    rememberStorageFailure(),
    nameOfService(serviceName),
    securityHeaders(baseUrl),
    gate,
    errorHandler(),
    plainRequest(),
    canonicalPath(),
  ]
}
