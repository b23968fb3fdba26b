import type { Middleware } from 'koa'

/**
 * Builds the Content-Security-Policy of a page. `script-src 'none'` is explicit, because the engine adds the hash of
 * its self-submitting form only to that directive.
 *
 * @param formTargets origins (`https://app.example`) or schemes (`com.example.app:`) to which a form may lead.
 * Chromium also applies form-action to redirects after a form was submitted, so include the client's redirect URI
 */
export function contentSecurityPolicy(formTargets: readonly string[] = []): string {
  return [
    "default-src 'none'",
    "script-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Returns the form-action source for a redirect URI: its origin or its scheme. */
export function formTarget(redirectUri: string): string {
  const url = new URL(redirectUri)
  // A policy cannot name an IPv6 address, and a custom scheme has no origin.
  return url.origin === 'null' || url.hostname.startsWith('[') ? url.protocol : url.origin
}

/** Sets security headers on every response. Routes may override them. */
export function securityHeaders(baseUrl: string): Middleware {
  const headers = {
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    // Page URLs contain the interaction id, which other origins must not see. Not `no-referrer`, which would also
    // remove the Origin header of our own forms.
    'Referrer-Policy': 'same-origin',
    'Content-Security-Policy': contentSecurityPolicy(),
    ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
  return (ctx, next) => {
    ctx.set(headers)
    return next()
  }
}
