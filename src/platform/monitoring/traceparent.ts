import type { SpanContext } from '@opentelemetry/api'

const form = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/

/** Reads the header `traceparent` (W3C Trace Context §3.2); nothing for one that is not as it must be. */
export function readTraceparent(header: string): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = form.exec(header) ?? []
  if (version === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  if (version === '00' && more === '-') return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

/** The header for a span of ours. */
export function writeTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}
