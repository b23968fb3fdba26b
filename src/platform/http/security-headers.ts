import type { Middleware } from 'koa'

/**
 * The Content-Security-Policy of a page. No script runs: `script-src 'none'` stands there by name
 * because the engine adds the hash of its own self-submitting form to that directive only.
 *
 * @param formTargets origins (`https://app.example`) or schemes (`com.example.app:`) to which a form
 *   may lead. Chromium applies form-action to the redirect after a form too, so an approval fails
 *   unless the client's redirect address is among them.
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

/** The form-action source of a redirect address: its origin, or the scheme of an app. */
export function formTarget(redirectUri: string): string {
  const url = new URL(redirectUri)
  // A policy cannot name an IPv6 address, and an app's own scheme has no origin.
  return url.origin === 'null' || url.hostname.startsWith('[') ? url.protocol : url.origin
}

/** Sets the headers of every answer; pages may narrow or widen them afterwards. */
export function securityHeaders(baseUrl: string): Middleware {
  const headers = {
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    // A page's address has the interaction's id, which no other origin may see. `no-referrer` would also
    // blank the Origin header of our own forms.
    'Referrer-Policy': 'same-origin',
    'Content-Security-Policy': contentSecurityPolicy(),
    ...(baseUrl.startsWith('https:') && {
      'Strict-Transport-Security': 'max-age=31536000',
    }),
  }
  return (ctx, next) => {
    ctx.set(headers)
    return next()
  }
}
