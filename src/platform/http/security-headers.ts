import type { Middleware } from 'koa'

/**
 * Builds the Content-Security-Policy of a page. `script-src 'none'` is explicit, because the engine adds the hash of
 * its self-submitting form only to that directive.
 *
 * @param leadsToClient whether submitting a form on the page may redirect to a client. Such a page has no form-action,
 * because Chromium applies that directive to every later redirect, and the client may redirect anywhere (decision 4)
 * @param scripts the source of allowed scripts, such as a hash
 */
export function contentSecurityPolicy({
  leadsToClient = false,
  scripts = "'none'",
}: {
  readonly leadsToClient?: boolean | undefined
  readonly scripts?: string | undefined
} = {}): string {
  return [
    "default-src 'none'",
    `script-src ${scripts}`,
    "style-src 'self'",
    "img-src 'self' data:",
    ...(leadsToClient ? [] : ["form-action 'self'"]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Sets security headers on every response. Routes may override them. */
export function securityHeaders(baseUrl: string): Middleware {
  const headers = {
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    // URLs of sign-in pages contain an interaction id, which other origins must not see. `no-referrer` would
    // also change the Origin header of our own forms to `null`.
    'Referrer-Policy': 'same-origin',
    'Content-Security-Policy': contentSecurityPolicy(),
    ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
  const entries = Object.entries(headers)
  return (ctx, next) => {
    // Avoid `ctx.set`, which is slower and runs checks that are not needed here.
    for (const [name, value] of entries) ctx.res.setHeader(name, value)
    return next()
  }
}
