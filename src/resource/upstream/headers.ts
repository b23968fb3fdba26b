import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

// What is not listed does not pass, in either direction. A list of what must not pass would have to
// know every header by which some server takes another method, address or person for the real one
// (X-HTTP-Method-Override, X-Original-URL, X-User), and every one by which a browser or a proxy acts on
// an answer (Refresh, Service-Worker-Allowed, X-Accel-Redirect).

const goIn = [
  'accept',
  'accept-encoding',
  'accept-language',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'prefer',
  'range',
  'traceparent',
  'tracestate',
] as const

const comeOut = [
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'etag',
  'last-modified',
  'preference-applied',
  'retry-after',
  'x-total-count',
] as const

/** What of a caller's headers goes to an upstream. */
export function headersGoingIn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return pick(headers, goIn)
}

/** What of an upstream's headers comes out. */
export function headersComingOut(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  // A browser would guess otherwise.
  return { 'content-type': 'application/octet-stream', ...pick(headers, comeOut) }
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
