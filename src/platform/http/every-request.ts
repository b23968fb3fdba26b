import type { Middleware } from 'koa'
import type { Logger } from 'pino'

import { canonicalPath } from './canonical-path.ts'
import { errorHandler } from './error-handler.ts'
import { nameOfService } from './page.ts'
import { enginePages, paths, planPaths } from './paths.ts'
import { pinnedHost } from './pinned-host.ts'
import { plainRequest } from './plain-request.ts'
import { type RequestListeners, requestLog } from './request-log.ts'
import { securityHeaders } from './security-headers.ts'
import { rememberStorageFailure } from './storage-guard.ts'
import { endUnreadBody } from './unread-body.ts'

export interface EveryRequestPorts extends Required<RequestListeners> {
  readonly baseUrl: string
  readonly serviceName: string
  readonly trustProxy: boolean
  readonly logger: Logger
  /** Begins the trace of a request, where there are traces. */
  readonly trace: Middleware | undefined
  readonly now: () => number
  /** Turns away who asks too often; it sees how the others were answered. */
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
    canonicalPath([paths, planPaths, enginePages].flatMap((table) => Object.values(table))),
  ]
}
