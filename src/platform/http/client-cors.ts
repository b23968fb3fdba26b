import type { Context } from 'koa'

const PREFLIGHT_SECONDS = '3600'

/**
 * Lets pages of any origin call an endpoint of the protocol, in the way in which the engine does at
 * its own (design 28): without credentials, and with the challenge readable. Whether the client may
 * be one that lives in a page is known later, see `isForeignToPages`.
 *
 * @returns settled when the request was no more than a question about CORS
 */
export function answerOriginsAlike(
  ctx: Context,
  methods: readonly string[],
): 'settled' | 'to be answered' {
  ctx.vary('Origin')
  const origin = ctx.get('Origin') || '*'
  if (ctx.method !== 'OPTIONS') {
    ctx.set('Access-Control-Allow-Origin', origin)
    ctx.set('Access-Control-Expose-Headers', 'WWW-Authenticate')
    return 'to be answered'
  }
  // An OPTIONS request that is no preflight has no answer here.
  if (!ctx.get('Access-Control-Request-Method')) return 'settled'
  ctx.set('Access-Control-Allow-Origin', origin)
  ctx.set('Access-Control-Max-Age', PREFLIGHT_SECONDS)
  ctx.set('Access-Control-Allow-Methods', methods.join(','))
  const headers = ctx.get('Access-Control-Request-Headers')
  if (headers) ctx.set('Access-Control-Allow-Headers', headers)
  ctx.status = 204
  return 'settled'
}

/** Why a page is refused; it says nothing that a caller sent. */
export const FOREIGN_TO_PAGES = 'this client is not one that pages of other origins may use'

/**
 * Whether a page asks for a client that has a secret, which would be in every browser. The page is
 * kept from reading the answer, so that whoever put the secret there notices.
 */
export function isForeignToPages(
  ctx: Context,
  client: { readonly authMethod: string } | undefined,
): boolean {
  if (!ctx.get('Origin') || !client || client.authMethod === 'none') return false
  ctx.remove('Access-Control-Allow-Origin')
  return true
}
