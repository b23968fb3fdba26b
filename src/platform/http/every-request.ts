import type { Middleware } from 'koa'
import type { Logger } from 'pino'

import { errorHandler } from './error-handler.ts'
import { nameOfService } from './page.ts'
import { endUnreadBody } from './request-body.ts'
import { type RequestListeners, requestLog } from './request-log.ts'
import { canonicalPath, pinnedHost, plainRequest } from './request-target.ts'
import { securityHeaders } from './security-headers.ts'
import { rememberStorageFailure } from './storage-guard.ts'

export interface EveryRequestPorts extends Required<RequestListeners> {
  readonly baseUrl: string
  readonly serviceName: string
  readonly trustProxy: boolean
  readonly logger: Logger
  /** Begins the trace of a request, where there are traces. */
  readonly trace: Middleware | undefined
  readonly now: () => number
  /** Limits requests by client address; sees the answers to the others. */
  readonly gate: Middleware
}

/** What every request passes before any route, in this order. */
export function everyRequest(ports: EveryRequestPorts): Middleware[] {
  const { baseUrl, serviceName, trustProxy, logger, trace, now, gate } = ports
  return [
    pinnedHost(baseUrl, trustProxy),
    requestLog(logger, now, ports),
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
