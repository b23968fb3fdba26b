import type { Context } from 'koa'

import { type Limits, refuseTooMany } from './limits.ts'

/** Requests and the clients that they authenticated. */
const provenClients = new WeakMap<object, string>()

/**
 * Records that the client of a request authenticated by a secret or a key. That a request names a client, or
 * that the engine has found it, proves nothing: a client is only charged for what it did itself.
 */
export function proveClient(request: object | undefined, clientId: string): void {
  if (request) provenClients.set(request, clientId)
}

/**
 * Counts an answered request of a client that authenticated: one point, five for a refusal.
 *
 * @returns whether the client authenticated
 */
export function countClientRequest(ctx: Context, limits: Limits): boolean {
  const clientId = provenClients.get(ctx)
  if (clientId === undefined) return false
  if (ctx.status !== 429) limits.count('requestsOfClient', clientId, ctx.status < 400 ? 1 : 5)
  return true
}

/**
 * Refuses a client that has no requests left. It need not have authenticated yet.
 *
 * @throws tooManyRequests
 */
export function refuseBusyClient(
  ctx: Pick<Context, 'set' | 'state'>,
  limits: Limits,
  clientId: string,
): void {
  refuseTooMany(ctx, limits.exceeded('requestsOfClient', clientId))
}
